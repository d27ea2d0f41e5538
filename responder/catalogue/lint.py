"""What is wrong with a rule beyond its form.  All problems at once, each with file and line."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import InvalidVersion, Version

from responder.catalogue.conditions import ConditionError, check, evaluate
from responder.catalogue.load import Catalogue
from responder.catalogue.problem import Problem, find_line, shown
from responder.catalogue.rule import LoadedRule, Rule

LEAST_LITERAL = 6
"""Bytes of unbroken literal text a pattern must hold: without, it costs time on every line and fires on chance."""

_REPEATED_GROUP = re.compile(r"\((?:\?:|\?P<\w+>)?((?:\\.|[^()\\])*)\)[+*]")
_QUANTIFIED = re.compile(r"(?:\\.|\[(?:\\.|[^\]\\])*\]|[^\\])(?:[+*?]|\{[\d,]+\})\??")
_NEGATED_CLASS = re.compile(r"(?<!\\)\[\^((?:\\.|[^\]\\])*)\]")
_SAME_ON_BOTH = re.compile(r"\(\?[=!<>]|\(\?P=|\\[1-9]|[*+?}]\+")
_PREFIXED = re.compile(r"^--[a-z0-9][a-z0-9-]*$")


def lint(catalogue: Catalogue) -> list[Problem]:
    """Every problem of every rule, sorted by file and line."""
    problems = list(catalogue.problems)
    for entry in catalogue.loaded:
        problems += _Lint(entry).problems()
    problems += _duplicates(catalogue)
    return sorted(problems)


class _Lint:
    """The checks of one rule."""

    def __init__(self, entry: LoadedRule) -> None:
        self.rule: Rule = entry.rule
        self.path: Path = entry.path
        self.text = entry.path.read_text(encoding="utf-8")

    def problems(self) -> Iterator[Problem]:
        yield from self._names()
        yield from self._unfinished()
        yield from self._patterns()
        yield from self._conditions()
        yield from self._versions()
        yield from self._role()
        yield from self._remedies()
        yield from self._samples()

    def _at(self, message: str, *needles: str) -> Problem:
        return Problem(path=shown(self.path), line=find_line(self.text, *needles), message=message)

    def _names(self) -> Iterator[Problem]:
        if self.path.stem != self.rule.id:
            yield self._at(
                f"the file is called `{self.path.name}` but the id is `{self.rule.id}`; they must agree", "id "
            )
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.rule.id):
            yield self._at(f"the id `{self.rule.id}` is not kebab-case", "id ")
        if self.path.parent.name != self.rule.kind and self.path.parents[1].name == "rules":
            yield self._at(f"a rule of kind `{self.rule.kind}` lies in `{self.path.parent.name}/`", "kind ")
        if len(self.rule.title) > 100:
            yield self._at(f"the title has {len(self.rule.title)} characters; at most 100", "title ")

    def _unfinished(self) -> Iterator[Problem]:
        """A draft says TODO where a person has to decide."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if "TODO" in line:
                yield Problem(path=shown(self.path), line=number, message="still a draft: decide what stands at TODO")

    def _patterns(self) -> Iterator[Problem]:
        every = [*self.rule.patterns, *self.rule.frames, *(near.pattern for near in self.rule.near)]
        for pattern in every:
            first = pattern[:40]
            try:
                re.compile(pattern)
            except re.error as error:
                yield self._at(f"the pattern does not compile: {error}: {pattern!r}", first)
                continue
            if _SAME_ON_BOTH.search(pattern):
                yield self._at(
                    f"lookaround, backreferences, atomic groups and possessive quantifiers are not read alike by both "
                    f"engines: {pattern!r}",
                    first,
                )
            if any(_takes_forever(group) for group in _REPEATED_GROUP.findall(pattern)):
                yield self._at(f"a quantifier inside a quantified group can take forever: {pattern!r}", first)
            if any("\\n" not in inside for inside in _NEGATED_CLASS.findall(pattern)):
                yield self._at(f"a negated class crosses lines; add \\n to it: {pattern!r}", first)
            if longest_literal(pattern) < LEAST_LITERAL:
                yield self._at(f"no literal text of {LEAST_LITERAL} characters in a row: {pattern!r}", first)

    def _conditions(self) -> Iterator[Problem]:
        conditions = [("refused_when", self.rule.refused_when), ("escalate_when", self.rule.escalate_when)]
        conditions += [("when", remedy.when) for remedy in self.rule.remedy]
        for remedy in self.rule.remedy:
            values = [*remedy.set.values(), *remedy.env.values()]
            conditions += [("set", v[1:]) for v in values if isinstance(v, str) and v.startswith("=")]
        for name, condition in conditions:
            if condition is None:
                continue
            try:
                check(condition)
            except ConditionError as error:
                yield self._at(f"`{name}`: {error}", condition[:40])
                continue
            if name == "when" and evaluate(condition, {}) is False:
                yield self._at("this `when` can never hold", condition[:40])

    def _versions(self) -> Iterator[Problem]:
        ranges = [(self.rule.since, self.rule.until)]
        ranges += [(remedy.since, remedy.until) for remedy in self.rule.remedy]
        ranges += [(origin.since, origin.until) for origin in self.rule.origin]
        for since, until in ranges:
            try:
                bounds = [Version(v) for v in (since, until) if v is not None]
            except InvalidVersion as error:
                yield self._at(f"not a release: {error}", str(since), str(until))
                continue
            if len(bounds) == 2 and bounds[0] > bounds[1]:
                yield self._at(f"since {since} is after until {until}", str(until))

    def _role(self) -> Iterator[Problem]:
        rule = self.rule
        if not rule.patterns and rule.event is None:
            yield self._at("neither `patterns` nor an `event`: the rule can never fire", "id ")
        if rule.role == "marker" and rule.enters is None:
            yield self._at("a marker must say which phase it `enters`", "role ")
        if rule.role != "marker" and (rule.enters is not None or rule.launch):
            yield self._at("`enters` and `launch` belong to markers", "enters", "launch")
        if rule.role in ("cause", "symptom") and not rule.cause.strip():
            yield self._at(f"a {rule.role} must explain itself in `cause`", "role ")
        if rule.escalate_when is not None and rule.role != "noise":
            yield self._at("`escalate_when` belongs to noise", "escalate_when")

    def _remedies(self) -> Iterator[Problem]:
        if self.rule.remedy and self.rule.remedy[0].confidence == "possible" and len(self.rule.remedy) > 1:
            yield self._at("a remedy that is only `possible` must not stand first", "possible")
        for remedy in self.rule.remedy:
            for flag in (*remedy.set, *remedy.unset):
                if not _PREFIXED.match(flag):
                    yield self._at(f"`{flag}` is not spelled like a flag (--like-this)", flag)
            if not (remedy.set or remedy.unset or remedy.env or remedy.unset_env or remedy.steps):
                yield self._at(f"the remedy `{remedy.title}` changes nothing and has no steps", remedy.title[:40])

    def _samples(self) -> Iterator[Problem]:
        if self.rule.patterns and not any(sample.matches for sample in self.rule.sample):
            yield self._at("no sample that matches", "[[sample]]")
        if self.rule.patterns and self.rule.role == "cause" and all(sample.matches for sample in self.rule.sample):
            yield self._at("no near miss: add a sample with `matches = false`", "[[sample]]")


