"""Words as systemd reads them: quotes, escapes, specifiers, variables (systemd.syntax(7), systemd.service(5)).

Not a shell's: quotes keep nothing from being expanded, `$$` is a dollar, `${NAME}` is one word and a word `$NAME` alone
becomes several.
"""

import re
import shlex
import socket
from collections.abc import Iterator, Mapping

from responder.advise.command.secret import names_a_secret
from responder.advise.command.shell import encode

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"', "'": "'", "s": " ",
}  # fmt: skip
_CODED = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}")
_ALONE = re.compile(r"\$([A-Za-z_]\w*)")


class UnitSyntaxError(ValueError):
    """A setting that systemd would refuse, too."""


def split(text: str) -> list[str]:
    """The words of a setting, unquoted and with C escapes resolved.  Raises UnitSyntaxError."""
    words: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return words
        word, at = _word(text, at)
        words.append(word)


def _word(text: str, at: int) -> tuple[str, int]:
    word, quote = "", ""
    while at < len(text):
        char = text[at]
        if char == "\\":
            piece, at = _escape(text, at + 1)
            word += piece
            continue
        if quote:
            quote, word = ("", word) if char == quote else (quote, word + char)
        elif char in "'\"":
            quote = char
        elif char.isspace():
            break
        else:
            word += char
        at += 1
    if quote:
        raise UnitSyntaxError(f"a quote {quote} is not closed")
    return word, at


def _escape(text: str, at: int) -> tuple[str, int]:
    if at >= len(text):
        raise UnitSyntaxError("a backslash stands at the end")
    coded = _CODED.match(text, at)
    if coded:
        return chr(int(coded[coded.lastindex or 1], 8 if coded[4] else 16)), coded.end()
    if text[at] in _ESCAPES:
        return _ESCAPES[text[at]], at + 1
    raise UnitSyntaxError(f"unknown escape \\{text[at]}")


def specifiers(unit: str) -> dict[str, str]:
    """What `%n` and its like stand for in a system unit; those that need more than its name are left out."""
    name = unit.rpartition(".")[0]
    prefix, at, instance = name.partition("@")
    return {
        "%": "%",
        "n": unit,
        "N": name,
        "p": prefix,
        "P": _unescape_name(prefix),
        "i": instance,
        "I": _unescape_name(instance),
        "j": prefix.rpartition("-")[2],
        "f": "/" + _unescape_name(instance if at else prefix).lstrip("/"),
        "H": socket.gethostname(),
        "t": "/run",
        "S": "/var/lib",
        "C": "/var/cache",
        "L": "/var/log",
        "E": "/etc",
        "T": "/tmp",
        "V": "/var/tmp",
    }


def _unescape_name(text: str) -> str:
    """A unit's name as the text that was escaped into it: `-` is a slash, `\\x2d` a dash."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), text.replace("-", "/"))


def specified(word: str, known: Mapping[str, str]) -> str:
    """A word with its specifiers replaced; unknown ones stay as they stand."""
    return re.sub(r"%(.)", lambda m: known.get(m[1], m[0]), word)


def shell_text(words: list[str], env: Mapping[str, str]) -> str:
    """The words, their variables replaced, as a shell text that means the same.

    A variable that is not known, or that holds a secret, stays a reference.
    """
    return " ".join(text for word in words for text in _shell_words(word, env))


def _shell_words(word: str, env: Mapping[str, str]) -> Iterator[str]:
    alone = _ALONE.fullmatch(word)
    if alone:
        value = _known(alone[1], env)
        if value is None:
            yield word
        else:
            yield from map(shlex.quote, _split_value(value))
        return
    literal, quoted, at, refers = "", "", 0, False
    for found in _VARIABLE.finditer(word):
        value = "$" if found[0] == "$$" else _known(found[1], env)
        refers = refers or value is None
        before = word[at : found.start()]
        literal += before + (value or "")
        quoted += encode(before, '"') + (f"${{{found[1]}}}" if value is None else encode(value, '"'))
        at = found.end()
    rest = word[at:]
    yield f'"{quoted}{encode(rest, _DOUBLE)}"' if refers else shlex.quote(literal + rest)


_DOUBLE = '"'


def _known(name: str, env: Mapping[str, str]) -> str | None:
    value = env.get(name)
    return None if value is None or names_a_secret(name, value) else value


def _split_value(value: str) -> list[str]:
    try:
        return split(value)
    except UnitSyntaxError:
        return value.split()
