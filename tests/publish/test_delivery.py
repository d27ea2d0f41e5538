"""Whatever Slack and the way to it do, a message arrives once or is a dead letter."""

import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from responder.publish.slack import message, sender
from responder.publish.slack.sender import PER_CHANNEL
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import BotTransport, client
from responder.store import outbox
from responder.store.database import StoreUnavailableError
from tests.fake_slack import TOKEN, WEBHOOK, FakeSlack
from tests.publish.conftest import Clock, Rig
from tests.publish.incidents import seed_incident


def put(rig: Rig, key: str = "i1:post:1", *, channel: str = "alerts", **more: Any) -> None:
    row = {"incident": "i1", "kind": "post", "payload": message.root(seed_incident())} | more
    with rig.database.transaction() as connection:
        outbox.put(connection, key=key, channel=channel, now=rig.clock.wall(), **row)


def state(rig: Rig, key: str = "i1:post:1") -> outbox.Row:
    row = outbox.get(rig.database.connection, key)
    assert row is not None
    return row


FAULTS = (
    "429:3",
    "500",
    "502",
    "503",
    "504",
    "drop-before",
    "drop-after",
    "html",
    "half",
    "slow:1.3",
    "error:fatal_error",
    "after/500",
    "after/502",
    "after/504",
    "after/html",
    "after/error:fatal_error",
    "after/error:internal_error",
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_ends_in_exactly_one_message(rig: Rig, slack: FakeSlack, fault: str) -> None:
    slack.fail(fault)
    put(rig)
    rig.run()
    assert len(slack.messages) == 1
    assert state(rig).state == "sent"
    assert state(rig).ts == slack.messages[0]["ts"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_comes_three_times_ends_in_exactly_one_message(rig: Rig, slack: FakeSlack, fault: str) -> None:
    slack.fail(fault, fault, fault)
    put(rig, channel="C0000ALERT")
    rig.run()
    assert len(slack.messages) == 1


@pytest.mark.parametrize("fault", [f"history/{fault}" for fault in FAULTS if not fault.startswith("after/")])
def test_a_fault_of_the_history_does_not_lead_to_a_second_message(rig: Rig, slack: FakeSlack, fault: str) -> None:
    slack.fail("drop-after", fault, fault)
    put(rig, channel="C0000ALERT")
    rig.run()
    assert len(slack.messages) == 1


@pytest.mark.parametrize(
    "error", ["token_revoked", "invalid_auth", "missing_scope", "channel_not_found", "is_archived", "account_inactive"]
)
def test_what_only_a_person_can_mend_is_a_dead_letter_that_says_why(rig: Rig, slack: FakeSlack, error: str) -> None:
    slack.fail(f"error:{error}")
    put(rig)
    put(rig, "i1:post:1:reply:1", kind="reply", parent="i1:post:1")
    rig.run()
    assert slack.messages == []
    assert state(rig).state == "dead"
    assert error in str(state(rig).error)
    assert state(rig, "i1:post:1:reply:1").error == "its post was never sent"
    assert [row.key for row in outbox.dead(rig.database.connection)] == ["i1:post:1"]
    assert rig.delivery.failing is not None


def test_a_missing_scope_is_named(rig: Rig, slack: FakeSlack) -> None:
    slack.scopes.remove("chat:write")
    put(rig)
    rig.run()
    assert "the app needs chat:write" in str(state(rig).error)


def test_dead_letters_go_out_once_the_token_is_put_right(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    slack.tokens.clear()
    put(rig)
    put(rig, "i1:post:1:reply:1", kind="reply", parent="i1:post:1")
    rig.run()
    slack.tokens.add(TOKEN)
    with rig.database.transaction() as connection:
        assert outbox.revive(connection, clock.wall(), since=clock.wall() - 3600) == 2
    rig.run()
    assert len(slack.messages) == 2
    assert rig.delivery.failing is None


def test_refused_blocks_go_out_as_plain_text_once(rig: Rig, slack: FakeSlack) -> None:
    payload = message.root(seed_incident()) | {"blocks": [{"type": "hologram"}]}
    put(rig, payload=payload)
    rig.run()
    (posted,) = slack.messages
    assert "blocks" not in posted
    assert "did not start" in posted["text"]
    assert [method for method, _ in slack.calls] == ["chat.postMessage"] * 2


def test_text_that_is_refused_even_plain_is_a_dead_letter(rig: Rig, slack: FakeSlack) -> None:
    slack.fail("error:invalid_blocks", "error:msg_too_long")
    put(rig)
    rig.run()
    assert state(rig).state == "dead"
    assert slack.messages == []


def test_replies_wait_for_their_post_and_edits_change_it(rig: Rig, slack: FakeSlack) -> None:
    put(rig, due=rig.clock.wall() + 30)
    put(rig, "i1:post:1:reply:1", kind="reply", parent="i1:post:1")  # due first, and still second
    with rig.database.transaction() as connection:
        for text in ("one", "two", "three"):
            outbox.put_update(
                connection, incident="i1", parent="i1:post:1", channel="alerts", payload={"text": text}, now=0.0
            )
    rig.run()
    root, reply = slack.messages
    assert reply["thread_ts"] == root["ts"]
    assert (root["text"], root["edits"]) == ("three", 1)  # edits that were overtaken never went out


def test_a_broadcast_stands_in_the_thread_and_in_the_channel(rig: Rig, slack: FakeSlack) -> None:
    put(rig)
    put(rig, "b", kind="broadcast", parent="i1:post:1")
    rig.run()
    assert slack.replies(slack.messages[0]["ts"])[0]["reply_broadcast"] is True


def test_a_broadcast_whose_post_somebody_deleted_is_posted_by_itself(rig: Rig, slack: FakeSlack) -> None:
    put(rig)
    rig.run()
    slack.messages.clear()
    put(rig, "b", kind="broadcast", parent="i1:post:1")
    rig.run()
    assert [root.get("thread_ts") for root in slack.roots()] == [None]


def test_an_edit_of_a_post_that_somebody_deleted_is_no_dead_letter(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    put(rig)
    rig.run()
    slack.messages.clear()
    with rig.database.transaction() as connection:
        outbox.put_update(
            connection, incident="i1", parent="i1:post:1", channel="alerts", payload={"text": "new"}, now=clock.wall()
        )
    rig.run()
    assert (slack.messages, outbox.dead(rig.database.connection), rig.delivery.failing) == ([], [], None)


def test_what_was_on_its_way_when_the_process_died_is_not_sent_again(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    put(rig)
    rig.woken.clear()
    rig.delivery.pump()
    assert rig.woken.wait(10)
    rig.die()  # Slack has it, and the outcome was never noted
    assert state(rig).state == "ambiguous"
    rig.run()
    assert len(slack.messages) == 1
    assert state(rig).ts == slack.messages[0]["ts"]


def test_what_was_about_to_be_sent_when_the_process_died_is_sent(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    put(rig)
    with rig.database.transaction(durable=True) as connection:
        outbox.begin(connection, "i1:post:1", clock.wall())
    rig.die()
    rig.run()
    assert len(slack.messages) == 1


def test_a_lost_reply_is_looked_for_in_its_thread(rig: Rig, slack: FakeSlack) -> None:
    put(rig)
    rig.run()
    slack.fail("drop-after")
    put(rig, "i1:post:1:reply:1", kind="reply", parent="i1:post:1")
    rig.run()
    assert len(slack.messages) == 2
    assert "conversations.replies" in [method for method, _ in slack.calls]


def test_the_message_is_found_behind_many_others(rig: Rig, slack: FakeSlack) -> None:
    slack.fail("drop-after")
    put(rig)
    rig.woken.clear()
    rig.delivery.pump()
    assert rig.woken.wait(10)
    for n in range(450):
        slack.accept("C0000ALERT", {"text": f"chatter {n}"})
    rig.run()
    assert len(slack.messages) == 451


def test_without_the_scope_to_look_a_message_in_doubt_is_sent_again_and_says_so(rig: Rig, slack: FakeSlack) -> None:
    slack.scopes -= {"channels:history", "groups:history"}
    slack.fail("drop-after")
    put(rig, channel="C0000ALERT")
    rig.run()
    first, second = slack.messages
    assert not first["text"].startswith("(possible duplicate)")
    assert second["text"].startswith("(possible duplicate)")


def test_nothing_goes_out_before_slack_said_it_may(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    slack.fail("429:40")
    put(rig)
    put(rig, "other", incident="i2")
    start = clock.wall()
    rig.run()
    assert clock.wall() - start >= 40
    assert len(slack.messages) == 2


def test_a_channel_gets_one_message_a_second(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    slack.per_second = 1 / PER_CHANNEL
    for n in range(5):
        put(rig, f"k{n}", incident=f"i{n}")
    rig.run()
    assert len(slack.messages) == 5
    assert len(slack.calls) == 5  # none of them was refused


def test_an_outage_of_days_ends_in_a_dead_letter(
    rig: Rig, slack: FakeSlack, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "GIVE_UP", 3600.0)  # two days less to wait
    slack.fail_at_random(1.0, ["503"], seed=1)
    put(rig)
    start = clock.wall()
    rig.run(attempts=5000)
    assert state(rig).state == "dead"
    assert "given up" in str(state(rig).error)
    assert clock.wall() - start >= 3600


def test_a_row_that_keeps_failing_lets_the_others_pass(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    put(rig, "stuck", channel="alerts")
    slack.fail("503")
    rig.woken.clear()
    rig.delivery.pump()
    assert rig.woken.wait(10)
    put(rig, "fresh", incident="i2")
    slack.fail("503")
    rig.run()
    assert {m["metadata"]["event_payload"]["row"] for m in slack.messages} == {"stuck", "fresh"}


def test_a_full_disk_delays_and_loses_nothing(rig: Rig, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> None:
    put(rig)

    def full(*_: object, **__: object) -> None:
        raise StoreUnavailableError("disk full")

    with monkeypatch.context() as patch, capture_logs() as said:
        patch.setattr(outbox, "begin", full)
        for _ in range(10):
            assert rig.delivery.pump() is not None
        assert slack.calls == []
    assert [line["event"] for line in said if line["log_level"] == "warning"] == ["the outbox waits for the disk"]
    rig.woken.clear()
    rig.delivery.pump()
    assert rig.woken.wait(10)
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "settle", full)
        rig.delivery.pump()
    rig.run()
    assert len(slack.messages) == 1


def test_the_caller_never_waits_for_slack(tmp_path: Path, slack: FakeSlack, clock: Clock) -> None:
    inside, leave = threading.Event(), threading.Event()

    class Stuck(BotTransport):
        def deliver(self, row: outbox.Row) -> Any:
            inside.set()
            leave.wait(10)
            return super().deliver(row)

    rig = Rig(tmp_path, slack, clock, Stuck(client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=1)))
    put(rig)
    rig.delivery.pump()
    assert inside.wait(10)
    for n in range(100):  # all of these return while the sender hangs
        put(rig, f"k{n}", incident=f"j{n}")
        assert rig.delivery.pump() is None
    leave.set()
    rig.run(attempts=2000)
    assert len(slack.messages) == 101
    rig.close()


def test_a_mistake_in_one_message_does_not_silence_the_next(tmp_path: Path, slack: FakeSlack, clock: Clock) -> None:
    class Faulty(BotTransport):
        broken = True

        def deliver(self, row: outbox.Row) -> Any:
            if self.broken:
                self.broken = False
                raise KeyError("a mistake")
            return super().deliver(row)

    rig = Rig(tmp_path, slack, clock, Faulty(client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=1)))
    put(rig)
    rig.run()
    assert len(slack.messages) == 1
    rig.close()


@pytest.mark.parametrize("seed", range(6))
def test_a_storm_of_faults_loses_nothing_and_repeats_nothing(rig: Rig, slack: FakeSlack, seed: int) -> None:
    kinds = ["429:0", "500", "503", "drop-before", "drop-after", "html", "half"]
    slack.fail_at_random(0.5, kinds, seed)
    for n in range(12):
        put(rig, f"i{n}:post:1", incident=f"i{n}")
        put(rig, f"i{n}:post:1:reply:1", incident=f"i{n}", kind="reply", parent=f"i{n}:post:1")
    rig.run(attempts=4000)
    keys = [m["metadata"]["event_payload"]["row"] for m in slack.messages]
    assert sorted(keys) == sorted([f"i{n}:post:1" for n in range(12)] + [f"i{n}:post:1:reply:1" for n in range(12)])
    assert all(m.get("thread_ts") in {r["ts"] for r in slack.roots()} for m in slack.messages if "thread_ts" in m)


def test_a_webhook_posts_and_prefers_twice_to_never(webhook_rig: Rig, slack: FakeSlack) -> None:
    slack.fail("drop-after")
    put(webhook_rig)
    webhook_rig.run()
    assert len(slack.messages) == 2
    assert state(webhook_rig).state == "sent"


@pytest.mark.parametrize(
    ("fault", "ends"),
    [
        ("429:2", "sent"),
        ("500", "sent"),
        ("html", "sent"),
        ("half", "sent"),
        ("drop-before", "sent"),
        ("error:no_service", "dead"),
    ],
)
def test_a_webhook_reads_its_answers(webhook_rig: Rig, slack: FakeSlack, fault: str, ends: str) -> None:
    slack.fail(fault)
    put(webhook_rig)
    webhook_rig.run()
    assert state(webhook_rig).state == ends


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """As for an operator who turned every library's log on."""
    caplog.set_level(logging.DEBUG)
    return caplog


def test_no_error_that_is_kept_holds_the_token(
    rig: Rig, slack: FakeSlack, everything_logged: pytest.LogCaptureFixture
) -> None:
    for fault in (*FAULTS, "error:token_revoked", "error:invalid_blocks"):
        slack.fail(fault)
        put(rig, f"k:{fault}", incident=fault)
        rig.run()
    dump = "\n".join(str(row) for row in rig.database.connection.execute("SELECT * FROM outbox").fetchall())
    assert TOKEN not in dump
    assert TOKEN not in everything_logged.text
    assert "Prefill context parallelism" not in everything_logged.text


def test_the_address_of_a_webhook_is_in_no_error_and_in_no_log(
    webhook_rig: Rig, slack: FakeSlack, everything_logged: pytest.LogCaptureFixture
) -> None:
    for fault in ("", "429:1", "500", "drop-before", "drop-after", "html", "half", "slow:1.3", "error:no_service"):
        slack.fail(*([fault] if fault else []))
        put(webhook_rig, f"k:{fault}", incident=fault)
        webhook_rig.run()
    dump = "\n".join(str(row) for row in webhook_rig.database.connection.execute("SELECT * FROM outbox").fetchall())
    assert WEBHOOK not in dump
    assert WEBHOOK not in everything_logged.text


def test_a_row_enters_sending_by_a_durable_commit(rig: Rig, slack: FakeSlack) -> None:
    put(rig)
    seen: list[str] = []
    rig.database.connection.set_trace_callback(seen.append)
    rig.delivery.pump()
    rig.database.connection.set_trace_callback(None)
    begun = next(n for n, sql in enumerate(seen) if "'sending'" in sql and sql.startswith("UPDATE"))
    assert "PRAGMA synchronous = FULL" in seen[:begun]
    rig.run()
    assert isinstance(rig.database.connection, sqlite3.Connection)
