"""The page of a rule in Markdown: what it reports, why, an example before and after, the source."""

from __future__ import annotations

import inspect

from byoc_lab.lab.linting.base import LintRule, Sample
from byoc_lab.lab.linting.discovery import all_rules
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.lab.linting.linter import lint
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse, parse_expr

HEAD = """# Lint rules

Every rule of `byoc_lab.lint`, generated from `byoc_lab/lab/linting/rules` by `make generate`.
`byoc-lab rule BYL001` prints one of these pages.

"""


def page(rule: LintRule) -> str:
    """The page of one rule."""
    sections = inspect.cleandoc(rule.__doc__ or "").partition("## References")
    bad = rule.INVALID[0]
    found = _findings(bad, rule)
    repair = found[0].fix if found else None
    parts = [
        f"## {rule.code} {rule.name}\n\nSeverity: {rule.severity}. "
        f"Fix: {'yes, proved before it is offered' if repair else 'by hand'}.\n",
        sections[0].replace("\n## ", "\n### ").strip(),
        f"\n### Example\n\nReported{_told(bad)}:\n\n```text\n{bad.text}\n```\n",
        *(f"> {line}" for line in str(found[0].message).splitlines()),
    ]
    if repair:
        good = repair.apply().astext(show_types=False, header=False).strip()
        parts.append(f"\nFixed: {'; '.join(repair.steps)}.\n\n```text\n{good}\n```")
    else:
        good_one = rule.VALID[0]
        parts.append(f"\nNot reported{_told(good_one)}:\n\n```text\n{good_one.text}\n```")
    parts.append(f"\n### References\n{sections[2].rstrip()}")
    return "\n".join(parts)


def _told(sample: Sample) -> str:
    """The arguments of `lint` for a sample other than the module, in words."""
    told = []
    if isinstance(sample.passes, str):
        told.append(f"the pipeline `{sample.passes}`")
    elif sample.passes is not None:
        told.append(f"the pipeline {', '.join(p.name for p in sample.passes)}")
    if sample.backend:
        told.append(f"the back end `{sample.backend}`")
    return f", with {' and '.join(told)}" if told else ""


def all_pages() -> str:
    """The file with the pages of all rules."""
    rules = all_rules()
    rows = "".join(f"| {r.code} | {r.name} | {r.severity} |\n" for r in rules)
    table = f"| Code | Name | Severity |\n|---|---|---|\n{rows}\n"
    return HEAD + table + "\n\n".join(map(page, rules)) + "\n"


def _findings(sample: Sample, rule: LintRule) -> list[Finding]:
    mod: IRModule | Function
    if sample.text.lstrip().startswith("fn"):
        expr = parse_expr(sample.text)
        assert isinstance(expr, Function)
        mod = expr
    else:
        mod = parse(sample.text)
    return lint(mod, sample.passes, sample.backend).by_code(rule.code)
