"""A POSIX shell line as words that know where they stand, so that a part can be replaced and the rest stays as typed.

Words, quotes, line continuations, comments, operators and redirections are read; nothing is ever expanded.  A word
with an expansion in it (`$MODEL`, `$(hostname)`) is *open*: its final text is not known here.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LIMIT = 1 << 17
"""Characters of a command; Linux takes no longer argument either."""


class CommandError(ValueError):
    """A command that cannot be read or edited; the message says where and why."""


@dataclass(frozen=True)
class Edit:
    """Replace the characters `start` to `end` (excluded) by `text`."""

    start: int
    end: int
    text: str


@dataclass
class Word:
    """One word: its text without quotes and, per character, where that stands and how it is quoted."""

    start: int
    end: int = 0
    text: str = ""
    """Without quotes and escapes; an expansion stands as it was typed."""
    open: bool = False
    """It contains an expansion."""
    splits: bool = False
    """It contains an expansion outside double quotes, so that it may become several words, or none."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Of each character of `text`: where it stands, quotes excluded."""
    quotes: list[tuple[str, int]] = field(default_factory=list)
    """Of each character: the quote it stands in (`'`, `"`, `$'` or none) and which stretch of that quote."""

    def splice(self, start: int, end: int, new: str) -> Edit:
        """The edit that makes the characters `start` to `end` of `text` read `new`, in the quotes they stand in.

        Raises CommandError where the part begins in one quote and ends in another.
        """
        around = set(self.quotes[start:end] or self.quotes[max(start - 1, 0) : start] or self.quotes[:1])
        if len(around) == 1:
            at = self.spans[start][0] if start < end or start == 0 else self.spans[start - 1][1]
            return Edit(at, self.spans[end - 1][1] if start < end else at, encode(new, around.pop()[0]))
        if end == len(self.text) and (start == 0 or self.quotes[start - 1] != self.quotes[start]):
            return Edit(self.spans[start - 1][1] if start else self.start, self.end, shlex.quote(new))
        raise CommandError(f"quotes open and close within a part that is to change: {self.text[start:end]}")


@dataclass(frozen=True)
class Simple:
    """One simple command: its words, redirections left out."""

    words: tuple[Word, ...]


def encode(text: str, quote: str) -> str:
    """`text` as it must be written inside `quote` to mean itself."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return re.sub(r'(["$`\\])', r"\\\1", text)
    if quote == "$'":
        return text.replace("\\", "\\\\").replace("'", "\\'")
    return shlex.quote(text) if text else ""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """`text` after all `edits`, which must not overlap; insertions at one place keep their order."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join(pieces) + text[at:]


def simple_commands(text: str) -> list[Simple]:
    """The simple commands of a shell text, in order.  Raises CommandError where a quote is not closed."""
    if len(text) > LIMIT:
        raise CommandError(f"{len(text)} characters are more than any command has")
    found: list[Simple] = []
    words: list[Word] = []
    target = False
    for token in _Lexer(text).tokens():
        if isinstance(token, Word):
            if not target:
                words.append(token)
            target = False
        elif token in _REDIRECTIONS:
            target = True
        else:
            found.append(Simple(tuple(words)))
            words, target = [], False
    found.append(Simple(tuple(words)))
    return [simple for simple in found if simple.words]


