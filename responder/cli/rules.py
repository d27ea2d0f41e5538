"""`responder rules`: the catalogue."""

import sys
from pathlib import Path

import click
import msgspec

from responder.catalogue import Catalogue, load_catalogue
from responder.catalogue.lint import lint
from responder.catalogue.load import read_rules, rule_files
from responder.cli.errors import Failure


@click.group()
def rules() -> None:
    """The catalogue of failures."""


@rules.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per rule, a line each.")
@click.option("--kind", help="Only rules of this kind.")
@click.option("--role", help="Only rules of this role: cause, symptom, noise, marker.")
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
@click.argument("path", required=False, type=click.Path(path_type=Path))
def test(path: Path | None) -> None:
    """Check the rules: form, patterns, conditions, remedies and samples.  All problems at once."""
    # Hyperscan is imported only where samples are scanned.
    from responder.scan.samples import check_samples

    catalogue, only = _catalogue_with(path)
    problems = [p for p in lint(catalogue) if only is None or _is_of(p.path, path)]
    problems += check_samples(catalogue, only=only)
    for problem in sorted(set(problems)):
        click.echo(str(problem))
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
