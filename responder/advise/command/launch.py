"""Where in an operator's command sglang is launched, and what surrounds it.

A launch may stand behind `nohup`, `numactl`, `srun`, `docker run … IMAGE`, `torchrun`, and inside `bash -c '…'` or
`ssh HOST '…'`, one inside the other.  Each quoted script is a layer: its text is what the outer shell's word says, and
an edit in it is lifted word by word into the text that the operator typed.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from responder.advise.command.shell import CommandError, Edit, Simple, Word, apply, simple_commands

Entry = Literal["server", "serve", "router", "arguments"]
"""How it is launched: `-m sglang.launch_server`, `sglang serve`, a router, or arguments alone (a manifest's `args`)."""

_MODULES: dict[str, Entry] = {
    "sglang.launch_server": "server",
    "sglang_router.launch_router": "router",
    "sglang_router.launch_server": "router",
    "sglang_router": "router",
    "sglang.srt.disaggregation.launch_lb": "router",
    "sglang.srt.disaggregation.mini_lb": "router",
}
MOST_LAYERS = 4
"""Scripts within scripts that are looked into."""

_INTERPRETER = re.compile(r"python[\d.]*|pypy[\d.]*|torchrun|accelerate|viztracer|nsys|py-spy")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?==)")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


@dataclass(frozen=True)
class Layer:
    """One shell text and the simple command of it that launches, or holds the script that does."""

    text: str
    words: tuple[Word, ...]
    inner: int | None = None
    """Which word holds the next layer."""


@dataclass(frozen=True)
class Variable:
    """An environment variable set by the command itself."""

    name: str
    value: str
    open: bool
    layer: int
    word: int
    offset: int
    """Where the value begins in the word."""


@dataclass(frozen=True)
class Command:
    """A launch command taken apart; `layers[0].text` is the command as typed."""

    layers: tuple[Layer, ...]
    entry: Entry
    program: int
    """Which word of the innermost layer is the program."""
    first: int
    """Which word is sglang's first argument (the number of words, where there is none)."""

    @property
    def text(self) -> str:
        """The command as it was typed."""
        return self.layers[0].text

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the simple command that launches sglang."""
        return self.layers[-1].words

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words that sglang gets."""
        return self.words[self.first :]

    @property
    def argv(self) -> tuple[str, ...]:
        """What was typed, as an argv: wrappers included, redirections left out."""
        words = tuple(word.text for word in self.layers[0].words)
        return ("env", *words) if words and _ASSIGNMENT.match(words[0]) else words

    @property
    def server_argv(self) -> tuple[str, ...]:
        """The argv of the server process itself: the program and sglang's arguments."""
        return tuple(word.text for word in self.words[self.program :])

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that the command sets and whose value can be read off it."""
        return {v.name: v.value for v in self.variables if not v.open}

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Every environment variable that the command sets, outermost first."""
        return tuple(v for number, layer in enumerate(self.layers) for v in _variables(self, number, layer))

    def edited(self, edits: Sequence[tuple[int, Edit]]) -> "Command":
        """The command after `edits`, each of which belongs to a layer (by number)."""
        lifted: list[Edit] = []
        for number in reversed(range(len(self.layers))):
            here = [edit for layer, edit in edits if layer == number] + lifted
            if number == 0:
                return parse(apply(self.text, here))
            outer = self.layers[number - 1]
            assert outer.inner is not None
            lifted = _lift(outer.words[outer.inner], self.layers[number].text, here)
        raise AssertionError("a command has a layer")


def parse(command: str | Sequence[str]) -> Command:
    """The one launch of sglang in `command`, a shell text or an argv.  Raises CommandError for none or for several."""
    text = command if isinstance(command, str) else shlex.join(command)
    found = parse_all(text)
    if not found:
        raise CommandError(f"no launch of sglang in this command: {_short(text)}")
    if len(found) > 1:
        raise CommandError(f"{len(found)} launches of sglang in one command: {_short(text)}; give the one that failed")
    return found[0]


def parse_all(text: str) -> list[Command]:
    """Every launch of sglang in a shell text, routers included."""
    if text.lstrip().startswith("["):
        text = _exec_form(text)
    return list(_search(text, ()))


