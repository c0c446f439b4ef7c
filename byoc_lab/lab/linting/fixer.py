"""`fix`: repairs of a module's annotations, each proved before it is offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.backends.registry import Backend
from byoc_lab.lab.language import language_of
from byoc_lab.lab.linting.context import Pipeline
from byoc_lab.lab.linting.finding import Fix
from byoc_lab.relay.ir.module import IRModule


def fix(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    *,
    pipeline: Pipeline | None = None,
    backend: str | Backend | None = None,
) -> Fix:
    """Repair the annotations of `mod`, as far as that can be proved.

    params: values of parameters of @main, by name (arrays). If there are findings, these are bound
    first, because a multiply on a weight can only be folded if the weight is constant. pipeline,
    backend: as for `lint`. Rules that need them find and repair nothing without them: give `fix`
    the arguments with which `lint` reported the findings.

    The result is false if nothing was repaired, either because nothing is wrong or because no
    repair could be proved; `left` has the remaining findings. A repair is offered only if the
    linter finds nothing afterwards and PartitionGraph accepts the module with and without
    MergeCompilerRegions. Moreover, without annotations the module must be structurally equal to the
    original or, if operators changed, compute the same numbers. If one finding has no repair, the
    other findings may still have one in `finding.fix`.

    In a Relax module it repairs variables that two functions bind (BYR006), composites outside of
    functions with the attribute Codegen (BYR001) and, if the values and the back end are given,
    parameters that a pattern needs as constants (BYR004); `after` is then a TVM module.

    Hints (findings of severity "info") are not repaired; the result names them.

    Raises ArgumentError if `mod` is not a module, or if @main has no parameters with these names,
    and the errors of `lint` for an invalid pipeline or back end.
    """
    return language_of(mod, "fix").fix(params, pipeline, backend)
