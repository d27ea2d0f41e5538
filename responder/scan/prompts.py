"""What users typed: no rule may fire on it, and no sink may show it.

With `--log-requests`, and in some refusals, sglang prints whole requests into its log.  A dump is dropped to its end:
nothing behind `obj=GenerateReqInput(` is worth the risk.  Elsewhere the value of a key that holds a prompt or an answer
(`prompt`, `messages`, `input_ids`, …) goes, and the key stays.
"""

import re

from responder.scan.literals import DOUBLE, ESCAPED, SINGLE

PROMPT_MASK = "[prompt removed]"
"""Stands where a request's text stood."""

_TEXT_KEYS = r"""(?:(?:system|user|negative|next|decoded)_?)?prompts?|messages|texts?
  |(?:input|output|origin_input|generated|response)_text
  |(?:reasoning_)?contents?|instructions|documents?|questions?|completion|input_value|(?:image|audio|video)_(?:data|url)
  |(?:origin_)?input_ids|output_ids|fill_ids|(?:prompt|output)_token_ids|input_embeds"""
_JSON_ONLY_KEYS = r"inputs?|query|obj|body|arguments"  # as a bare word these mean something else in a log
_STRING = rf"(?:{DOUBLE}|{SINGLE})"
_STRINGS = rf"{_STRING}(?:\s\.\.\.\s{_STRING})*"  # sglang cuts a long one in two

_PROMPTS: tuple[tuple[re.Pattern[str], str], ...] = (
    # `Receive: obj=GenerateReqInput(text=…`, `Finish: obj={…}, out={…}`: nothing behind it is worth the risk.
    (re.compile(r"((?:Receive|Finish)[\w ]{0,20}: obj=).+"), rf"\1{PROMPT_MASK}"),
    (
        re.compile(
            r"(\b(?:\w{0,40}ReqInput|\w{0,40}(?:Completion|Chat|Responses|Embedding|Rerank|Scoring)\w{0,20}Request|Req)\()"
            r"(?!\)).+"
        ),
        rf"\1{PROMPT_MASK})",
    ),
    # pydantic's refusals quote the input they refuse.
    (re.compile(r"(\binput_value=).*?(?=, input_type=|$)", re.MULTILINE), rf"\1{PROMPT_MASK}"),
    (
        re.compile(
            rf"""((?:["'](?:{_TEXT_KEYS}|{_JSON_ONLY_KEYS})\\*["']\s{{0,3}}[:=]|\b(?:{_TEXT_KEYS})\s{{0,3}}=)\s{{0,3}})
                 (?:{_STRINGS}|{ESCAPED}|[\[{{(](?!prompt\ removed\]).*)""",
            re.VERBOSE,
        ),
        rf"\1{PROMPT_MASK}",
    ),
    (
        re.compile(r"(\b[Pp]rompts?\s{0,3}[:=]\s{0,3})(?!\[prompt removed\])(?=\S)(?!-?[\d.]+%?(?:[\s,;)]|$)).+"),
        rf"\1{PROMPT_MASK}",
    ),
    (
        re.compile(r"(^(?:\[[^\]\n]{0,80}\] ?)?(?:User|Input|Question|Query): )(?=\S).+", re.MULTILINE),
        rf"\1{PROMPT_MASK}",
    ),
)


def drop_prompts(text: str) -> str:
    """The text without request bodies; what holds none comes back unchanged."""
    for pattern, mask in _PROMPTS:
        text = pattern.sub(mask, text)
    return text
