"""A rule's page: what it means, why it happens, what to do, a real sample."""

from collections.abc import Iterator

from responder.catalogue import RemedySpec, Rule


def page(rule: Rule) -> Iterator[str]:
    """The lines of a rule's page."""
    yield rule.title
    yield "=" * len(rule.title)
    yield ""
    yield f"{rule.id} · {rule.kind} · {rule.role} · {rule.severity} · {rule.confidence}"
    if rule.since or rule.until:
        yield f"Printed by sglang {_range(rule.since, rule.until)}"
    for origin in rule.origin:
        package = "" if origin.package == "sglang" else f"{origin.package}: "
        where = f" in {origin.function}()" if origin.function else ""
        between = f" ({_range(origin.since, origin.until)})" if origin.since or origin.until else ""
        yield f"Raised from {package}{origin.file}{where}{between}"
    yield ""
    yield "What it means"
    yield f"  {_flat(rule.cause) or _meaning(rule)}"
    if rule.refused_when:
        yield ""
        yield "When sglang refuses"
        yield f"  {_flat(rule.refused_when)}"
    if rule.escalate_when:
        yield ""
        yield "When it stops being harmless"
        yield f"  {_flat(rule.escalate_when)}"
    if rule.remedy:
        yield ""
        yield "What to do"
        for number, remedy in enumerate(rule.remedy, 1):
            yield from _remedy(number, remedy)
    if rule.false_positives:
        yield ""
        yield "When it misleads"
        yield from (f"  {_flat(text)}" for text in rule.false_positives)
    sample = next((sample for sample in rule.sample if sample.matches), None)
    if sample is not None:
        yield ""
        yield "How it looks"
        yield from (f"  {line}" for line in sample.text.strip().splitlines())
    if rule.references:
        yield ""
        yield "References"
        yield from (f"  {url}" for url in rule.references)


def _remedy(number: int, remedy: RemedySpec) -> Iterator[str]:
    doubt = "" if remedy.confidence == "certain" else f" ({remedy.confidence})"
    yield f"  {number}. {remedy.title}{doubt}"
    if remedy.when:
        yield f"     when   {_flat(remedy.when)}"
    if remedy.since or remedy.until:
        yield f"     on     sglang {_range(remedy.since, remedy.until)}"
    for flag, value in remedy.set.items():
        yield f"     set    {flag}{'' if value is True else f' {value}'}"
    for flag in remedy.unset:
        yield f"     remove {flag}"
    for name, value in remedy.env.items():
        yield f"     env    {name}={value}"
    for name in remedy.unset_env:
        yield f"     env    unset {name}"
    for step in remedy.steps:
        yield f"     do     {_flat(step)}"
    if remedy.why:
        yield f"     why    {_flat(remedy.why)}"
    if remedy.next:
        yield f"     next   {_flat(remedy.next)}"


def _meaning(rule: Rule) -> str:
    if rule.role == "marker":
        return f"The launch has reached the phase `{rule.enters}`."
    return "Harmless." if rule.role == "noise" else ""


def _range(since: str | None, until: str | None) -> str:
    if since and until:
        return since if since == until else f"{since} to {until}"
    return f"{since} and later" if since else f"up to {until}"


def _flat(text: str) -> str:
    return " ".join(text.split())
