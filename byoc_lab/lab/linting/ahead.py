"""The annotated module that the remaining passes of a pipeline will make."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.base import called
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def annotated_ahead(mod: IRModule, context: Context) -> IRModule | None:
    """The result of the passes up to the last AnnotateTarget, in the pipeline or else in that of
    the named back end; None without AnnotateTarget, or if one of the passes fails."""
    if mod not in context.ahead:
        passes = context.to_come.running[: _end(context, AnnotateTarget)]
        context.ahead[mod] = run_ahead(mod, passes)
    return context.ahead[mod]


def merged_ahead(mod: IRModule, context: Context) -> IRModule | None:
    """The result of the passes up to MergeCompilerRegions if it follows AnnotateTarget, else the
    result of `annotated_ahead`."""
    annotated = annotated_ahead(mod, context)
    if annotated is None:
        return None
    first, end = _end(context, AnnotateTarget), _end(context, MergeCompilerRegions)
    between = context.to_come.running[first:end]
    return run_ahead(annotated, between) if between else annotated


def _end(context: Context, kind: type[Pass]) -> int:
    """The number of passes up to the last pass of a class; 0 if there is none."""
    return max(
        (n for n, p in enumerate(context.to_come.running, 1) if isinstance(p, kind)), default=0
    )


def run_ahead(mod: IRModule, passes: Sequence[Pass]) -> IRModule | None:
    """The result of passes, each of which runs at its own level; None without passes, or if one of
    them fails."""
    if not passes:
        return None
    try:
        # a level that skips none of these passes
        with PassContext(opt_level=max(p.opt_level for p in passes)):
            return Sequential(passes)(mod)
    except ByocLabError:
        return None  # a run of the pipeline reports the error


def sources(ahead: Function, func: Function) -> dict[Call, Call]:
    """Maps calls of a function that a pipeline made to their origins in `func`, if both functions
    have equally many calls with the same operator and attributes. These are paired in order;
    composites may change the order."""
    made, before = _alike(ahead), _alike(func)
    in_order = not any(isinstance(n, Function) and n is not ahead for n in post_order(ahead))
    return {
        new: old
        for key, calls in made.items()
        if len(calls) == len(before.get(key, ())) and (in_order or len(calls) == 1)
        for new, old in zip(calls, before[key], strict=True)
    }


def _alike(func: Function) -> dict[tuple[str, str], list[Call]]:
    """The calls of a function, by operator and attributes."""
    found: dict[tuple[str, str], list[Call]] = {}
    for node in post_order(func):
        if isinstance(node, Call):
            found.setdefault((called(node), str(node.attrs)), []).append(node)
    return found
