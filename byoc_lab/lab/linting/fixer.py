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

    params: values of parameters of @main, by name (arrays). Where something is wrong, they are
        bound first: a multiply that waits for a weight can be folded only then.
    pipeline, backend: as for `lint`. The rules that need them find, and repair, nothing without
        them: give `fix` the arguments with which `lint` reported the findings.

    The result is false where nothing was repaired, either because nothing is wrong or because no
    repair could be proved; `left` has what is still wrong. A repair is offered only if the linter
    finds nothing afterwards, PartitionGraph accepts the module with and without
    MergeCompilerRegions, and the module without its annotations is structurally equal to what it
    was, or, where operators changed, computes the same numbers. Where one finding has no repair,
    `finding.fix` still has those of the others.

    Of a module of Relax it repairs variables that two functions bind (BYR006), composites that are
    in no function with the attribute Codegen (BYR001), and, given the values and the back end,
    parameters where a pattern wants constants (BYR004); `after` is a module of TVM.

    Hints (findings of severity "info") are not repaired; the result names them.

    Raises ArgumentError if `mod` is not a module, or if @main has no parameters of these names, and
    for a pipeline or back end what `lint` raises.
    """
    return language_of(mod, "fix").fix(params, pipeline, backend)
