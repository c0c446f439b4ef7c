"""A script that tries a back end, in the style of old TVM scripts; run by `python -m
byoc_lab.compat`."""

import sys

import numpy as np
import tvm
import tvm.testing
from tvm import relay, te
from tvm.contrib import graph_executor, utils
from tvm.relay import transform
from tvm.relay.dataflow_pattern import *
from tvm.relay.expr_functor import ExprMutator
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table


@tvm.ir.register_op_attr("nn.relu", "target.sample")
def relu_supported(expr):
    return True


@register_pattern_table("sample")
def table():
    return [("sample.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]


@transform.function_pass(opt_level=0)
class SwapAdds:
    def transform_function(self, func, mod, ctx):
        class Swap(ExprMutator):
            def visit_call(self, call):
                new = super().visit_call(call)
                return relay.add(*reversed(new.args)) if new.op.name == "add" else new

        return Swap().visit(func)


x = relay.var("x", shape=(4, 8))
y = relay.var("y", shape=(4, 8))
func = relay.Function([x, y], relay.exp(relay.nn.relu(x + y)))
mod = tvm.IRModule.from_expr(func)
with tvm.transform.PassContext(opt_level=3):
    mod = tvm.transform.Sequential(
        [
            transform.InferType(),
            SwapAdds(),
            transform.MergeComposite(get_pattern_table("sample")),
            transform.AnnotateTarget("sample"),
            transform.PartitionGraph(),
        ]
    )(mod)
print(mod)

xs, ys = (np.random.rand(4, 8).astype("float32") for _ in range(2))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(tvm.IRModule.from_expr(func), target=tvm.target.Target("llvm"))
folder = utils.tempdir()
path = folder.relpath("lib.so")
lib.export_library(path)
module = graph_executor.GraphModule(tvm.runtime.load_module(path)["default"](tvm.cpu(0)))
module.set_input("x", tvm.nd.array(xs))
module.set_input(1, ys)
module.run()
for kind in ("graph", "vm", "debug"):
    result = relay.create_executor(kind, tvm.IRModule.from_expr(func), tvm.cpu()).evaluate()(xs, ys)
    tvm.testing.assert_allclose(result.numpy(), np.exp(xs + ys), rtol=1e-5)
tvm.testing.assert_allclose(module.get_output(0).asnumpy(), np.exp(xs + ys), rtol=1e-5)

# Names of apache-tvm stay unchanged, including its own imports of `tvm`.
A = te.placeholder((4,), name="A")
tvm.compile(te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1, name="B")]), "llvm")
print("arguments:", sys.argv[1:])