def _exec_form(text: str) -> str:
    """A Dockerfile's or manifest's list of words as a shell text."""
    try:
        words = json.loads(text)
    except ValueError:
        return text
    return shlex.join(words) if all(isinstance(word, str) for word in words) else text


def _search(text: str, outer: tuple[Layer, ...]) -> Iterator[Command]:
    for simple in simple_commands(text):
        layer = Layer(text, simple.words)
        launch = _launch(simple)
        if launch is not None:
            yield Command((*outer, layer), *launch)
        elif len(outer) < MOST_LAYERS:
            yield from _nested(layer, outer)


def _nested(layer: Layer, outer: tuple[Layer, ...]) -> Iterator[Command]:
    for number, word in enumerate(layer.words):
        if "sglang" in word.text and re.search(r"\s", word.text) and number > 0:
            try:
                yield from _search(word.text, (*outer, Layer(layer.text, layer.words, number)))
            except CommandError:
                continue  # a word of text that is no script


def _launch(simple: Simple) -> tuple[Entry, int, int] | None:
    """How a simple command launches sglang, its program's word and its first argument's; None where it does not."""
    texts = [word.text for word in simple.words]
    if texts[0].startswith("--"):
        return "arguments", 0, 0
    for at, text in enumerate(texts):
        name = _base(text)
        following = texts[at + 1] if at + 1 < len(texts) else ""
        if text == "-m" and following in _MODULES:
            return _MODULES[following], _interpreter(texts, at), at + 2
        if text.startswith("-m") and text[2:] in _MODULES:
            return _MODULES[text[2:]], _interpreter(texts, at), at + 1
        if name == "sglang" and following == "serve":
            return "serve", at, at + 2
        if name in ("sglang-router", "smg", "sgl-model-gateway"):
            return "router", at, at + (2 if following == "launch" else 1)
        if name == "launch_server.py" and at > 0 and _INTERPRETER.fullmatch(_base(texts[at - 1])):
            return "server", at - 1, at + 1
    return None


def _interpreter(texts: list[str], at: int) -> int:
    """The word of the program that `-m` at `at` belongs to."""
    return next((i for i in range(at - 1, -1, -1) if _INTERPRETER.fullmatch(_base(texts[i]))), at)


def _variables(command: Command, number: int, layer: Layer) -> Iterator[Variable]:
    """Assignments before the program: leading ones, those of `env` and `sudo`, and `-e` of a container."""
    last = layer.inner if layer.inner is not None else command.program
    for at, word in enumerate(layer.words[:last]):
        before = layer.words[at - 1].text if at else ""
        if before.startswith("-") and "=" not in before and before not in _BEFORE_ASSIGNMENT:
            continue  # the value of some option, `-v a=b`
        offset = next((len(p) for p in _GLUED if word.text.startswith(p) and container_run(layer) is not None), 0)
        name = _ASSIGNMENT.match(word.text, offset)
        if name:
            value = word.text[name.end() + 1 :]
            yield Variable(name[0], value, word.open and bool(_EXPANDS.search(value)), number, at, name.end() + 1)


_BEFORE_ASSIGNMENT = ("-e", "--env", "-i", "-", "--ignore-environment", "-E")
_GLUED = ("--env=", "-e")
_EXPANDS = re.compile(r"[$`]")


def container_run(layer: Layer) -> int | None:
    """The word `run` (or `exec`) of a container runtime in this layer, or None."""
    texts = [_base(word.text) for word in layer.words]
    for at, text in enumerate(texts[:-1]):
        if text in _CONTAINERS:
            return next((i for i in range(at + 1, len(texts)) if texts[i] in ("run", "exec")), None)
    return None


def _lift(word: Word, text: str, edits: list[Edit]) -> list[Edit]:
    """Edits of a word's text as edits of the text that the word stands in; failing that, the word is quoted anew."""
    try:
        return [word.splice(edit.start, edit.end, edit.text) for edit in edits]
    except CommandError:
        if word.open:
            raise
    return [Edit(word.start, word.end, shlex.quote(apply(text, edits)))]


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}…"
