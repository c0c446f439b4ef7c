"""Runs the rules on a module: findings with consequences grouped below causes, in text order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byoc_lab.lab.linting.base import LintRule
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines


def examine(mod: IRModule, rules: Sequence[LintRule], context: Context) -> list[Finding]:
    """All findings of the rules, each consequence below its cause; not in text order."""
    found: list[Finding] = []
    for gv, func in mod.functions.items():
        subject = Subject(func, gv.name_hint, mod, context)
        for rule in rules:
            found += rule.check(subject)
    for rule in rules:
        found += rule.check_module(mod, context)
    return grouped(found)


def grouped(found: list[Finding]) -> list[Finding]:
    """The findings that are not a consequence of another finding, with their consequences."""
    causes = [f for f in found if f.explains and f.covers]
    if not causes:
        return found
    below: dict[Finding, list[Finding]] = {}
    left: list[Finding] = []
    for finding in found:
        cause = next((c for c in causes if _explains(c, finding)), None)
        if cause is None:
            left.append(finding)
        else:
            below.setdefault(cause, []).append(finding)
    return [replace(f, consequences=tuple(below[f])) if f in below else f for f in left]


def _explains(cause: Finding, finding: Finding) -> bool:
    if finding is cause or finding.code not in cause.explains:
        return False
    return any(node in cause.covers for node in (finding.node, *finding.others))


def in_text_order(found: list[Finding], mod: IRModule) -> list[Finding]:
    """The findings with their lines, in the order of the printed module."""
    line_of: dict[Expr | None, tuple[int, str]] = {}
    for number, line in enumerate(print_lines(mod, show_meta_data=False, show_types=False)):
        if line.node is not None:
            line_of.setdefault(line.node, (number, line.text.strip()))
    end = len(line_of) + 1_000_000

    def place(f: Finding) -> tuple[int, str]:
        return line_of.get(f.node, (end, ""))

    def placed(f: Finding) -> Finding:
        below = sorted(f.consequences, key=lambda c: place(c)[0])
        return replace(f, place=place(f)[1], consequences=tuple(placed(c) for c in below))

    return [placed(f) for f in sorted(found, key=lambda f: place(f)[0])]
