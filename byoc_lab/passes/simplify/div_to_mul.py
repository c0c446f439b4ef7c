"""DivToMul: a quotient by a constant becomes a product with its inverse."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function
from byoc_lab.relay.ir.module import IRModule

FLOATS = ("float16", "float32", "float64")


class DivToMul(FunctionPass):
    """A quotient by a constant becomes a product with its inverse.

    divide(%x, 4f) -> multiply(%x, 0.25f)

    Integers and division by zero are not changed. Source: src/relay/transforms/div_to_mul.cc of TVM
    0.16, which inverts only the first number of a vector.
    """

    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, [to_product])


@rule("to product", "the inverse of a constant is a constant")
def to_product(pre: Expr, post: Expr) -> Expr | None:
    if not isinstance(post, Call) or not post.is_op("divide"):
        return None
    value, divisor = post.args
    if not isinstance(divisor, Constant) or divisor.data.dtype not in FLOATS:
        return None
    numbers = divisor.numpy()
    if not numbers.all():
        return None
    return relay.multiply(value, Constant((1 / numbers).astype(numbers.dtype)))
