"""`lint`: runs every rule on a module and collects the findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from byoc_lab.backends.registry import Backend
from byoc_lab.errors import PassError
from byoc_lab.lab.language import language_of
from byoc_lab.lab.linting.context import Pipeline
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.linting.foreign import lint_foreign
from byoc_lab.lab.linting.suppression import Ignored
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.foreign import ForeignModule, adopted
from byoc_lab.relay.ir.module import IRModule, module_hint


def lint(
    mod: IRModule | Function | Any,
    pipeline: Pipeline | None = None,
    backend: str | Backend | None = None,
    *,
    rules: Sequence[str] | None = None,
    ignore: Iterable[Ignored] = (),
    region_numbers: Numbers | None = None,
) -> Findings:
    """Find all faults in the annotations of `mod` at once, before partitioning.

    It also works before annotation, between the passes and after them; with more arguments it finds
    more.

    mod: a module, or a function. A function may be malformed in ways that a module does not allow,
        for example have free variables.
    pipeline: the passes still to run on `mod`, as for `trace`. Rules then also report problems that
    these passes will meet. A user's function runs once, to find its passes. backend: the back end
    that gets the regions. Rules then also use its patterns and predicates; without `pipeline`, they
    report faults of the regions that the back end's pipeline will create. rules: the codes or names
    of the rules to run; by default all.
    ignore: findings to leave out: codes or names of rules, nodes, spans, or lines "file:line". A
    comment `// byoc-lab: ignore BYL001` in the text from which `mod` was parsed has the same
    effect. region_numbers: for a module with earlier stages, such as one of a trace
    (`stage.numbering`): the numbers of regions, by begin annotation.

    A module of TVM's Relax is examined by separate rules, BYR001 to BYR013. With a pipeline or a
    back end, its passes are run, and the findings on the pattern table come from the trace.

    A module that is known only as text has one finding, which gives the reason.

    Raises UnknownNameError for an unknown rule, pipeline or back end, and ArgumentError and
    PassError for invalid arguments.
    """
    mod = adopted(mod)
    if isinstance(mod, Function):
        mod = IRModule.unchecked(mod)
    if not isinstance(mod, IRModule):
        raise PassError(
            f"lint expects an IRModule or a Function, found {type(mod).__name__}; "
            f"{module_hint(mod)}"
        )
    alone = pipeline is None and backend is None
    # a saved module contains its findings
    if alone and isinstance(mod, ForeignModule) and mod.source is None:
        return lint_foreign(mod, lambda: mod.findings, rules, ignore)
    return language_of(mod, "lint").lint(pipeline, backend, rules, ignore, region_numbers)
