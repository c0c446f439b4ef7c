"""`relay.transform.recast`: operators made to compute in another dtype, for measuring their time.

Source: python/tvm/relay/transform/recast.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.compat.analysis import count_layers
from byoc_lab.relay import cast
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.visit import rebuild


def recast(
    expr: Expr | IRModule,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] = ("nn.conv2d",),
    skip_layers: Sequence[int] = (),
) -> Any:
    """An expression, or a module's @main, in which the arguments of `ops` are cast to `dtype`.

    Operators that have an `out_dtype` give this one; what they give is cast back to what it was.
    Values are cast without a scale, so the numbers mean little. skip_layers: calls to leave alone,
    counted from the inputs, or with negative numbers from the output.
    """
    if isinstance(expr, IRModule):
        return IRModule.from_expr(recast(expr["main"], dtype, out_dtype, ops, skip_layers))
    count = count_layers(expr, list(ops))
    skipped = {n % count if n < 0 and count else n for n in skip_layers}
    above = _above(expr, ops)

    def rewrite(pre: Any, post: Any) -> Expr:
        if not isinstance(pre, Call) or pre.op_name not in ops or count - above[pre] - 1 in skipped:
            return post
        args = [cast(arg, dtype) for arg in post.args]
        attrs, before = pre.attrs, None
        if attrs is not None and "out_dtype" in attrs:
            attrs, before = attrs.replace(out_dtype=out_dtype), attrs["out_dtype"]
        return cast(Call(post.op, args, attrs), before or _dtype_of(pre))

    return rebuild(expr, rewrite)


def _above(root: Expr, ops: Sequence[str]) -> dict[Expr, int]:
    """How many calls of `ops` a node was met below, depth first.

    As in TVM, only the first argument of such a call counts as below it.
    """
    found: dict[Expr, int] = {}
    todo = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        if node in found:
            continue
        found[node] = depth
        parts = [(part, depth) for part in node.parts()]
        if isinstance(node, Call) and node.op_name in ops:
            parts[:2] = [(part, depth + 1) for part, _ in parts[:2]]  # the operator, its data
        todo += reversed(parts)
    return found


def _dtype_of(call: Call) -> str:
    return infer_module(IRModule.from_expr(call))["main"].body.checked_type.dtype


__all__ = ["recast"]
