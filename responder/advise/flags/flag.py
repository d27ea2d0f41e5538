"""A flag of sglang as one release's argparse knows it."""

from typing import Any, Literal

import msgspec

Action = Literal["store", "true", "switch", "const", "refused", "ignored", "append"]
"""What a flag does with its dest: `store` its value, become `true`, `switch` (`--x` and `--no-x`), store a fixed value
(`const`); a retired one is `refused` at once or `ignored` with a warning."""


class Flag(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One flag in one release (or, in the table's file, in a run of releases that agree on it)."""

    names: tuple[str, ...]
    """Every spelling, `--no-…` of a switch excepted; the first is the name sglang's own documents use."""
    dest: str
    """The field of sglang's ServerArgs that it sets; the key of `args` and `typed` in a rule's conditions."""
    action: Action = "store"
    type: str = "str"
    """`int`, `float`, `str`, `bool`, `json`, `json_list`, `graph` (the mapping of --cuda-graph-config),
    `graph_backend` (one that was removed is refused), `size` (`4k`, `1Mi` allowed), `nullable` (`None` allowed) or
    sglang's own name."""
    nargs: Literal["+", "*", "?"] | None = None
    choices: tuple[str | int, ...] | None = None
    default: Any = None
    computed: bool = False
    """The default is known only to the running code."""
    const: Any = None
    """What a `const` flag stores, or a `?` flag without a value."""
    required: bool = False
    instead: str | None = None
    """Of a deprecated or retired flag: what sglang tells the operator to use."""

    @property
    def name(self) -> str:
        """The first spelling."""
        return self.names[0]

    @property
    def options(self) -> tuple[str, ...]:
        """Every option string argparse registers for it."""
        if self.action != "switch":
            return self.names
        return self.names + tuple(f"--no-{name[2:]}" for name in self.names if name.startswith("--"))

    @property
    def takes_value(self) -> bool:
        """Whether an argument may follow it."""
        return self.action in ("store", "append") or (self.action in ("const", "refused", "ignored") and self.valued)

    valued: bool = False
    """A retired flag that still wants a value."""
