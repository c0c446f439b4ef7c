"""`lint`: run every rule on a module and collect the findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from byoc_lab.backends.registry import Backend
from byoc_lab.errors import ArgumentError, PassError
from byoc_lab.lab.linting.context import Pipeline, context_of
from byoc_lab.lab.linting.discovery import all_rules, chosen_rules
from byoc_lab.lab.linting.examine import examine, in_text_order
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.linting.fixing import prove
from byoc_lab.lab.linting.foreign import lint_foreign
from byoc_lab.lab.linting.suppression import Ignored, Suppressions
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.foreign import ForeignModule, adopted
from byoc_lab.relay.ir.module import IRModule, module_hint
from byoc_lab.relay.ir.unparsed import UnparsedModule

__all__ = ["UNPARSED", "Findings", "all_rules", "lint"]

UNPARSED = "BYT002"


def lint(
    mod: IRModule | Function | Any,
    pipeline: Pipeline | None = None,
    backend: str | Backend | None = None,
    *,
    rules: Sequence[str] | None = None,
    ignore: Iterable[Ignored] = (),
    region_numbers: Numbers | None = None,
) -> Findings:
    """Find everything that is wrong with the annotations of `mod` at once, before partitioning.

    It works before annotation, between the passes and after them; the more it knows, the more it
    finds.

    mod: a module, or a function. A function may be malformed in ways that a module does not allow,
        for example have free variables.
    pipeline: the passes that are still to run on `mod`: a name, a pass, or a list of passes and
        names of passes. Rules then also report what these passes will trip over.
    backend: the back end that gets the regions. Rules then also ask its patterns and predicates.
    rules: the codes or names of the rules to run; by default all.
    ignore: what not to report: codes or names of rules, nodes, spans, or lines "file:line". A
        comment `// byoc-lab: ignore BYL001` in the text that `mod` was parsed from counts too.
    region_numbers: of a module with a past, such as one of a trace (`stage.numbering`): the numbers
        of regions, by begin.

    A module of TVM's Relax is examined by rules of its own, BYR001 to BYR013. With a pipeline or a
    back end, its passes are run, and the findings on the pattern table are those of the trace.

    A module that is known as text only has one finding, which says why.

    Raises UnknownNameError for a rule, pipeline or back end that does not exist, and ArgumentError
    and PassError for arguments of a wrong kind.
    """
    mod = adopted(mod)
    if isinstance(mod, Function):
        mod = IRModule.unchecked(mod)
    if not isinstance(mod, IRModule):
        raise PassError(
            f"lint expects an IRModule or a Function, found {type(mod).__name__}; "
            f"{module_hint(mod)}"
        )
    if isinstance(mod, ForeignModule):
        return lint_foreign(mod, pipeline, backend, rules, ignore)
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
