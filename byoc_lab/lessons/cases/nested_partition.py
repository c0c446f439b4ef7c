"""The case of a nested partition: a region without a begin on the value from the region before."""

from __future__ import annotations

from itertools import pairwise

from byoc_lab import relay
from byoc_lab.errors import FreeVariableError
from byoc_lab.lessons.cases.base import LiveCase, Symptom
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Call, Expr, Function, Var
from byoc_lab.relay.ir.expr_functor import ExprMutator
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.typing.infer import infer_module

CHANNELS = 16


class NestedPartition(LiveCase):
    """A chain of conv2d, batch norm and relu blocks, annotated by hand with one begin too few.

    The author's annotator walks back from each relu, and puts begins on the inputs of the block and
    an end on the relu. Its first version puts begins only on variables, and so misses the result of
    the block before: this value leaves its region through an end, but enters the next region
    without a begin. PartitionGraph of January 2020 nests the first region inside the second;
    today's PartitionGraph ends with free variables. The fix is a begin on every input of a conv2d.
    """

    name = "nested-partition"
    title = "One region is nested inside another"
    reference = 'TVM forum, "[External codegen] A possible bug in partitioning", January 2020'
    link = "https://discuss.tvm.apache.org"
    era = '01/2020 (`era="2020-01"`); 0.16 raises an error'
    fix = "Put a begin on every value that enters a region, variables or not."
    cause = "BYL001"
    codes = ("BYL001",)

    def plain(self) -> IRModule:
        return network(size=16)

    def module(self) -> IRModule:
        return annotate(self.plain(), begins_on_conv_data=False)

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph(era="2020-01")(mod)
        functions = functions_inside(partitioned["main"])
        for inner, outer in pairwise(functions):
            if inner in functions_inside(outer):
                names = [f.attrs["ExternalSymbol"] for f in (inner, outer)]
                return Symptom(
                    f"region {names[0]} is nested inside region {names[1]}",
                    partitioned,
                    _refusal(mod),
                )
        return None

    def fixed(self) -> IRModule:
        return annotate(self.plain())


def _refusal(mod: IRModule) -> FreeVariableError | None:
    """The error of today's PartitionGraph for the module; None if it succeeds."""
    try:
        PartitionGraph()(mod)
    except FreeVariableError as error:
        return error
    return None


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
    """`mod` with every block between begins and an end.

    begins_on_conv_data=False puts begins only on variables, and so misses a conv2d's data if that
    is the result of the block before.
    """
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
    return [n for n in relay.ir.visit.post_order(func) if isinstance(n, Function) and n is not func]
