"""Drafts of rule files, for a person to finish: from a log line, or from an error record of another collection.

A draft passes no lint on purpose where a person has to decide; every such place says TODO.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from responder.nouns import KINDS

_LOG_PREFIX = re.compile(r"^\s*(?:\[\d{4}-\d\d-\d\d[^\]]*\]\s*)?")
_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit)): (?P<message>.+)$"
)
_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?|'[^'\n]*'|\"[^\"\n]*\"|(?:/[\w.@-]+){2,}")


class RecordError(ValueError):
    """A record that cannot be turned into a rule, and why, in one line."""


def draft(line: str) -> tuple[str, str]:
    """The id and the text of a rule file for one line of a log."""
    body = _LOG_PREFIX.sub("", line.strip())
    body = body.removeprefix("Scheduler hit an exception: ")
    named = _EXCEPTION.match(body)
    message = named["message"] if named else body
    name = slug(message)
    return name, _file(
        name,
        title=_sentence(message),
        kind=None,
        exception=named["type"].rpartition(".")[2] if named else None,
        patterns=[pattern_for(message)],
        cause="TODO: what it means and why it happens, in one or two sentences.",
        samples=[body],
        comments=[],
        references=[],
    )


def pattern_for(message: str) -> str:
    """A pattern for a message: its fixed words, with a wildcard for numbers, paths and quoted values."""
    parts, at = [], 0
    for variable in _VARIABLE.finditer(message):
        parts += [_escaped(message[at : variable.start()]), r"\d+" if variable[0].isdigit() else ".+"]
        at = variable.end()
    return "".join([*parts, _escaped(message[at:])])


def import_records(text: str) -> list[tuple[str, str]]:
    """The ids and texts of rule files for a JSON text: one record, a list, or a `{"record": ...}` wrapper.

    Raises RecordError where the text is no such JSON.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RecordError(f"not JSON: {error}") from None
    return [import_record(record) for record in _records(data)]


def import_record(record: Mapping[str, Any]) -> tuple[str, str]:
    """The id and the text of a rule file for one error record.

    What the record advises is a claim: it stands in comments, to be checked against the real sglang.
    Raises RecordError where the record holds no usable pattern.
    """
    pattern = record.get("messagePattern")
    message = record.get("errorMessage") or ""
    if not isinstance(pattern, str) or not pattern:
        if not isinstance(message, str) or not message:
            raise RecordError("the record has neither `messagePattern` nor `errorMessage`")
        pattern = pattern_for(message)
    try:
        re.compile(pattern)
    except re.error as error:
        raise RecordError(f"`messagePattern` is not a regular expression: {error}: {pattern!r}") from None
    name = slug(str(record.get("slug") or message or pattern))
    claims = [
        *_claims("documentation", record.get("documentation")),
        *_claims("triggered by", record.get("triggerScenarios")),
        *_claims("seen when", record.get("commonSituations")),
        *_claims("solution", record.get("solutions")),
        *_claims(
            "raised in", f"{record.get('filePath')}:{record.get('lineNumber')}" if record.get("filePath") else None
        ),
        *_claims("read at commit", record.get("analyzedSha")),
    ]
    kind = next((tag for tag in record.get("tags") or [] if tag in KINDS), None)
    return name, _file(
        name,
        title=_sentence(message or name.replace("-", " ")),
        kind=kind,
        exception=record.get("errorClass") or None,
        patterns=[pattern],
        cause="TODO: check the claims above against the code, then say in your own words what it means.",
        samples=[
            f"{record.get('errorClass') or 'ValueError'}: {message}" if message else "TODO: a line that sglang prints"
        ],
        comments=claims,
        references=[url for url in (record.get("githubUrl"),) if isinstance(url, str)],
    )


def slug(text: str) -> str:
    """A kebab-case id from a text: its first words, without numbers and quoted values."""
    words = re.findall(r"[a-z0-9]+", _VARIABLE.sub(" ", text).lower())
    kept = [word for word in words if word not in ("the", "a", "an", "is", "of", "to", "with", "and", "for")]
    return "-".join((kept or words or ["new", "rule"])[:8])


def _records(data: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(data, list):
        for item in data:
            yield from _records(item)
    elif isinstance(data, dict) and isinstance(data.get("record"), dict):
        yield data["record"]
    elif isinstance(data, dict) and isinstance(data.get("records"), list):
        yield from _records(data["records"])
    elif isinstance(data, dict):
        yield data
    else:
        raise RecordError(f"an error record is a JSON object, not {type(data).__name__}")


def _claims(label: str, value: Any) -> list[str]:
    if not value:
        return []
    texts = value if isinstance(value, list) else [value]
    return [f"claim ({label}): {' '.join(str(text).split())}" for text in texts]


def _file(
    name: str, *, title: str, kind: str | None, exception: str | None, patterns: list[str], cause: str,
    samples: list[str], comments: list[str], references: list[str],
) -> str:  # fmt: skip
    lines = ["#:schema ../rule.schema.json"]
    lines += [f"# {comment}" for comment in comments]
    lines += [
        f"id = {_basic(name)}",
        f"title = {_basic(title)}",
        f"kind = {_basic(kind or 'unrecognised')}" + ("" if kind else f"  # TODO: one of {', '.join(KINDS)}"),
        'role = "cause"',
        'severity = "critical"  # TODO: critical: the server is dead; error: serving is degraded; warning',
        'confidence = "likely"  # TODO: certain, once the text is checked in the source that prints it',
        'phase = "unknown"  # TODO',
    ]
    lines += [f"exception = {_basic(exception)}"] if exception else []
    lines += ["patterns = [", *(f"  {_literal(pattern)}," for pattern in patterns), "]"]
    lines += [f"cause = {_basic(cause)}"]
    lines += [f"references = [{', '.join(_basic(url) for url in references)}]"] if references else []
    lines += [
        "",
        "[[remedy]]",
        'title = "TODO: what to do, as an imperative"',
        'steps = ["TODO: or set = { \\"--flag\\" = \\"value\\" }, with when = ..."]',
    ]
    for sample in samples:
        lines += ["", "[[sample]]", f"text = {_literal(sample)}"]
    lines += ["", "[[sample]]", "matches = false", 'text = "TODO: a similar line that must not match"']
    return "\n".join(lines) + "\n"


def _sentence(message: str) -> str:
    first = " ".join(message.split())[:90].rstrip(" .:")
    return first[:1].upper() + first[1:]


def _escaped(text: str) -> str:
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _literal(text: str) -> str:
    return f"'''{text}'''" if "'''" not in text and "\n" not in text and not text.endswith("'") else _basic(text)
