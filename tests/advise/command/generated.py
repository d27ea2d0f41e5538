"""Launch commands made up at random: wrappers, quotes, aliases, continuations, and a change to make to each."""

import random
import shlex
from dataclasses import dataclass
from typing import Any

from responder.advise.flags import Flag, FlagTable, ReleaseFlags, Renames
from tests.advise.flags.trials import value_for

WRAPPERS = (
    "{}",
    "A=1 B='two words' nohup {} > server.log 2>&1 &",
    "env NCCL_DEBUG=INFO numactl -N 0 -m 0 {}",
    "cd /srv && exec {} | tee -a log",
    "docker run --gpus all --shm-size 32g -e X=1 -v /m:/m:ro image:latest {}",
    "bash -c {!r}",
    'ssh node0 "cd /srv; {}"',
    "srun -N 1 bash -lc {!r}  # a comment",
)
PROGRAMS = ("python3 -m sglang.launch_server", "sglang serve", "torchrun --nproc-per-node 1 -m sglang.launch_server")


@dataclass(frozen=True)
class Case:
    """A command, what to change, and what its arguments must be before and after."""

    release: str
    command: str
    before: dict[str, Any]
    set: dict[str, str | bool]
    unset: tuple[str, ...]
    touched: frozenset[str]
    """The dests that may differ."""


def plain_flags(release: ReleaseFlags) -> list[Flag]:
    """Flags that stand for themselves: neither retired nor part of a rename."""
    renamed = {name for rename in Renames.load().rename for name in (*rename.old, *rename.new)}
    single = {dest for dest, flags in release.by_dest.items() if len(flags) == 1}
    return [
        flag
        for flag in release.flags
        if flag.action in ("store", "true", "switch")
        and flag.dest in single
        and not renamed & set(flag.names)
        and flag.dest not in ("config", "model_path")
    ]


def case(seed: int, of: str | None = None) -> Case:
    """The case of this number, always the same; for a release drawn at random, or for a given one."""
    chance = random.Random(seed)
    release = FlagTable.load().release(of or chance.choice(FlagTable.load().releases))
    flags = chance.sample(plain_flags(release), 12)
    typed, added, kept = flags[:7], flags[7:9], flags[:7]
    words, before = _typed(typed, chance)
    text = _laid_out([*chance.choice(PROGRAMS).split(), "--model-path", "'/models/a b'", *words], chance)
    wrapped = _wrapped(chance.choice(WRAPPERS), text)
    changed, gone = chance.sample(kept, 2), chance.sample(kept, 1)
    settings = {flag.name: _setting(flag, 1) for flag in [*changed, *added] if flag not in gone}
    touched = frozenset(flag.dest for flag in [*changed, *added, *gone])
    return Case(release.version, wrapped, before, settings, tuple(flag.name for flag in gone), touched)


def _typed(flags: list[Flag], chance: random.Random) -> tuple[list[str], dict[str, Any]]:
    words: list[str] = []
    values: dict[str, Any] = {"model_path": "/models/a b"}
    for flag in flags:
        name = chance.choice(flag.names)
        value = value_for(flag)
        quoted = [chance.choice((shlex.quote, _double))(word) for word in value]
        if len(value) == 1 and flag.nargs is None and chance.random() < 0.3:
            words.append(f"{name}={quoted[0]}")
        else:
            words += [name, *quoted]
        values[flag.dest] = None
    return words, values


def _setting(flag: Flag, turn: int) -> str | bool:
    value = value_for(flag, turn)
    return " ".join(value) if value else True


def _double(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _laid_out(words: list[str], chance: random.Random) -> str:
    """The words on one line, or a flag a line with continuations."""
    if chance.random() < 0.6:
        return " ".join(words)
    return " ".join(words[:4]) + "".join(f" \\\n    {w}" if w.startswith("-") else f" {w}" for w in words[4:])


def _wrapped(wrapper: str, text: str) -> str:
    if "{!r}" in wrapper:
        return wrapper.replace("{!r}", shlex.quote(text))
    if "ssh" in wrapper:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\\\\\n", "\\\n")
        return wrapper.replace("{}", escaped)
    return wrapper.replace("{}", text)