def _duplicates(catalogue: Catalogue) -> Iterable[Problem]:
    titles: dict[str, LoadedRule] = {}
    for entry in catalogue.loaded:
        other = titles.setdefault(entry.rule.title, entry)
        if other is not entry:
            text = entry.path.read_text(encoding="utf-8")
            message = f"the title `{entry.rule.title}` is also that of {shown(other.path)}"
            yield Problem(path=shown(entry.path), line=find_line(text, "title "), message=message)


def _takes_forever(group: str) -> bool:
    """Whether a repeated group can split the same text in many ways: nothing fixed in it, or a wildcard."""
    return any(c in group for c in "+*") and (not _QUANTIFIED.sub("", group) or ".*" in group or ".+" in group)


def longest_literal(pattern: str) -> int:
    """The longest run of plain characters in a pattern, groups and alternatives taken apart."""
    plain = re.sub(r"\\([^\w\s]|[_ ])", "x", pattern)
    plain = re.sub(r"\[[^\]]*\]|\(\?P<\w+>|\(\?:|\\\w|\{[\d,]*\}", "\0", plain)
    # A quantified character may be absent.
    plain = re.sub(r".[*?]", "\0", plain)
    return max((len(run) for run in re.split(r"[\0.^$()|+*?]", plain)), default=0)
