"""A launch command in the form that its keeper needs: a shell line, a systemd drop-in, a manifest, a compose file.

Always masked: where a secret stood, the form refers to an environment variable in the keeper's own syntax.
"""

import json
import re
from collections.abc import Callable
from typing import Literal

from responder.advise.command.launch import Command, Layer, container_run, parse
from responder.advise.command.role import Place
from responder.advise.command.secret import mask
from responder.advise.command.shell import Word, simple_commands
from responder.nouns import Apply

Keeper = Literal["shell", "systemd", "kubernetes", "compose"]

_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def apply_form(
    command: Command, keeper: Keeper = "shell", *, name: str | None = None, place: Place | None = None
) -> Apply:
    """How to apply `command`.  `name` is the unit, workload or service; `place` tells on which nodes."""
    masked = parse(mask(command))
    text = _FORMS[keeper](masked, name) if keeper != "shell" else masked.text
    return Apply(kind=keeper, where=where(keeper, name, place or Place()), text=text)


def where(keeper: Keeper, name: str | None, place: Place) -> str:
    """On which node, unit or file a change belongs, in words."""
    target = {
        "shell": "",
        "systemd": f"`systemctl edit {name or 'UNIT'}`, then `systemctl restart {name or 'UNIT'}`.",
        "kubernetes": f"In the container of {name or 'the workload'}.",
        "compose": f"In the compose file, service {name or 'NAME'}.",
    }[keeper]
    return " ".join(filter(None, (target, _nodes(place), _peers(place))))


def _nodes(place: Place) -> str:
    if place.nnodes is None or place.nnodes <= 1:
        return ""
    rank = "" if place.node_rank is None else f"; this is node {place.node_rank}'s command"
    return f"On all {place.nnodes} nodes, each with its own --node-rank{rank}."


def _peers(place: Place) -> str:
    if place.role not in ("prefill", "decode"):
        return ""
    other = "decode" if place.role == "prefill" else "prefill"
    return (
        f"On every {place.role} server and not on the {other} ones; "
        f"--page-size and --kv-cache-dtype must stay the same on both sides."
    )


def _systemd(command: Command, name: str | None) -> str:
    words, variables = _parts(command)
    lines = ["[Service]", *(f"Environment={_quoted(f'{n}={v}'.replace('%', '%%'))}" for n, v in variables)]
    return "\n".join([*lines, "ExecStart=", "ExecStart=" + " ".join(_systemd_word(text, refs) for text, refs in words)])


def _systemd_word(text: str, references: tuple[str, ...]) -> str:
    """One word as systemd reads it: `%` and `$` doubled, C-style quotes, `${NAME}` for a reference.

    A reference that is the whole word, bare, stays bare: only so does systemd split it into words, as a shell does.
    """
    if len(references) == 1 and text == f"${references[0]}":
        return text
    return _quoted(_escape_dollars(text.replace("%", "%%"), references, ("$", "$$"), "${{{}}}"))


def _quoted(text: str) -> str:
    if text and re.fullmatch(r"[\w@+=:,./${}%-]+", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _kubernetes(command: Command, name: str | None) -> str:
    words, variables = _parts(command, inside=True)
    texts = [
        json.dumps(_escape_dollars(text, refs, ("$(", "$$("), "$({})"), ensure_ascii=False) for text, refs in words
    ]
    lines = ["command:", *(f"  - {text}" for text in texts[:1]), "args:", *(f"  - {text}" for text in texts[1:])]
    if variables:
        lines += ["env:", *(f"  - name: {n}\n    value: {json.dumps(v)}" for n, v in variables)]
    return "\n".join(lines)


def _compose(command: Command, name: str | None) -> str:
    words, variables = _parts(command, inside=True)
    texts = [
        json.dumps(_escape_dollars(text, refs, ("$", "$$"), "${{{}}}"), ensure_ascii=False) for text, refs in words
    ]
    lines = ["services:", f"  {name or 'NAME'}:", "    command:", *(f"      - {text}" for text in texts)]
    if variables:
        lines += ["    environment:", *(f"      {n}: {json.dumps(v.replace('$', '$$'))}" for n, v in variables)]
    return "\n".join(lines)


_FORMS: dict[str, Callable[[Command, str | None], str]] = {
    "systemd": _systemd,
    "kubernetes": _kubernetes,
    "compose": _compose,
}

_Text = tuple[str, tuple[str, ...]]
"""A word and the variables that it refers to."""


def _parts(command: Command, *, inside: bool = False) -> tuple[list[_Text], list[tuple[str, str]]]:
    """What the keeper executes, and the environment it sets.  `inside`: what a container runs, without its runtime."""
    layer = command.layers[0]
    variables = [(v.name, v.value) for v in command.variables if not v.open and v.layer == 0]
    if inside and container_run(layer) is not None:
        if layer.inner is not None:
            return _shell(layer.words[layer.inner].text), variables
        return [_said(word) for word in layer.words[command.program :]], variables
    if not _is_plain(layer):
        return _shell(layer.text), []
    leading = next((i for i, word in enumerate(layer.words) if not re.match(r"[A-Za-z_]\w*=", word.text)), 0)
    ours = [(v.name, v.value) for v in command.variables if not v.open and v.layer == 0 and v.word < leading]
    return [_said(word) for word in layer.words[leading:]], ours


def _said(word: Word) -> _Text:
    """A word with its references; a lone one within quotes as `${NAME}`, which no keeper splits."""
    references = _references(word)
    lone = len(references) == 1 and not word.splits and word.text == f"${references[0]}"
    return f"${{{references[0]}}}" if lone else word.text, references


def _shell(text: str) -> list[_Text]:
    return [("/bin/sh", ()), ("-c", ()), (text, ())]


def _is_plain(layer: Layer) -> bool:
    """Whether the text is one simple command without redirections, pipes or expansions that only a shell makes."""
    commands = simple_commands(layer.text)
    if len(commands) != 1:
        return False
    spans = "".join(layer.text[a.end : b.start] for a, b in zip(layer.words, layer.words[1:], strict=False))
    tail = layer.text[layer.words[-1].end :]
    return not re.search(r"[<>|&;()]", spans + tail) and all(_only_references(word) for word in layer.words)


def _only_references(word: Word) -> bool:
    return not word.open or not re.search(r"[$`]", _REFERENCE.sub("", word.text))


def _references(word: Word) -> tuple[str, ...]:
    return tuple(a or b for a, b in _REFERENCE.findall(word.text)) if word.open else ()


def _escape_dollars(text: str, references: tuple[str, ...], escape: tuple[str, str], form: str) -> str:
    """References in the keeper's syntax; of every other dollar what the keeper would expand, escaped."""
    pieces, at = [], 0
    for found in _REFERENCE.finditer(text):
        name = found[1] or found[2]
        pieces.append(text[at : found.start()].replace(*escape))
        pieces.append(form.format(name) if name in references else found[0].replace(*escape))
        at = found.end()
    return "".join(pieces) + text[at:].replace(*escape)
