"""CombineParallelConv2D: merges 2d convolutions of the same data into one."""

from __future__ import annotations

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
from byoc_lab.relay.ir.expr import Call, Expr, Op

PLAIN = 4  # axis letters of a layout without blocks


class CombineParallelConv2D(CombineParallel):
    """Merges 2d convolutions of the same data into one with all their channels.

    The convolutions have the same attributes and window; the number of channels may differ.
    Unchanged: grouped convolutions, and blocked layouts (which TVM also combines).

    Source: src/relay/transforms/combine_parallel_conv2d.cc of TVM 0.16.
    """

    def combiner(self) -> Combiner:
        return _Convolutions()


class _Convolutions(Combiner):
    op = "nn.conv2d"

    def supports(self, call: Call) -> bool:
        attrs = call.attrs
        layouts = attrs.data_layout, attrs.kernel_layout, attrs.out_layout
        return attrs.groups == 1 and all(len(name) in (0, PLAIN) for name in layouts)

    def fit(self, a: Call, b: Call) -> bool:
        own = ("channels", "kernel_size")
        names = (name for name in a.attrs if name not in own)
        return all(a.attrs[name] == b.attrs[name] for name in names) and all(
            _of_weight(a, axis) == _of_weight(b, axis) for axis in "HW"
        )

    def combined(self, calls: list[Call], new: New) -> Expr:
        first = calls[0]
        axis = first.attrs.kernel_layout.index("O")
        weight = concatenated([new(call.args[1]) for call in calls], axis)
        attrs = first.attrs.replace(channels=sum(_of_weight(call, "O") for call in calls))
        return Call(Op.get(self.op), [new(first.args[0]), weight], attrs)

    def arguments_fit(self, first: Call, a: Call, b: Call, index: int) -> bool:
        x, y = a.args[index], b.args[index]
        if dtype_of(x) != dtype_of(y) or len(shape_of(x)) != len(shape_of(y)):
            return False
        channel = _channel(first)
        axis = channel - len(shape_of(a)) + len(shape_of(x))
        if axis < 0:
            return False
        if any(shape_of(arg)[axis] != shape_of(call)[channel] for arg, call in ((x, a), (y, b))):
            return False
        pairs = enumerate(zip(shape_of(x), shape_of(y), strict=True))
        return all(m == n for i, (m, n) in pairs if i != axis)

    def argument(self, first: Call, calls: list[Call], index: int, parent: int, new: New) -> Expr:
        rank = len(shape_of(calls[0].args[index]))
        axis = _channel(first) - len(shape_of(calls[0])) + rank
        return concatenated([new(call.args[index]) for call in calls], axis)

    def parts(self, whole: Expr, branches: Group) -> list[Expr]:
        axis = _channel(branches[0][0])
        lengths = [_of_weight(branch[0], "O") for branch in branches]
        return cut(whole, axis, lengths, rank=axis + 1)


def _of_weight(conv: Call, axis: str) -> int:
    """The size of an axis of the weight."""
    return shape_of(conv.args[1])[conv.attrs.kernel_layout.index(axis)]


def _channel(conv: Call) -> int:
    """The axis of the channels in the result."""
    return (conv.attrs.out_layout or conv.attrs.data_layout).index("C")
