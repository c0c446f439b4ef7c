"""Case "nested partition": a chain annotated by hand with one `compiler_begin` missing.

This is the case of the TVM forum thread "[External codegen] A possible bug in partitioning"
(January 2020). `network` builds the chain of blocks of conv2d, batch norm and relu. `annotate` is
the annotator of the thread: it walks back from each relu, puts a begin on what enters the block and
an end on the relu. With `begins_on_conv_data=False` it puts begins on variables only, as the first
version in the thread did, and so omits the begin on the result of the block before.
"""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.ir.expr import Call, Expr, Function, Var
from byoc_lab.relay.ir.expr_functor import ExprMutator
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.typing.infer import infer_module

CHANNELS = 16


def network(blocks: int = 2, size: int = 224) -> IRModule:
    """A typed chain of `blocks` blocks on an image (1, 3, size, size); weights are parameters."""
    out: Expr = relay.var("data", shape=(1, 3, size, size))
    for n in range(1, blocks + 1):
        out = _block(f"layer{n}_", out)
    return infer_module(IRModule.from_expr(out))


def _block(prefix: str, data: Expr) -> Expr:
    weight = relay.var(f"{prefix}weight")
    statistics = [relay.var(f"{prefix}bn_{name}") for name in ("gamma", "beta", "mean", "var")]
    conv = relay.nn.conv2d(data, weight, channels=CHANNELS, kernel_size=(3, 3), padding=(1, 1))
    return relay.nn.relu(relay.nn.batch_norm(conv, *statistics)[0])


def annotate(mod: IRModule, begins_on_conv_data: bool = True, compiler: str = "dnnl") -> IRModule:
    """`mod` with every block annotated as a region; the module docstring explains the option."""
    out = mod.copy()
    annotator = _ConvBatchNormRelu(compiler, begins_on_conv_data)
    out["main"] = annotator.visit(mod["main"])
    return infer_module(out)


class _ConvBatchNormRelu(ExprMutator):
    """Puts begins on the values that enter a block, from its relu back to its conv2d."""

    def __init__(self, compiler: str, begins_on_conv_data: bool):
        super().__init__()
        self.compiler = compiler
        self.begins_on_conv_data = begins_on_conv_data
        self.inside = False

    def visit_call(self, call: Call) -> Expr:
        if call.is_op("nn.relu"):
            self.inside = True
            closed = compiler_end(self._with_begins(call), self.compiler)
            self.inside = False
            return closed
        if call.is_op("nn.conv2d") and self.inside:
            self.inside = False  # the operands belong to another block
            return self._with_begins(call)
        if call.is_op("nn.batch_norm") and self.inside:
            return self._with_begins(call)
        return super().visit_call(call)

    def _with_begins(self, call: Call) -> Call:
        args = []
        for arg in call.args:
            new = self.visit(arg)
            outside = call.is_op("nn.conv2d") and self.begins_on_conv_data
            if isinstance(new, Var) or outside:
                new = compiler_begin(new, self.compiler)
            args.append(new)
        return Call(call.op, args, call.attrs)


def functions_inside(func: Function) -> list[Function]:
    """The function literals inside `func`, innermost first."""
    return [n for n in post_order(func) if isinstance(n, Function) and n is not func]
