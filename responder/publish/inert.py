"""Text from a log or a command line made inert: it shows what it says and does nothing.

Anyone's prompt and any local process can write into a log.  In a terminal an escape sequence moves the cursor, sets the
title or the clipboard; a bidirectional control reorders what stands on the screen; an invisible character hides in a
command that is pasted.  In Slack `<!channel>` wakes a whole channel.

In Slack, text of unknown origin goes into rich text elements, which are literal.  The functions for mrkdwn and plain
text are for the few places that take nothing else.
"""

from typing import Any

import regex

# A terminal reads these as a whole: CSI, then the strings (OSC, DCS, SOS, PM, APC) up to BEL or ST, then short escapes.
_ESCAPES = regex.compile(
    r"""(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?
      | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)
      | \x1b[ -/]*+[0-~]?""",
    regex.VERBOSE,
)
# Controls, format characters (bidirectional, zero-width, tags), surrogates, private use, and letters that show nothing.
_UNSEEN = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0e\uffa0"
    r"\ufff0-\ufff8\U000e0000-\U000e0fff]--[\t\n]]",
    regex.V1,
)
_BREAKS = regex.compile(r"\r\n?|[\u2028\u2029\x85\v\f]")
_STACKED = regex.compile(r"(\p{M}{4})\p{M}++")
"""More marks on one letter than any language sets climb over the lines above."""


def inert(text: str) -> str:
    """The text without anything a terminal or a reader could be fooled by.  Line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text  # as nearly all of it is
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    shown: str = _STACKED.sub(r"\1", _UNSEEN.sub("", text))
    return shown


def inert_line(text: str) -> str:
    """The same on one line: a break becomes a space, so that a text cannot grow lines of its own."""
    return " ".join(inert(text).split())


def inert_strings(value: Any) -> Any:
    """The value with every string in it inert, keys too."""
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, dict):
        return {inert(key): inert_strings(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [inert_strings(item) for item in value]
    return value


# --- Slack -----------------------------------------------------------------------------------------------------------

_EMOJI = regex.compile(r":(?=(?!\d+:)[\w+'-]+:|(?:100|1234):)")
_MARK = regex.compile(r"(?<!\w)[*_~](?=\S)|(?<=\S)[*_~](?!\w)")
_SHOUT = regex.compile(r"@(?=(?:channel|here|everyone)\b)", regex.IGNORECASE)
_LOOKALIKE = str.maketrans({"*": "∗", "_": "ˍ", "~": "∼"})


def mrkdwn(text: str, limit: int) -> str:
    """The text for a mrkdwn object, where it shows as it stands: no mention, link, emoji or formatting comes of it.

    `limit` is in characters after escaping, which is what Slack counts.
    """
    text = _escaped(inert_line(text).replace("`", "ʼ"), limit)
    text = _MARK.sub(lambda found: found[0].translate(_LOOKALIKE), text)
    return _defused(text)


def code(text: str, limit: int) -> str:
    """The text as inline code of a mrkdwn object."""
    text = _escaped(inert_line(text).replace("`", "ʼ"), limit - 2)
    return f"`{_SHOUT.sub('＠', text)}`" if text else ""


def plain(text: str) -> str:
    """The text for a plain_text object.  Whether Slack unescapes there is not documented, so nothing needs escaping."""
    text = inert_line(text).replace("&", "＆").replace("<", "‹").replace(">", "›")
    return _defused(text)


def literal(text: str) -> str:
    """The text for a rich text element, which Slack takes literally; only shouts and emoji codes are defused."""
    return _defused(inert(text))


def clip(text: str, limit: int) -> str:
    """The text, cut to `limit` characters with a sign that it was."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _escaped(text: str, limit: int) -> str:
    shown = text = clip(text, limit)
    while len(shown := text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")) > limit:
        text = clip(text, len(text) - max(1, (len(shown) - limit) // 5))
    return shown


def _defused(text: str) -> str:
    quiet: str = _SHOUT.sub("＠", _EMOJI.sub("꞉", text))
    return quiet
