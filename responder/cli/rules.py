"""`responder rules`: the catalogue."""

import difflib
import sys
from pathlib import Path

import click
import msgspec

from responder.catalogue import Catalogue, Rule, load_catalogue
from responder.catalogue.lint import lint
from responder.catalogue.load import read_rules, rule_files
from responder.cli.errors import Failure
from responder.nouns import KINDS
from responder.publish.inert import inert_line


@click.group()
def rules() -> None:
    """The catalogue of failures."""


@rules.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per rule, a line each.")
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND", help="Only rules of this kind.")
@click.option("--role", type=click.Choice(["cause", "symptom", "noise", "marker"]), help="Only rules of this role.")
def list_rules(as_json: bool, kind: str | None, role: str | None) -> None:
    """Every rule, with its patterns in the JSON form."""
    for rule in load_catalogue().rules:
        if (kind and rule.kind != kind) or (role and rule.role != role):
            continue
        if as_json:
            click.echo(msgspec.json.encode(rule).decode())
        else:
            click.echo(f"{rule.id:60} {rule.role:8} {rule.kind:18} {rule.title}")


@rules.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
def test(path: Path | None) -> None:
    """Check the rules: form, patterns, conditions, remedies and samples.  All problems at once."""
    # Hyperscan is imported only where samples are scanned.
    from responder.advise.rule_flags import unknown_flags
    from responder.scan.samples import check_samples

    catalogue, only = _catalogue_with(path)
    found = [*lint(catalogue), *unknown_flags(catalogue)]
    problems = [p for p in found if only is None or _is_of(p.path, path)]
    problems += check_samples(catalogue, only=only)
    for problem in sorted(set(problems)):
        click.echo(inert_line(str(problem)))
    count = len(catalogue.rules) if only is None else len(only)
    click.echo(f"{count} rules, {len(set(problems))} problems", err=True)
    sys.exit(1 if problems else 0)


def _catalogue_with(path: Path | None) -> tuple[Catalogue, set[str] | None]:
    """The shipped catalogue with the rules under `path` in it, and the ids of those."""
    if path is None:
        return load_catalogue(), None
    if not path.exists():
        raise Failure(f"{path}: no such file or folder")
    files = [found.resolve() for found in rule_files([path])]
    if not files:
        raise Failure(f"{path}: no rule files (*.toml) here")
    theirs = read_rules(files)
    shipped = {entry.path.resolve() for entry in load_catalogue().loaded}
    extra = [found for found in files if found not in shipped]
    whole = load_catalogue(extra)
    broken = {str(p) for p in whole.problems}
    problems = [p for p in theirs.problems if str(p) not in broken]
    return whole.without((), problems), {rule.id for rule in theirs.rules}


def _is_of(problem: str, path: Path | None) -> bool:
    return path is None or Path(problem).resolve().is_relative_to(path.resolve())


@rules.command()
@click.argument("rule_id", metavar="ID")
@click.option("--gpu", "gpu_spec", metavar="SPEC", help="Only the remedies that can hold on these GPUs.")
@click.option("--sglang", "version", metavar="VERSION", help="Only the remedies that this release can say.")
def show(rule_id: str, gpu_spec: str | None, version: str | None) -> None:
    """A rule's page: what it means, why it happens, what to do, a real sample."""
    from responder.cli.page import page

    known = load_catalogue().by_id
    rule = known.get(rule_id)
    if rule is None:
        near = difflib.get_close_matches(rule_id, known, 3)
        hint = f"; did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""
        raise Failure(f"no rule is called `{rule_id}`{hint}")
    for line in page(_narrowed(rule, gpu_spec, version)):
        click.echo(line)


def _narrowed(rule: Rule, gpu_spec: str | None, version: str | None) -> Rule:
    """The rule with the remedies that these GPUs and this release do not rule out."""
    if gpu_spec is None and version is None:
        return rule
    from responder.advise.facts import gpu_values
    from responder.advise.within import within
    from responder.catalogue.conditions import holds
    from responder.cli.options import checked_version, gpu_facts

    release = checked_version(version)
    facts = {"gpu": gpu_values(gpu_facts(gpu_spec), release)}
    kept = [
        remedy
        for remedy in rule.remedy
        if holds(remedy.when, facts) is not False
        and (release is None or within(release, remedy.since, remedy.until) is not False)
    ]
    return msgspec.structs.replace(rule, remedy=tuple(kept))


@rules.command()
@click.argument("line", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, readable=False), help="Write the draft to this file or folder."
)
def new(line: str | None, output: Path | None) -> None:
    """Draft a rule file from a log line (an argument, or standard input) for a person to finish."""
    from responder.catalogue.draft import draft
    from responder.publish.redact import redact_text

    text = sys.stdin.read() if line in (None, "-") else str(line)
    last = next((one for one in reversed(text.splitlines()) if one.strip()), "")
    if not last:
        raise Failure("no line to draft a rule from; give it as an argument or on standard input")
    name, content = draft(redact_text(last))
    _write_draft(name, content, output)


@rules.command("import")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, readable=False),
    help="The folder for the drafts; else they are printed.",
)
def import_(file: Path, output: Path | None) -> None:
    """Draft rule files from error records: one record, a list, or a {"record": ...} wrapper, as JSON."""
    from responder.catalogue.draft import RecordError, import_records

    try:
        drafts = import_records(file.read_text(encoding="utf-8"))
    except RecordError as error:
        raise Failure(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise Failure(f"{file}: not UTF-8 text") from None
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    for name, content in drafts:
        _write_draft(name, content, output)
    click.echo(f"{len(drafts)} drafts; what they advise is a claim: check it before it ships", err=True)


def _write_draft(name: str, content: str, output: Path | None) -> None:
    if output is None:
        click.echo(content, nl=False)
        return
    path = output / f"{name}.toml" if output.is_dir() or output.suffix != ".toml" else output
    if path.exists():
        raise Failure(f"{path}: already there; a draft overwrites nothing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None
    click.echo(str(path))


@rules.command()
def schema() -> None:
    """The JSON schema of a rule file, for editors (`rules/rule.schema.json`)."""
    click.echo(msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Rule)), indent=1).decode())
