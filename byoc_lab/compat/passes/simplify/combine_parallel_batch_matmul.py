"""CombineParallelBatchMatmul: merges batched matrix products with the same left operand."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes.simplify.combine_parallel import (
    CombineParallel,
    Combiner,
    Group,
    New,
    concatenated,
    cut,
    dtype_of,
    shape_of,
)
from byoc_lab.relay.ir.expr import Call, Expr

BATCH = 3  # axes of an operand


class CombineParallelBatchMatmul(CombineParallel):
    """Merges batched matrix products with the same left operand.

    nn.batch_matmul(x, y1), nn.batch_matmul(x, y2) -> slices of nn.batch_matmul(x, y1 and y2), if
    the right operands are transposed, which is the default.

    Source: src/relay/transforms/combine_parallel_batch_matmul.cc of TVM 0.16. A follower is
    unchanged if TVM's result would be ill-typed (an operand whose width differs from the
    products').
    """

    def combiner(self) -> Combiner:
        return _Products()


class _Products(Combiner):
    op = "nn.batch_matmul"

    def supports(self, call: Call) -> bool:
        plain = not call.attrs.transpose_a and call.attrs.transpose_b
        return plain and len(shape_of(call.args[1])) == BATCH

    def fit(self, a: Call, b: Call) -> bool:
        same = dtype_of(a) == dtype_of(b) and dtype_of(a.args[1]) == dtype_of(b.args[1])
        return same and shape_of(a.args[1])[0] == shape_of(b.args[1])[0]

    def combined(self, calls: list[Call], new: New) -> Expr:
        first = calls[0]
        other = concatenated([new(call.args[1]) for call in calls], 1)
        return relay.nn.batch_matmul(new(first.args[0]), other, first.attrs.out_dtype)

    def arguments_fit(self, first: Call, a: Call, b: Call, index: int) -> bool:
        x, y = shape_of(a.args[index]), shape_of(b.args[index])
        whole = x[-1:] == shape_of(a)[-1:] and y[-1:] == shape_of(b)[-1:]
        return whole and len(x) == len(y) and x[:-1] == y[:-1]

    def argument(self, first: Call, calls: list[Call], index: int, parent: int, new: New) -> Expr:
        return concatenated([new(call.args[index]) for call in calls], -1)

    def parts(self, whole: Expr, branches: Group) -> list[Expr]:
        columns = [shape_of(branch[0].args[1])[1] for branch in branches]
        return cut(whole, -1, columns, rank=BATCH)
