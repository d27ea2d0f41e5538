"""A system unit's settings, read from the files that systemd reads (systemd.unit(5)): fragment, drop-ins, templates."""

from collections.abc import Iterable, Iterator
from pathlib import Path

SEARCH_PATH = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
)
"""Folders of the system manager, the first wins."""

LIMIT = 1 << 20
"""Bytes of a unit file or an environment file; larger ones are something else."""

Settings = list[tuple[str, str]]
"""Of the [Service] section, in the order in which they are assigned."""


def unit_name(name: str) -> str:
    """The name as systemd would complete it: `sglang` is `sglang.service`."""
    return name if name.rpartition(".")[2] in ("service", "scope", "slice", "socket", "timer") else f"{name}.service"


def fragment_of(unit: str, root: Path) -> Path | None:
    """The unit's own file; a template's for an instance that has none.  None where there is none or it is masked."""
    for name in dict.fromkeys((unit, _template(unit))):
        for folder in SEARCH_PATH:
            path = root / folder / name
            if path.exists():
                return path if path.is_file() else None
    return None


def drop_ins_of(unit: str, root: Path) -> list[Path]:
    """The files that add to it, in the order in which they count."""
    found: dict[str, Path] = {}
    for name in _drop_in_names(unit):
        for folder in SEARCH_PATH:
            for path in (root / folder / f"{name}.d").glob("*.conf"):
                found.setdefault(path.name, path)
    return [found[name] for name in sorted(found) if found[name].is_file()]


def read_settings(paths: Iterable[Path]) -> Settings:
    """The [Service] settings of these files, one after the other.  Raises OSError for one that cannot be read."""
    return [setting for path in paths for setting in _service_section(read_small(path))]


def last_assigned(settings: Settings, key: str) -> list[str]:
    """The values of a setting that may be given more than once; an empty one forgets those before it."""
    values: list[str] = []
    for name, value in settings:
        if name == key:
            values = [*values, value] if value else []
    return values


def read_small(path: Path) -> str:
    """A settings file's text.  Raises OSError."""
    with path.open("rb") as file:
        return file.read(LIMIT).decode("utf-8", "replace")


def logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations joined and comments left out, those between continued lines included."""
    pending = ""
    for line in text.splitlines():
        if line.lstrip().startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        yield (pending + line).strip()
        pending = ""
    if pending.strip():
        yield pending.strip()


def _service_section(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line
        elif section == "[Service]" and "=" in line:
            key, _, value = line.partition("=")
            yield key.strip(), value.strip()


def _template(unit: str) -> str:
    name, _, suffix = unit.rpartition(".")
    return f"{name.partition('@')[0]}@.{suffix}" if "@" in name else unit


def _drop_in_names(unit: str) -> Iterator[str]:
    """Whose drop-ins count for a unit, the most special first: itself, its template, its prefixes, its type."""
    template = _template(unit)
    suffix = unit.rpartition(".")[2]
    yield unit
    if template != unit:
        yield template
    prefix = template.rpartition(".")[0].removesuffix("@")
    while "-" in prefix:
        prefix = prefix.rstrip("-").rpartition("-")[0]
        if prefix:
            yield f"{prefix}-.{suffix}"
    yield suffix
