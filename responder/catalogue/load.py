"""Read the rule files.

A rule that cannot be read is left out and reported; the rest still works.
Decoding some hundred TOML files takes longer than scanning a small log, so the decoded catalogue is cached.
"""

import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from responder import __version__
from responder.catalogue.cache import private_cache, read_cached, replace_cached
from responder.catalogue.problem import Problem, find_line, shown
from responder.catalogue.rule import LoadedRule, Near, Origin, RemedySpec, Rule, Sample
from responder.nouns import KINDS

_TABLES: dict[str, type[msgspec.Struct]] = {
    "remedy": RemedySpec,
    "sample": Sample,
    "near": Near,
    "origin": Origin,
}


class Catalogue(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The rules that could be read, in the order of their ids, and what was wrong with the others."""

    loaded: tuple[LoadedRule, ...] = ()
    problems: tuple[Problem, ...] = ()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, without its file."""
        return tuple(entry.rule for entry in self.loaded)

    @cached_property
    def by_id(self) -> dict[str, Rule]:
        """Rules by their id."""
        return {rule.id: rule for rule in self.rules}

    @cached_property
    def digest(self) -> str:
        """A hash of everything the rules say; two catalogues with one digest behave alike."""
        return hashlib.sha256(msgspec.msgpack.encode(self.rules)).hexdigest()[:16]

    def without(self, ids: Iterable[str], problems: Iterable[Problem] = ()) -> "Catalogue":
        """The same catalogue with some rules left out and the reasons added."""
        drop = set(ids)
        return Catalogue(
            loaded=tuple(entry for entry in self.loaded if entry.rule.id not in drop),
            problems=(*self.problems, *problems),
        )


def rules_root() -> Path:
    """The folder of the shipped rules: inside the installed package, else beside it in a checkout.

    Raises FileNotFoundError where neither exists, which means that the installation is broken.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "rules", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the rules are missing beside {package}; reinstall responder")


def load_catalogue(paths: Sequence[Path] | None = None, *, cache: Path | None = None) -> Catalogue:
    """Read the shipped rules and those under further `paths` (files or folders).

    `paths` None means the shipped rules alone; a rule in `paths` with a shipped id replaces it.
    `cache` is the folder for the decoded copy; None uses the user's cache folder, if it is private.
    """
    files = rule_files([rules_root(), *(paths or ())])
    key = _stat_key(files)
    store = private_cache(cache)
    cached = store / f"rules-{key}.msgpack" if store else None
    decoder = msgspec.msgpack.Decoder(Catalogue, dec_hook=_decode_path)
    known = read_cached(cached, decoder.decode) if cached is not None else None
    if known is not None:
        return known
    catalogue = read_rules(files)
    if cached is not None:
        replace_cached(cached, msgspec.msgpack.encode(catalogue, enc_hook=str))
    return catalogue


def rule_files(paths: Iterable[Path]) -> list[Path]:
    """Every `*.toml` under the given files and folders, folders in the order given, each sorted."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.toml")) if path.is_dir() else [path]
    return found


def read_rules(files: Iterable[Path]) -> Catalogue:
    """Decode rule files without a cache.  A later file replaces an earlier one of the same id."""
    entries: dict[str, LoadedRule] = {}
    problems: list[Problem] = []
    for path in files:
        rule, found = read_rule(path)
        problems += found
        if rule is None:
            continue
        before = entries.get(rule.id)
        if before is not None and before.path.parent == path.parent:
            message = f"the id `{rule.id}` is also that of {before.path.name}; ids are unique"
            problems.append(Problem(path=shown(path), line=1, message=message))
            continue
        entries[rule.id] = LoadedRule(rule=rule, path=path)
    return Catalogue(loaded=tuple(entries[key] for key in sorted(entries)), problems=tuple(problems))


def read_rule(path: Path) -> tuple[Rule | None, list[Problem]]:
    """Decode one file: the rule, or None and everything that is wrong with its form."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        return None, [Problem(path=shown(path), line=1, message=f"cannot be read: {reason}")]
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        return None, [Problem(path=shown(path), line=int(at[1]) if at else 1, message=f"not TOML: {error}")]
    problems = list(_unknown_keys(path, text, data))
    if problems:
        return None, problems
    try:
        rule = msgspec.convert(data, Rule)
    except msgspec.ValidationError as error:
        return None, [_validation_problem(path, text, str(error))]
    if rule.kind not in KINDS:
        near = difflib.get_close_matches(rule.kind, KINDS, 1)
        hint = f"; did you mean `{near[0]}`?" if near else f"; one of {', '.join(KINDS)}"
        message = f"unknown kind `{rule.kind}`{hint}"
        return None, [Problem(path=shown(path), line=find_line(text, "kind"), message=message)]
    return rule, []


def _unknown_keys(path: Path, text: str, data: dict[str, object]) -> Iterable[Problem]:
    yield from _unknown_in(path, text, data, Rule, "")
    for name, shape in _TABLES.items():
        tables = data.get(name, [])
        for table in tables if isinstance(tables, list) else []:
            if isinstance(table, dict):
                yield from _unknown_in(path, text, table, shape, f" in [[{name}]]")


def _unknown_in(
    path: Path, text: str, table: dict[str, object], shape: type[msgspec.Struct], place: str
) -> Iterable[Problem]:
    known = shape.__struct_encode_fields__
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(known)}"
            yield Problem(
                path=shown(path), line=find_line(text, f"{key} "), message=f"unknown key `{key}`{place}{hint}"
            )


def _validation_problem(path: Path, text: str, message: str) -> Problem:
    at = re.search(r" - at `\$(.*)`", message)
    keys = re.findall(r"\.([A-Za-z_]+)", at[1]) if at else []
    missing = re.search(r"missing required field `(\w+)`", message)
    line = 1 if missing and not keys else find_line(text, *(f"{key} =" for key in reversed(keys)), *keys)
    return Problem(path=shown(path), line=line, message=message.replace("`$", "`rule"))


def _stat_key(files: Sequence[Path]) -> str:
    digest = hashlib.sha256(__version__.encode())
    for path in files:
        try:
            stat = path.stat()
        except OSError:
            continue
        digest.update(f"{path}\0{stat.st_mtime_ns}\0{stat.st_size}\0".encode())
    # The shape of a decoded rule belongs to the key: a newer program must not read an older one's cache.
    digest.update(",".join(Rule.__struct_fields__ + RemedySpec.__struct_fields__).encode())
    return digest.hexdigest()[:24]


def _decode_path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind)
