"""The module that the rest of a pipeline will have annotated."""

from __future__ import annotations

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.framework.passes import PassContext, Sequential
from byoc_lab.relay.ir.module import IRModule


def annotated_ahead(mod: IRModule, context: Context) -> IRModule | None:
    """The result of the passes up to the last AnnotateTarget; None if the pipeline has none, or if
    one of the passes fails."""
    places = [n for n, p in enumerate(context.running) if isinstance(p, AnnotateTarget)]
    if not places:
        return None
    try:
        with PassContext(opt_level=context.opt_level):
            return Sequential(list(context.running[: places[-1] + 1]))(mod)
    except ByocLabError:
        return None  # a run of the pipeline reports the error
