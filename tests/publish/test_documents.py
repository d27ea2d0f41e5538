"""HTML and Markdown: complete, self-contained, and nothing in them is live."""

import re
from html.parser import HTMLParser

import pytest

from responder.publish import html, markdown
from tests.publish import incidents as samples
from tests.publish.hostile import ACTIVE, HOSTILE
from tests.publish.incidents import seed_incident
from tests.publish.test_message import SAMPLES, stuffed, undecided

ALL = [sample() for sample in SAMPLES]


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


OUR_TAGS = set(Tags(html.render(ALL, title="x", note="x")).tags)


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = html.render(ALL, title="Post-mortem", note="made from two logs")
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    tags = Tags(page)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(tags.tags)
    assert all((value or "").startswith("#") for name, value in tags.attributes if name in ("href", "src"))
    assert not [name for name, _ in tags.attributes if name.startswith("on")]


def test_the_page_says_what_where_and_what_to_do() -> None:
    shown = Tags(html.render([seed_incident()])).text
    assert "llama-70b did not start" in shown
    assert samples.FA3.relaunch is not None
    assert samples.FA3.relaunch.command in shown
    assert f"▶ {samples.SEED_LINE}" in shown
    assert "(no launch flag mends it)" in Tags(html.render([samples.hardware_incident()])).text
    assert "Do one of these" in Tags(html.render([samples.unknown_gpu_incident()])).text


def test_several_incidents_stand_in_a_table_and_one_does_not() -> None:
    assert "how often" in html.render(ALL)
    assert "how often" not in html.render(ALL[:1])


def test_a_flood_is_named_in_the_table_and_the_page_stays_small() -> None:
    page = html.render([seed_incident(id=f"i{n}") for n in range(1000)])
    assert "800 more stand in the table only" in page
    assert len(page) < 3_000_000


def test_no_incident_is_said() -> None:
    assert "No incident was found" in html.render([])
    assert markdown.render([]) == "No incident was found.\n"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_inert_in_the_page(text: str) -> None:
    page = html.render([stuffed(text), undecided(stuffed(text))], title=text, note=text)
    tags = Tags(page)
    assert set(tags.tags) <= OUR_TAGS
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert not set(page) & set(ACTIVE)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_inert_in_markdown(text: str) -> None:
    shown = markdown.render([stuffed(text), undecided(stuffed(text))])
    assert not set(shown) & set(ACTIVE)
    prose = _without_code(shown)
    assert not re.search(r"(?<!\\)<[a-z!/]|(?<!\\)\]\(|https?://|@\w", prose, re.IGNORECASE)


def test_no_fence_can_be_closed_from_inside() -> None:
    assert markdown.fence("a\n````\nb", "bash") == "`````bash\na\n````\nb\n`````\n"
    assert markdown.code("a`b") == "`` a`b ``"


def test_the_markdown_holds_the_command_the_change_and_the_evidence() -> None:
    shown = markdown.render([seed_incident()])
    assert "```bash\npython3 -m sglang.launch_server" in shown
    assert "```diff\n- --prefill-attention-backend trtllm_mha\n+ --prefill-attention-backend fa3\n```" in shown
    assert f"▶ {samples.SEED_LINE}" in shown
    assert "Turn context parallelism off (`--attn-cp-size 1`)." in shown


def _without_code(text: str) -> str:
    text = re.sub(r"^(`{3,})[^\n]*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
