"""`lint`: run every rule on a module and collect the findings."""

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
    """Find everything that is wrong with the annotations of `mod` at once, before partitioning.

    It works before annotation, between the passes and after them; the more it knows, the more it
    finds.

    mod: a module, or a function. A function may be malformed in ways that a module does not allow,
        for example have free variables.
    pipeline: the passes that are still to run on `mod`, as `trace` takes them. Rules then also
        report what these passes will trip over. A function of the user runs once, to see its
        passes.
    backend: the back end that gets the regions. Rules then also ask its patterns and predicates;
        without `pipeline`, they report the faults of the regions that its own pipeline will make.
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
    alone = pipeline is None and backend is None
    if alone and isinstance(mod, ForeignModule) and mod.source is None:  # saved with its findings
        return lint_foreign(mod, lambda: mod.findings, rules, ignore)
    return language_of(mod, "lint").lint(pipeline, backend, rules, ignore, region_numbers)
