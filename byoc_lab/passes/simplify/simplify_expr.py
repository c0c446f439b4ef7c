"""SimplifyExpr: replaces expressions by shorter equivalent ones."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.passes.simplify import simplify_arithmetic as arithmetic
from byoc_lab.passes.simplify import simplify_dtypes as dtypes
from byoc_lab.passes.simplify import simplify_shapes as shapes
from byoc_lab.relay.patterns import DFPatternCallback


class SimplifyExpr(PatternRewrite):
    """Replace expressions by shorter equivalent ones.

    Two dozen small rewrites take turns until none applies: `*_like` operators get explicit shapes
    and dtypes, neutral elements are removed, adjacent operators of one kind (reshapes, transposes,
    casts, additions or multiplications of constants) are merged. The rewrites are in three files:
    `simplify_shapes.py`, `simplify_dtypes.py` and `simplify_arithmetic.py`.

    Source: src/relay/transforms/simplify_expr.cc of TVM 0.16, which raises an error after 100
    rounds: in a chain of alternating multiplications and additions it merges one link per round, so
    a chain of 40 exceeds the limit. Here each round halves the chain.
    """

    replaces = tuple(
        f"{name}_like"
        for name in ("broadcast_to", "cast", "collapse_sum", "full", "ones", "reshape", "zeros")
    )

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return (
            *shapes.concretized(),
            dtypes.ConcretizeCastLike(),
            arithmetic.SimplifyAdd(),
            arithmetic.SimplifyRSqrt(),
            arithmetic.EliminateIdentity(),
            shapes.SimplifyReshape(),
            shapes.SimplifyTranspose(),
            shapes.SimplifyNoOpTranspose(),
            dtypes.SimplifySameCast(),
            dtypes.SimplifyConsecutiveCast(),
            shapes.FullElementwise(),
            arithmetic.MergeScalesAndShifts(),
            arithmetic.SwitchAddMultiply(),
            arithmetic.SimplifyAdjacentMultiplyOrAdd(),
            *map(dtypes.SimplifyDequantizedIndex, ("argmax", "argmin", "argsort")),
            dtypes.SimplifyClipAndConsecutiveCast(),
            dtypes.SimplifyClip(),
            arithmetic.SimplifyBinomial(),
        )


class SimplifyExprPostAlterOp(PatternRewrite):
    """Simplifies what AlterOpLayout leaves: identities, and neighbouring layout changes."""

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return (
            arithmetic.EliminateIdentity(),
            shapes.SimplifyReshape(),
            dtypes.SimplifySameCast(),
            dtypes.SimplifyConsecutiveCast(),
            dtypes.SimplifyClipAndConsecutiveCast(),
            dtypes.SimplifyClip(),
        )
