"""What comes next is fetched while what came last is worked on, and nothing else changes."""

import threading

import pytest

from responder.replay.ahead import DEPTH, ahead


def test_items_come_in_their_order_and_all():
    assert list(ahead(range(100))) == list(range(100))
    assert list(ahead([])) == []
    assert list(ahead([None, None])) == [None, None]


def test_an_item_is_fetched_before_it_is_asked_for():
    fetched = threading.Event()

    def items():
        yield 1
        yield 2
        fetched.set()
        yield 3

    coming = ahead(items())
    assert next(coming) == 1
    assert fetched.wait(10)
    assert list(coming) == [2, 3]


def test_no_more_than_a_few_are_fetched_before_they_are_asked_for():
    taken = 0

    def items():
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    coming = ahead(items())
    next(coming)
    coming.close()
    assert taken <= DEPTH + 2


def test_what_fetching_raises_is_raised_where_the_item_would_have_come():
    def items():
        yield 1
        raise OSError("the disk is gone")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(coming)
