"""A user's back end in the style of user repositories: checks, mutators, custom operators and
annotation."""

import tvm
import tvm.relay.testing
from tvm import relay
from tvm.ir import Op
from tvm.ir.instrument import pass_instrument
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard
from tvm.relay.expr import Call, Var
from tvm.relay.expr_functor import ExprMutator, ExprVisitor
from tvm.relay.function import Function
from tvm.relay.op import op as _op
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table

_op.register("npu.mix", "Mixes two matrices.")
_op.get("npu.mix").set_num_inputs(2)
_op.get("npu.mix").add_argument("lhs", "Tensor", "The one.")
_op.get("npu.mix").add_argument("rhs", "Tensor", "The other.")
_op.get("npu.mix").add_type_rel("MixRel", lambda types, attrs: types[0])
_op.register_pattern("npu.mix", _op.OpPattern.OPAQUE)


def _supported(op_name, supported=True):
    @tvm.ir.register_op_attr(op_name, "target.npu")
    def _wrapper(expr):
        return supported

    return _wrapper


for name in ("add", "npu.mix"):
    _supported(name)


@tvm.ir.register_op_attr("nn.softmax", "target.npu")
def softmax(expr):
    assert isinstance(expr.args[0].checked_type, tvm.ir.TensorType)
    shape = [int(d) for d in expr.args[0].checked_type.shape]
    return int(expr.attrs.axis) == 1 and shape[0] > 1


def check_conv(extract):
    while extract.op.name != "nn.conv2d":
        extract = extract.args[0]
    attrs = extract.attrs
    return attrs.get_int("groups") == 1 and attrs.data_layout == "NCHW"


def conv_relu():
    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    return is_op("nn.relu")(conv.optional(lambda x: is_op("nn.bias_add")(x, is_constant())))


@register_pattern_table("npu")
def pattern_table():
    return [("npu.conv2d_relu", conv_relu(), check_conv)]


@transform.function_pass(opt_level=0)
class RemoveDropout:
    def transform_function(self, func, mod, ctx):
        class Remove(ExprMutator):
            def visit_tuple_getitem(self, op):
                new = super().visit_tuple_getitem(op)
                value = new.tuple_value
                return value.args[0] if value.op.name == "nn.dropout" else new

        return Remove().visit(func)


class LeakyAsMaximum(DFPatternCallback):
    def __init__(self):
        super().__init__(rewrite_once=True, require_type=True)
        self.x = wildcard()
        self.pattern = is_op("nn.leaky_relu")(self.x)

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        slope = relay.const(float(pre.attrs.alpha), x.checked_type.dtype)
        return relay.maximum(x, relay.multiply(x, slope))


class CountCalls(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.count = {}

    def visit_call(self, call):
        super().visit_call(call)
        op = call.op
        if isinstance(op, Op):
            name = op.name
        elif isinstance(op, Function):
            name = str(op.attrs["Composite"])
        else:
            name = "@" + op.name_hint
        self.count[name] = self.count.get(name, 0) + 1


@pass_instrument
class Names:
    def run_before_pass(self, mod, info):
        if info.name in ("RemoveDropout", "MergeComposite", "PartitionGraph"):
            print("before", info.name)


def network():
    x = relay.var("x", shape=(2, 3, 8, 8))
    w, b = relay.var("w", shape=(4, 3, 3, 3)), relay.var("b", shape=(4,))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, padding=(1, 1))
    y = relay.nn.relu(relay.nn.bias_add(y, b))
    y = relay.nn.dropout(y, 0.5)
    y = relay.nn.leaky_relu(y, alpha=0.25)
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    y = relay.Call(relay.op.get("npu.mix"), [y, relay.add(y, y)])
    return tvm.IRModule.from_expr(relay.nn.softmax(y, axis=1))


mod = transform.InferType()(network())
params = {
    p.name_hint: tvm.nd.array(tvm.relay.testing.rand("float32", *map(int, p.checked_type.shape)))
    for p in mod["main"].params
    if p.name_hint != "x"
}
mod["main"] = bind_params_by_name(mod["main"], params)
mod["main"] = rewrite(LeakyAsMaximum(), mod["main"])
seq = tvm.transform.Sequential(
    [
        RemoveDropout(),
        transform.MergeComposite(get_pattern_table("npu")),
        transform.AnnotateTarget(["npu"]),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
        transform.InferType(),
    ]
)
with tvm.transform.PassContext(opt_level=3, instruments=[Names()]):
    mod = seq(mod)
counter = CountCalls()
for gv, func in mod.functions.items():
    counter.visit(func)
    if func.attrs and "Compiler" in func.attrs:
        print(func.attrs["Compiler"], func.attrs["global_symbol"], gv.name_hint)
print(sorted(counter.count.items()))
assert isinstance(mod["main"].params[0], Var) and isinstance(mod["main"].body, Call)
back = relay.fromtext(mod.astext())
print(tvm.ir.structural_equal(back, mod), mod.script() == str(mod))
