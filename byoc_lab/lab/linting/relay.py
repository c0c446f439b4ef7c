"""`lint` for Relay modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from byoc_lab.backends.registry import Backend
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.linting.context import Context, Pipeline, context_of
from byoc_lab.lab.linting.discovery import chosen_rules
from byoc_lab.lab.linting.examine import examine, in_text_order
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.linting.fixing import prove
from byoc_lab.lab.linting.suppression import Ignored, Suppressions
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule

UNPARSED = "BYT002"


def lint_relay(
    mod: IRModule,
    pipeline: Pipeline | Context | None = None,
    backend: str | Backend | None = None,
    rules: Sequence[str] | None = None,
    ignore: Iterable[Ignored] = (),
    region_numbers: Numbers | None = None,
) -> Findings:
    """Lints a Relay module."""
    chosen = chosen_rules(rules)
    if not isinstance(ignore, Iterable):
        raise ArgumentError(f"ignore must be a list, found {type(ignore).__name__}")
    if isinstance(mod, UnparsedModule):
        return Findings([_unparsed(mod)], mod)
    suppressed = Suppressions(ignore, mod)
    context = replace(context_of(pipeline, backend), region_numbers=region_numbers or {})
    found = examine(mod, chosen, context)
    kept = [f for f in found if f not in suppressed]
    placed = in_text_order(kept, mod) if kept else []
    proved = [replace(f, prove=partial(prove, mod, context)) for f in placed]
    return Findings(proved, mod, len(found) - len(kept))


def _unparsed(mod: UnparsedModule) -> Finding:
    return Finding(
        UNPARSED,
        "unparsed-module",
        Severity.WARNING,
        f"this module is shown as text and was not examined: {mod.reason}",
        "read the reason; a text of Relay that does not parse here can be edited and parsed with "
        "byoc_lab.relay.parse",
    )
