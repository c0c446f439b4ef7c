"""Makes mistakes with a real TVM 0.16 and prints its messages as lines of JSON.

Runs under the oracle's Python and imports nothing of byoc_lab. Each function makes one mistake and
is named after the record of the expected message.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import numpy as np
import tvm
from tvm import relay

X = relay.var("x", shape=(2, 2))


def module(body):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def region(compiler="A"):
    begin = relay.annotation.compiler_begin(X, compiler)
    return relay.annotation.compiler_end(relay.nn.relu(begin), compiler)


def partitioned():
    infer = relay.transform.InferType()
    return relay.transform.PartitionGraph()(infer(module(region())))


def parsed(text):
    return tvm.relay.parse(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 2), float32]) {{ {text} }}'
    )


def no_codegen():
    relay.build(partitioned(), "llvm")


def partitioned_for_ccompiler(computes):
    begin = relay.annotation.compiler_begin(X, "ccompiler")
    mod = module(relay.annotation.compiler_end(computes(begin), "ccompiler"))
    return relay.transform.PartitionGraph()(relay.transform.InferType()(mod))


def unsupported_op():
    relay.build(partitioned_for_ccompiler(relay.nn.relu), "llvm")


def composite_refused():
    p = relay.var("p", shape=(2, 2))
    composite = relay.Function([p], relay.nn.relu(p)).with_attr("Composite", "ccompiler.relu")
    relay.build(partitioned_for_ccompiler(lambda x: relay.Call(composite, [x])), "llvm")


def annotation_built():
    relay.build(module(region()), "llvm")


def name_clash():
    infer = relay.transform.InferType()
    mod = infer(module(region()))
    mod["tvmgen_default_A_main_0"] = relay.Function([X], relay.nn.relu(X))
    relay.transform.PartitionGraph()(infer(mod))


def qnn_not_lowered():
    one, zero = relay.const(1.0), relay.const(0)
    data, weight = (
        relay.var("d", shape=(1, 1, 4, 4), dtype="uint8"),
        relay.const(np.ones((1, 1, 3, 3), "int8")),
    )
    conv = relay.qnn.op.conv2d(data, weight, zero, zero, one, one, (3, 3), 1)
    with tvm.transform.PassContext(disabled_pass=["QnnLegalize", "QnnCanonicalize", "Legalize"]):
        relay.build(module(conv), "llvm")


def operator_not_registered():
    relay.op.get("nn.conv2")


def untyped():
    relay.nn.relu(X).checked_type  # noqa: B018


def same_parameter_name():
    y = relay.var("x", shape=(2, 2))
    func = relay.Function([X, y], relay.add(X, y))
    relay.build_module.bind_params_by_name(func, {"x": np.ones((2, 2), "float32")})


def duplicate_variable():
    y = relay.var("x", shape=(2, 2))
    inner = relay.Function([X, y], relay.add(X, y))
    mod = module(inner(relay.var("a", shape=(2, 2)), relay.var("b", shape=(2, 2))))
    relay.transform.DefuseOps()(relay.transform.InferType()(mod))


def null_node():
    parsed("nn.relu(%y)")


def undefined_number():
    parsed("nn.relu(%3)")


def unknown_operator():
    parsed("nn.conv(%x)")


def attrs_type_key():
    parsed('annotation.compiler_begin(%x, compiler="A")')


def unknown_attribute():
    parsed("nn.softmax(%x, axes=1)")


def missing_attribute():
    parsed("expand_dims(%x)")


def text_version():
    tvm.relay.parse('#[version = "0.0.4"]\ndef @main() { 1 }')


def dimensions_differ():
    relay.transform.InferType()(module(relay.nn.bias_add(X, relay.var("w", shape=(3,)))))


def types_differ():
    stated = relay.Function([X], relay.nn.relu(X), relay.TensorType((2, 2), "int32"))
    relay.transform.InferType()(tvm.IRModule.from_expr(stated))


def do_not_broadcast():
    relay.transform.InferType()(module(relay.add(X, relay.var("w", shape=(3,)))))


def concatenated_shapes():
    relay.transform.InferType()(module(relay.concatenate([X, relay.var("z", shape=(3, 3))], 0)))


def under_constrained():
    relay.transform.InferType()(module(relay.nn.relu(relay.var("v"))))


def unknown_function():
    partitioned()["main_0"]


def not_equal():
    tvm.ir.assert_structural_equal(relay.nn.relu(X), relay.tanh(X), map_free_vars=True)


def bound_again():
    y = relay.var("y", shape=(2, 2))
    inner = relay.Let(y, relay.tanh(y), y)
    relay.transform.InferType()(module(relay.Let(y, relay.nn.relu(X), inner)))


def let_in_own_value():
    y = relay.var("y", shape=(2, 2))
    relay.transform.InferType()(module(relay.Let(y, relay.nn.relu(y), y)))


def open_region_in_function():
    mod = tvm.IRModule()
    mod["main"] = relay.Function([], X)


def with_unknown_batch():
    x = relay.var("x", shape=(relay.Any(), 2))
    return relay.transform.InferType()(module(relay.nn.relu(x)))["main"].body.checked_type


def unknown_length():
    int(with_unknown_batch().shape[0])


def length_as_condition():
    _ = with_unknown_batch().shape[0] > 1 or None


def layout_not_given():
    x = relay.var("x", shape=(1, 2, 4, 4))
    conv = relay.nn.conv2d(x, relay.var("w", shape=(2, 2, 3, 3)))
    mod = module(relay.nn.max_pool2d(conv, pool_size=(2, 2)))
    convert = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
    convert(relay.transform.InferType()(mod))


def what_tvm_says(mistake):
    """The error that a mistake raises, with the diagnostics that TVM writes to standard error."""
    with tempfile.TemporaryFile() as written:
        kept = os.dup(2)
        os.dup2(written.fileno(), 2)
        try:
            mistake()
            error = ""
        except Exception as raised:  # the error is the result of the mistake
            error = f"{type(raised).__name__}: {raised}"
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
        written.seek(0)
        return written.read().decode(errors="replace") + error


MISTAKES = (
    no_codegen, unsupported_op, composite_refused, annotation_built, qnn_not_lowered, name_clash,
    operator_not_registered, untyped, same_parameter_name, duplicate_variable, null_node,
    undefined_number, unknown_operator, attrs_type_key, unknown_attribute, missing_attribute,
    text_version, dimensions_differ, types_differ, do_not_broadcast, concatenated_shapes,
    under_constrained, unknown_function, not_equal, bound_again, let_in_own_value,
    open_region_in_function, unknown_length, length_as_condition, layout_not_given,
)  # fmt: skip

if __name__ == "__main__":
    for found in MISTAKES:
        name = found.__name__.replace("_", "-")
        print(json.dumps([name, what_tvm_says(found)]), flush=True)
