"""The modules and targets of `relay.build`, and the passes that TVM runs before operator fusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.compat.passes import (
    CanonicalizeCast,
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    EliminateCommonSubexpr,
    FastMath,
    FlattenAtrousConv,
)
from byoc_lab.compat.runtime.nd import kind_name
from byoc_lab.compat.runtime.region_target import RegionTarget
from byoc_lab.errors import BuildError
from byoc_lab.passes import (
    AlterOpLayout,
    CanonicalizeOps,
    FoldConstant,
    FoldScaleAxis,
    InferType,
    Legalize,
    Pass,
    RemoveUnusedFunctions,
    Sequential,
    SimplifyExpr,
    SimplifyInference,
    ToBasicBlockNormalForm,
)
from byoc_lab.passes.quantize.qnn_transform import Legalize as LegalizeQnn
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule

_TARGET_KINDS = ("llvm", "c")


def _default_passes() -> list[Pass]:
    """The passes that TVM 0.16 runs before FuseOps, in its order (src/relay/backend/utils.cc)."""
    return [
        RemoveUnusedFunctions(),
        ToBasicBlockNormalForm(),
        LegalizeQnn(),
        Legalize(),
        SimplifyInference(),
        EliminateCommonSubexpr(_is_cast_to_int32),
        CombineParallelConv2D(3),
        CombineParallelDense(3),
        CombineParallelBatchMatmul(3),
        FoldConstant(),
        FoldScaleAxis(),
        SimplifyExpr(),
        CanonicalizeCast(),
        CanonicalizeOps(),
        FlattenAtrousConv(),
        AlterOpLayout(),
        FastMath(),
        FoldConstant(),
    ]


def _is_cast_to_int32(expr: Expr) -> bool:
    """Whether an expression is a cast to int32. Such casts are not merged, so that each can be
    fused with its users."""
    if not isinstance(expr, Call) or not isinstance(expr.op, Op) or expr.op.name != "cast":
        return False
    return expr.attrs["dtype"] == "int32"


def optimize(
    mod: IRModule | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The module after TVM's optimizations, before operator fusion; and the remaining parameters:
    none.

    The passes are those of TVM's default pipeline; passes above the level of the active PassContext
    do not run. `build` does not use them: Relax has its own optimizations.
    """
    made = as_module(mod).copy()
    check_target(target)
    if params:
        made["main"] = bind_params_by_name(made["main"], params)
    return Sequential([InferType(), *_default_passes()], name="optimize")(made), {}


def as_module(program: Any) -> IRModule:
    """A module; a function or expression becomes the @main of a new one."""
    if isinstance(program, IRModule):
        return program
    if isinstance(program, Expr):
        return IRModule.from_expr(program)
    raise TypeError(f"expected an IRModule or a Relay function, found {type(program).__name__}")


def check_target(target: Any) -> None:
    """Raise BuildError for a target (a string, a Target, or a mapping of these) other than a
    CPU."""
    for one in targets_of(target):
        if one is None or isinstance(one, RegionTarget):
            continue
        if kind_name(one) not in _TARGET_KINDS:
            raise BuildError(f"byoc_lab compiles for this machine's CPU ('llvm'), found {one!r}")


def targets_of(target: Any) -> list[Any]:
    """The targets of a build: one target, a list, or the values of a mapping."""
    if isinstance(target, Mapping) and "kind" not in target:
        return list(target.values())
    return list(target) if isinstance(target, (list, tuple)) else [target]
