"""CombineParallelDense: merges dense layers of the same data into one operator."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes.simplify.combine_parallel import (
    Branch,
    CombineParallel,
    Combiner,
    Group,
    New,
    axis_after,
    concatenated,
    cut,
    dtype_of,
    shape_of,
)
from byoc_lab.relay.ir.expr import Call, Expr, Op, Tuple, TupleGetItem

MATRIX = 2  # axes of data that can be stacked


class CombineParallelDense(CombineParallel):
    """Merges dense layers of the same data into one batch_matmul, or one dense layer.

    to_batch: layers of the same width are stacked, nn.dense(x, w1), nn.dense(x, w2) ->
    nn.batch_matmul(stack(x, x), stack(w1, w2)). Otherwise their weights are concatenated, and the
    widths may differ.

    Source: src/relay/transforms/combine_parallel_dense.cc and combine_parallel_op_batch.cc of TVM
    0.16. If TVM's result would be ill-typed (data with three axes; stacked scalar biases or
    nn.bias_add; followers that change the shape otherwise), the operators are unchanged. The axis
    of the units is tracked through the followers; TVM takes the last axis of the same size.
    """

    def __init__(self, min_num_branches: int = 3, to_batch: bool = True):
        super().__init__(min_num_branches)
        self.to_batch = to_batch

    def combiner(self) -> Combiner:
        return _ToBatch() if self.to_batch else _ToDense()


def _same_weights(a: Call, b: Call, axes: str) -> bool:
    """Whether the weights have equal sizes in the named axes, of "O" and "I"."""
    x, y = (dict(zip("OI", shape_of(call.args[1]), strict=True)) for call in (a, b))
    return all(x[axis] == y[axis] for axis in axes) and a.attrs.out_dtype == b.attrs.out_dtype


class _ToBatch(Combiner):
    op = "nn.dense"

    def supports(self, call: Call) -> bool:
        return len(shape_of(call.args[0])) == MATRIX

    def fit(self, a: Call, b: Call) -> bool:
        return _same_weights(a, b, "OI")

    def follows(self, branch: Branch) -> bool:
        """Axes counted from the front change their index in a stack."""
        before, call = branch[-2:]
        if call.is_op("expand_dims") or call.is_op("repeat"):
            return call.attrs.axis is not None and call.attrs.axis < 0
        if len(call.args) > 1 and len(shape_of(before)) > MATRIX:
            return False
        return len(shape_of(call)) == len(shape_of(before)) and not call.is_op("broadcast_to")

    def combined(self, calls: list[Call], new: New) -> Expr:
        data, weight = (
            relay.stack(Tuple([new(call.args[n]) for call in calls]), axis=0) for n in (0, 1)
        )
        return relay.nn.batch_matmul(data, weight, calls[0].attrs.out_dtype)

    def arguments_fit(self, first: Call, a: Call, b: Call, index: int) -> bool:
        x, y = a.args[index], b.args[index]
        same = dtype_of(x) == dtype_of(y) and shape_of(x) == shape_of(y)
        return same and 0 < len(shape_of(x)) <= MATRIX and not a.is_op("nn.bias_add")

    def argument(self, first: Call, calls: list[Call], index: int, parent: int, new: New) -> Expr:
        args = [new(call.args[index]) for call in calls]
        if len(shape_of(calls[0].args[index])) < MATRIX:
            args = [relay.expand_dims(arg, axis=0) for arg in args]
        return relay.stack(Tuple(args), axis=0)

    def parts(self, whole: Expr, branches: Group) -> list[Expr]:
        split = relay.split(whole, len(branches), 0).astuple()
        fields = [TupleGetItem(split, n) for n in range(len(branches))]
        return [relay.squeeze(field, axis=(0,)) for field in fields]


class _ToDense(Combiner):
    op = "nn.dense"

    def fit(self, a: Call, b: Call) -> bool:
        return _same_weights(a, b, "I")

    def follows(self, branch: Branch) -> bool:
        return self._units_of(branch) is not None

    def _units_of(self, branch: Branch) -> int | None:
        """The axis in the result of a branch that corresponds to the units of its layer."""
        return axis_after(branch, len(shape_of(branch[0])) - 1)

    def combined(self, calls: list[Call], new: New) -> Expr:
        weight = concatenated([new(call.args[1]) for call in calls], 0)
        attrs = calls[0].attrs.replace(units=sum(shape_of(call.args[1])[0] for call in calls))
        return Call(Op.get(self.op), [new(calls[0].args[0]), weight], attrs)

    def arguments_fit(self, first: Call, a: Call, b: Call, index: int) -> bool:
        x, y = shape_of(a.args[index]), shape_of(b.args[index])
        same = dtype_of(a.args[index]) == dtype_of(b.args[index]) and len(x) == len(y)
        return same and len(x) <= len(shape_of(a)) and x[:-1] == y[:-1]

    def argument(self, first: Call, calls: list[Call], index: int, parent: int, new: New) -> Expr:
        rank = len(shape_of(calls[0].args[index]))
        axis = max(rank - 1, 0)
        args = []
        for call in calls:
            arg, width = new(call.args[index]), shape_of(call.args[parent])[-1]
            if not rank:
                arg = relay.expand_dims(arg, axis=-1)
            if not rank or (width > 1 and shape_of(call.args[index])[-1] == 1):
                arg = relay.repeat(arg, repeats=width, axis=axis)
            args.append(arg)
        return concatenated(args, axis)

    def parts(self, whole: Expr, branches: Group) -> list[Expr]:
        axis = self._units_of(branches[0])
        assert axis is not None  # otherwise the last operator would not follow
        units = [shape_of(branch[0])[-1] for branch in branches]
        return cut(whole, axis, units, rank=len(shape_of(branches[0][-1])))