_REDIRECTIONS = ("&>>", "<<<", "&>", ">>", ">&", "<&", "<>", ">|", ">", "<")
_CONTROLS = ("&&", "||", ";;", "|&", ";", "&", "|", "(", ")", "\n")
_OPERATORS = tuple(sorted(("<<", *_REDIRECTIONS, *_CONTROLS), key=len, reverse=True))
_EXPANSION = re.compile(r"\$(?:\w+|[@*#?$!-])|\$\{[^}]*\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class _Lexer:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.stretch = text, 0, 0

    def tokens(self) -> Iterator[Word | str]:
        """Words, and operators as strings."""
        while self._skip():
            operator = self._operator()
            if operator is not None:
                if operator == "<<":
                    raise CommandError(f"a here-document (column {self.at - 1}) cannot be read")
                yield operator
                continue
            yield self._word()

    def _skip(self) -> bool:
        """Past blanks, continuations and comments; whether anything is left."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r":
                self.at += 1
            elif self.text.startswith(("\\\n", "\\\r\n"), self.at):
                self.at = self.text.index("\n", self.at) + 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def _operator(self) -> str | None:
        digits = re.compile(r"\d+(?=[<>])").match(self.text, self.at)
        at = digits.end() if digits else self.at
        operator = next((o for o in _OPERATORS if self.text.startswith(o, at)), None)
        if operator is None or (digits and operator not in (*_REDIRECTIONS, "<<")):
            return None
        self.at = at + len(operator)
        return operator

    def _word(self) -> Word:
        word = Word(start=self.at)
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|<>()":
            self._piece(word)
        word.end = self.at
        return word

    def _piece(self, word: Word) -> None:
        """One quoted stretch, expansion, escape or plain character."""
        char = self.text[self.at]
        if char == "'":
            self._quoted(word, "'", self.at + 1)
        elif char == '"':
            self._double(word)
        elif self.text.startswith("$'", self.at):
            self._quoted(word, "$'", self.at + 2)
        elif char in "$`":
            self._expansion(word, "")
        elif char == "\\":
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            else:
                self._take(word, "", 2)
        else:
            self._take(word, "", 1)

    def _take(self, word: Word, quote: str, length: int, text: str | None = None) -> None:
        """`length` characters of the input, the last of which (or `text`) is one character of the word."""
        end = min(self.at + length, len(self.text))
        word.text += self.text[end - 1] if text is None else text
        word.spans.append((self.at, end))
        word.quotes.append((quote, self.stretch if quote else 0))
        self.at = end

    def _quoted(self, word: Word, quote: str, inside: int) -> None:
        opened, self.at, self.stretch = self.at, inside, self.stretch + 1
        while self.at < len(self.text) and self.text[self.at] != "'":
            if quote == "$'" and self.text[self.at] == "\\" and self.at + 1 < len(self.text):
                char = self.text[self.at + 1]
                self._take(word, quote, 2, _ESCAPES.get(char, char))
            else:
                self._take(word, quote, 1)
        self._close(opened, "'")

    def _double(self, word: Word) -> None:
        opened, self.at, self.stretch = self.at, self.at + 1, self.stretch + 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "\\" and self.text[self.at + 1 : self.at + 2] in tuple('"$`\\'):
                self._take(word, '"', 2)
            elif char in "$`":
                self._expansion(word, '"')
            else:
                self._take(word, '"', 1)
        self._close(opened, '"')

    def _close(self, opened: int, quote: str) -> None:
        if self.at >= len(self.text):
            raise CommandError(
                f"the quote {quote} at column {opened + 1} is not closed: {self.text[opened : opened + 30]}"
            )
        self.at += 1

    def _expansion(self, word: Word, quote: str) -> None:
        """`$NAME`, `${…}`, `$(…)` or a pair of backquotes, kept as typed."""
        end = self._expansion_end()
        if end == self.at + 1 and self.text[self.at] == "$":  # a lone dollar means itself
            self._take(word, quote, 1)
            return
        word.open = True
        word.splits = (
            word.splits or not quote or self.text[self.at : end] in ("$@", "${@}") or "[@]" in self.text[self.at : end]
        )
        while self.at < end:
            self._take(word, quote, 1)

    def _expansion_end(self) -> int:
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
        elif self.text.startswith("$(", self.at):
            end = self._balanced(self.at + 1)
        else:
            named = _EXPANSION.match(self.text, self.at)
            end = (named.end() if named else self.at + 1) - 1
        if end < 0:
            raise CommandError(
                f"the expansion at column {self.at + 1} is not closed: {self.text[self.at : self.at + 30]}"
            )
        return end + 1

    def _balanced(self, opened: int) -> int:
        depth = 0
        for at in range(opened, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[at], 0)
            if depth == 0:
                return at
        return -1
