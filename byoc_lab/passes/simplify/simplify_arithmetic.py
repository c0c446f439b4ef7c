"""Simplifications of SimplifyExpr on arithmetic."""

from __future__ import annotations

from math import sqrt
from typing import Any

from byoc_lab.passes.simplify.simplify_shapes import NodeMap
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.patterns import DFPatternCallback, is_constant, is_op, wildcard


def call(name: str, *args: Expr) -> Call:
    return Call(Op.get(name), args)


def _computed(name: str, a: Any, b: Any) -> Constant:
    """The result of an operator on two constants, as a constant."""
    return Constant(evaluate_op(Op.get(name), None, [a.numpy(), b.numpy()]))


class SimplifyAdd(DFPatternCallback):
    """`add(%x, %x)` -> `multiply(%x, 2)`."""

    reason = "x + x is 2 * x"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.y = wildcard(), wildcard()
        self.pattern = is_op("add")(self.x, self.y)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        (x,), (y,) = node_map[self.x], node_map[self.y]
        return call("multiply", x, const(2, pre.checked_type.dtype)) if x is y else post


class SimplifyRSqrt(DFPatternCallback):
    """`divide(%x, sqrt(%y))` -> `multiply(%x, rsqrt(%y))`."""

    reason = "rsqrt replaces two operations by one"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.y = wildcard(), wildcard()
        self.pattern = is_op("divide")(self.x, is_op("sqrt")(self.y))

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        return call("multiply", node_map[self.x][0], call("rsqrt", node_map[self.y][0]))


class EliminateIdentity(DFPatternCallback):
    """`add(%x, 0)`, `multiply(%x, 1)`, `subtract(%x, 0)`, `divide(%x, 1)` -> `%x`, if the shape
    stays; the zeros and ones may also be calls of the operators of these names."""

    reason = "it does not change anything"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.const = wildcard(), is_constant()
        zeros = is_op("zeros")() | is_op("zeros_like")(wildcard()) | self.const
        ones = is_op("ones")() | is_op("ones_like")(wildcard()) | self.const
        added = is_op("add")(self.x, zeros) | is_op("multiply")(self.x, ones)
        taken = is_op("subtract")(self.x, zeros) | is_op("divide")(self.x, ones)
        self.pattern = added | taken

    def callback(self, pre: Any, post: Any, node_map: NodeMap) -> Expr:
        x = node_map[self.x][0]
        if self.const in node_map:
            value: Any = node_map[self.const][0]
            neutral = 0 if pre.op_name in ("add", "subtract") else 1
            if value.data.shape or value.numpy() != neutral:
                return post
        kept = pre.args[1 if post.args[1] is x else 0]
        return x if kept.checked_type == pre.checked_type else post


class SwitchAddMultiply(DFPatternCallback):
    """`(%x + c) * d` -> `%x * d + c * d`: moves a scale next to an operator that can take it over
    (FoldScaleAxis)."""

    reason = "FoldScaleAxis finds a scale that comes before the addition"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.c, self.d = wildcard(), is_constant(), is_constant()
        self.pattern = is_op("multiply")(is_op("add")(self.x, self.c), self.d)

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        (x,), (c,), (d,) = node_map[self.x], node_map[self.c], node_map[self.d]
        if isinstance(x, Constant):
            return post
        return call("add", call("multiply", x, d), _computed("multiply", c, d))


class SimplifyAdjacentMultiplyOrAdd(DFPatternCallback):
    """`(%x * c) * d` -> `%x * (c * d)`, and the same with additions."""

    reason = "the constants are merged into one"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.c, self.d = wildcard(), is_constant(), is_constant()
        multiply, add = is_op("multiply"), is_op("add")
        products = multiply(multiply(self.x, self.c), self.d)
        self.pattern = products | add(add(self.x, self.c), self.d)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        (x,), (c,), (d,) = node_map[self.x], node_map[self.c], node_map[self.d]
        if isinstance(x, Constant):
            return post
        return call(pre.op_name, x, _computed(pre.op_name, c, d))


class MergeScalesAndShifts(DFPatternCallback):
    """`(%x * a + b) * c + d` -> `%x * (a * c) + (b * c + d)`.

    Not in TVM, where `SwitchAddMultiply` and `SimplifyAdjacentMultiplyOrAdd` shorten a chain of
    such pairs by one pair per round; this rewrite halves the chain per round.
    """

    reason = "the scales are merged into one, and the shifts into one"

    def __init__(self) -> None:
        super().__init__()
        self.x, multiply, add = wildcard(), is_op("multiply"), is_op("add")
        self.constants = a, b, c, d = [is_constant() for _ in range(4)]
        self.pattern = add(multiply(add(multiply(self.x, a), b), c), d)

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        x = node_map[self.x][0]
        if isinstance(x, Constant):
            return post
        a, b, c, d = (node_map[constant][0] for constant in self.constants)
        shift = _computed("add", _computed("multiply", b, c), d)
        return call("add", call("multiply", x, _computed("multiply", a, c)), shift)


class SimplifyBinomial(DFPatternCallback):
    """`a*x*x + b*x*y + c*y*y` -> `a * (x + p*y) * (x + q*y)`, if p and q are real; for integer
    tensors, if p and q are integers. (TVM 0.16 truncates them to integers, which changes results.)
    """

    reason = "a product of two factors needs fewer operations"

    def __init__(self) -> None:
        super().__init__()
        self.x, self.y = x, y = wildcard(), wildcard()
        self.factors = a, b, c = is_constant(), is_constant(), is_constant()
        add, mul = is_op("add"), is_op("multiply")
        xx = mul(a, mul(x, x)) | mul(x, mul(a, x)) | mul(x, x)
        yy = mul(c, mul(y, y)) | mul(y, mul(c, y)) | mul(y, y)
        xy = mul(b, mul(x, y)) | mul(x, mul(b, y)) | mul(y, mul(b, x)) | mul(x, y)
        self.pattern = add(add(xy, xx), yy) | add(add(xy, yy), xx) | add(add(xx, yy), xy)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        dtype = pre.checked_type.dtype
        given: list[Any] = [node_map[f][0] if f in node_map else const(1.0) for f in self.factors]
        whole = dtype in ("int32", "int64")
        if (dtype not in ("float32", "float64") and not whole) or any(g.data.shape for g in given):
            return post
        (x,), (y,) = node_map[self.x], node_map[self.y]
        a, b, c = (float(g.numpy()) for g in given)
        if c == 1 and a > 1:
            x, y, a, c = y, x, c, a
        under_root = b * b - 4 * a * c
        if under_root < 0 or a == 0:
            return post
        p, q = ((b + s * sqrt(under_root)) / (2 * a) for s in (1, -1))
        if whole and not (p.is_integer() and q.is_integer()):
            return post
        first = call("add", x, call("multiply", y, const(p, dtype)))
        second = call("add", x, call("multiply", y, const(q, dtype)))
        product = call("multiply", first, first if under_root < 10e-5 else second)
        return call("multiply", const(a, dtype), product)
