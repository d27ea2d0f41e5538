"""Secrets of a launch command, replaced by references to the environment: the command stays valid shell.

`--api-key sk-…` becomes `--api-key "$SGLANG_API_KEY"`, `HF_TOKEN=hf_…` becomes `HF_TOKEN="$HF_TOKEN"`.  A secret is
known by the name it stands under, or by its own shape (`hf_…`, `user:password@` in a URL, a key in JSON).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from responder.advise.command.launch import MOST_LAYERS, Command
from responder.advise.command.shell import CommandError, Edit, Word, apply, encode, simple_commands
from responder.nouns.secret_names import PASSWORD, is_mistyped

_STRONG = re.compile(
    rf"""--?(?:api(?:-k(?:ey?)?)?|admin(?:-[a-z-]*)?|ssl-keyfile-p[a-z]*)    # what argparse takes for them, cut short
      | (?:.*[-_.])?{PASSWORD}
      | (?:.*[-_.])?(?:
          (?:api|admin|access|account|secret|private|signing|encryption|watermark|service|license|master)
            [-_]?key(?:[-_]?(?:id|b))?
        | apikey | key[-_]?file[-_]?pass\w* | \w*pass(?:word|wd|phrase) | secrets? | credentials?
      )""",
    re.VERBOSE | re.IGNORECASE,
)
"""A name, as a whole, whose value is a secret whatever it looks like: `--admin-api-key`, not `--ssl-keyfile`."""

_WEAK = re.compile(r"(?:.*[-_.])?(?:(?<!first-)(?<!per-)token|auth|authorization|cookie|pat|key)", re.IGNORECASE)
"""A name whose value is a secret unless it is a number or a switch: `HF_TOKEN`, not `--max-total-tokens`."""

_SHAPE = re.compile(
    r"""(?<![A-Za-z0-9])(?P<token>
        hf_[A-Za-z0-9]{6,} | api_org_[A-Za-z0-9]{10,} | (?:AKIA|ASIA)[A-Z0-9]{16} | xox[a-z]-[A-Za-z0-9-]{8,}
      | xapp-[A-Za-z0-9-]{8,} | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{12,} | sk-[\w-]{12,}
      | nvapi-[\w-]{12,} | eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*
    ) | (?<=://)(?P<url>[^\s/@"'<>]+)(?=@) | (?i:(?:Bearer|Basic)\s+)(?P<bearer>[\w.~+/=-]{6,})
      | (?P<json>["'](?P<key>[\w.-]+)["']\s*:\s*["'](?P<inside>[^"']+)["'])""",
    re.VERBOSE,
)
_VARIABLES = {"token": "TOKEN", "url": "URL_CREDENTIALS", "bearer": "TOKEN"}
_PLAIN = re.compile(r"(?:[\d.]+|true|false|none|null|yes|no|on|off)?", re.IGNORECASE)
"""Values that no secret has: a switch, a number, nothing."""


def names_a_secret(name: str, value: str = "x") -> bool:
    """Whether `value` under this name (a flag, a variable, a JSON key) is a secret."""
    if _STRONG.fullmatch(name) or (name.startswith("--") and is_mistyped(name[2:])):
        return True
    return _WEAK.fullmatch(name) is not None and not _PLAIN.fullmatch(value)


def mask(command: Command | str) -> str:
    """The command without its secrets, still valid shell.  A text that is no launch is masked all the same."""
    text = command.text if isinstance(command, Command) else command
    try:
        return apply(text, _edits(text))
    except CommandError:  # no shell: as good as can be done without words
        return mask_shapes(_ASSIGNED.sub(r"\1MASKED", text))


def mask_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """An argv without its secrets; each becomes `$NAME`."""
    return tuple(apply(word, _text_edits(before, word)) for before, word in zip(("", *argv), argv, strict=False))


def mask_value(name: str, value: str) -> str:
    """`value` as it may be shown under `name`."""
    if _hides(name, value):
        return f'"${_variable(name)}"'
    return mask_shapes(value)


def mask_shapes(text: str) -> str:
    """A text that is no shell without what is a secret by its own shape."""
    return _SHAPE.sub(_in_text, text)


def shown(name: str, value: str | bool, *, glued: bool = False) -> str:
    """A flag (or a variable, `glued`) and its value as one line for a person, masked."""
    if isinstance(value, bool):
        return name
    return f"{name}{'=' if glued else ' '}{mask_value(name, value)}"


@dataclass(frozen=True)
class _Secret:
    start: int
    end: int
    variable: str


_ASSIGNED = re.compile(
    r"((?:--)?(?:[\w-]{0,40}[-_])?(?:key|token|password|secret)[= ]\s*)(?!-)[^\s'\"]+", re.IGNORECASE
)


def _edits(text: str, depth: int = 0) -> list[Edit]:
    """The edits that mask one shell text; scripts within scripts down to a depth that nobody types."""
    edits: list[Edit] = []
    for simple in simple_commands(text):
        for before, word in zip(("", *(w.text for w in simple.words)), simple.words, strict=False):
            inside = _script(word.text, depth)
            edits += [word.splice(e.start, e.end, e.text) for e in inside]
            edits += [_hide(word, secret) for secret in _beside(inside, before, word.text)]
    return edits


def _text_edits(before: str, text: str) -> list[Edit]:
    """The edits that mask one word of an argv."""
    inside = _script(text, 0)
    return inside + [Edit(s.start, s.end, f"${s.variable}") for s in _beside(inside, before, text)]


def _script(text: str, depth: int) -> list[Edit]:
    """The edits that mask a word as the script it may be (`bash -c '…'`)."""
    if depth >= MOST_LAYERS or not re.search(r"\s", text):
        return []
    try:
        return _edits(text, depth + 1)
    except CommandError:
        return []


def _beside(inside: Sequence[Edit], before: str, text: str) -> list[_Secret]:
    """The secrets of a word that masking it as a script leaves."""
    hidden = _after_flag(before, text)
    if hidden:
        return [] if inside else [hidden]
    script = re.fullmatch(r"-\w*c", before) is not None or (" " in text and "sglang" in text)
    found = _secrets(text, assigned=not script)
    return [s for s in found if all(s.end <= e.start or e.end <= s.start for e in inside)]


def _after_flag(before: str, text: str) -> _Secret | None:
    """The whole word, where the word before it is a flag that names a secret."""
    if not before.startswith("-") or "=" in before or text.startswith("--") or not _hides(before, text):
        return None
    return _Secret(0, len(text), _variable(before))


def _secrets(text: str, *, assigned: bool = True) -> Iterator[_Secret]:
    """The secrets within one word: `NAME=value` and `--flag=value` (`assigned`), and the shapes."""
    given = _GIVEN.match(text) if assigned else None
    if given and _hides(given["name"], text[given.end() :]):
        yield _Secret(given.end(), len(text), _variable(given["name"]))
        return
    for found in _SHAPE.finditer(text):
        if found["json"] is None:
            kind = found.lastgroup or "token"
            variable = "HF_TOKEN" if found[0].startswith("hf_") else _VARIABLES[kind]
            yield _Secret(found.start(kind), found.end(kind), variable)
        elif names_a_secret(found["key"], found["inside"]):
            yield _Secret(found.start("inside"), found.end("inside"), _variable(found["key"]))


_GIVEN = re.compile(r"(?:--env=|-e(?=[A-Za-z_]))?(?P<name>[\w-]+)=")


def _hides(name: str, value: str) -> bool:
    """Whether `value` is a secret that stands here: not a reference to the environment, not masked already."""
    return value != "" and names_a_secret(name, value) and not re.fullmatch(r"\$\{?\w+\}?", value)


def _variable(name: str) -> str:
    """The environment variable that stands for a masked value: `--api-key` -> SGLANG_API_KEY, HF_TOKEN -> itself."""
    if re.fullmatch(r"--api(-k(ey?)?)?", name):
        return "SGLANG_API_KEY"
    made = re.sub(r"\W", "_", name.strip("-")).upper()
    return f"SGLANG_{made}" if name.startswith("--") else made


def _hide(word: Word, secret: _Secret) -> Edit:
    """The edit that puts a reference to the environment in a secret's place, whatever quotes it stands in."""
    first, last = secret.start, secret.end
    follows = word.text[last : last + 1]
    name = f"${{{secret.variable}}}" if follows.isalnum() or follows == "_" else f"${secret.variable}"
    quotes = set(word.quotes[first:last])
    if len(quotes) > 1:
        if word.open:
            raise CommandError(f"quotes open and close within a secret (column {word.start + 1})")
        return Edit(word.start, word.end, f'"{encode(word.text[:first], _D)}{name}{encode(word.text[last:], _D)}"')
    quote = quotes.pop()
    start, end = word.spans[first][0], word.spans[last - 1][1]
    if quote[0] == _D:
        return Edit(start, end, name)
    if not quote[0]:
        return Edit(start, end, f'"{name}"')
    if quote not in (*word.quotes[:first], *word.quotes[last:]):  # all of what is quoted: its quotes go too
        return Edit(start - len(quote[0]), end + 1, f'"{name}"')
    return Edit(start, end, f'\'"{name}"{quote[0]}')


_D = '"'


def _in_text(found: re.Match[str]) -> str:
    if found["json"] is not None:
        return (
            found[0].replace(found["inside"], "MASKED") if names_a_secret(found["key"], found["inside"]) else found[0]
        )
    kind = found.lastgroup or "token"
    return found[0].replace(found[kind], "$HF_TOKEN" if found[0].startswith("hf_") else f"${_VARIABLES[kind]}")
