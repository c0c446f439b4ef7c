"""What scripts write to files, and what they look at in a built library."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle

import numpy as np
import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.compat import relay, tvm
from byoc_lab.errors import BuildError, InputError, UnsupportedNameError

# Written by TVM 0.16: relay.save_param_dict({"i": int8 [1, 2], "b": [True], "s": float32 2.5}).
TVM_PARAMS = bytes.fromhex(
    "b79c04054f8de5f700000000000000000300000000000000010000000000000073010000000000000062010000"
    "00000000006903000000000000003fa1b496f0405edd0000000000000000010000000000000000000000022001"
    "000400000000000000000020403fa1b496f0405edd000000000000000001000000000000000100000001010100"
    "01000000000000000100000000000000013fa1b496f0405edd0000000000000000010000000000000001000000"
    "00080100020000000000000002000000000000000102"
)


def _affine(compiler: str) -> tvm.IRModule:
    """relu(dense(x, w)), the dense an external function."""
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    inner = end(relay.nn.dense(begin(x, compiler), begin(w, compiler)), compiler)
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(inner)))
    return relay.transform.PartitionGraph()(relay.transform.InferType()(mod))


def test_parameters_that_tvm_saved(tmp_path: pathlib.Path) -> None:
    params = relay.load_param_dict(TVM_PARAMS)
    found = {name: (v.dtype, v.shape, v.numpy().tolist()) for name, v in params.items()}
    assert found == {
        "i": ("int8", (2,), [1, 2]),
        "b": ("bool", (1,), [True]),
        "s": ("float32", (), 2.5),
    }
    again = relay.save_param_dict(params)
    assert sorted(again) == sorted(TVM_PARAMS)  # of the same bytes, the names in another order
    tvm.runtime.save_param_dict_to_file(params, tmp_path / "x.params")
    loaded = tvm.runtime.load_param_dict_from_file(tmp_path / "x.params")
    assert loaded["i"].numpy().tolist() == [1, 2]


def test_parameters_of_another_kind() -> None:
    for data in (b"", b"PK" + bytes(60), TVM_PARAMS[:-1], TVM_PARAMS[:40]):
        with pytest.raises(InputError, match="these are no parameters as TVM saves them"):
            relay.load_param_dict(data)
    with pytest.raises(InputError, match="parameter 'c' must be of integers, floats or bools"):
        relay.save_param_dict({"c": np.array([1j])})


def test_copies_and_pickles() -> None:
    mod = relay.transform.InferType()(_affine("ccompiler"))
    for twin in (pickle.loads(pickle.dumps(mod)), copy.deepcopy(mod)):
        assert twin is not mod and tvm.ir.structural_equal(twin, mod)
        assert twin["main"].body.checked_type == mod["main"].body.checked_type
    value = x = relay.var("x")
    for _ in range(5000):
        value = relay.exp(value)
    deep = relay.Function([x], value)
    assert tvm.ir.structural_equal(pickle.loads(pickle.dumps(deep)), deep)
    assert pickle.loads(pickle.dumps(value)).op is value.op


def test_integers_of_attributes_have_values() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3))
    assert conv.attrs.channels.value == 4 and [k.value for k in conv.attrs.kernel_size] == [3, 3]
    assert isinstance(conv.attrs["groups"], tvm.tir.IntImm)
    assert json.dumps(dict(conv.attrs.items())["padding"]) == "[0, 0, 0, 0]"
    function = relay.Function([x], x).with_attr("n", 3).with_attr("Composite", "a.b")
    assert str(function.attrs) == '{"Composite": "a.b", "n": 3}'


def test_parameters_are_bound_as_they_are() -> None:
    """The tutorial on graph networks gives a bias of (5,) for a variable of (5, 1)."""
    x, b = relay.var("x", shape=(2, 5)), relay.var("b", shape=(5, 1))
    function = relay.Function([x, b], relay.nn.bias_add(x, b, axis=-1))
    bound = relay.build_module.bind_params_by_name(function, {"b": np.ones(5, np.float32)})
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(bound))
    assert mod["main"].ret_type == relay.TensorType((2, 5))


def test_the_code_of_regions() -> None:
    library = relay.build(_affine("ccompiler"), "llvm")
    (module,) = library.get_lib().imported_modules
    assert module.type_key == "c" and "tvmgen_default_ccompiler_main_0" in module.get_source("c")
    with pytest.raises(BuildError, match="has a source as 'c', not as 'json'"):
        module.get_source("json")


@pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built")
def test_the_graph_of_a_dnnl_region() -> None:
    (module,) = relay.build(_affine("dnnl"), "llvm").lib.imported_modules
    assert module.type_key == "dnnl_json"
    assert [op["kind"] for op in json.loads(module.get_source())["ops"]] == ["dense"]
    assert "inner_product_forward" in module.get_source("cc")


def test_debug_executor() -> None:
    library = relay.build(_affine("ccompiler"), "llvm")
    dev = tvm.cpu()
    create = tvm.contrib.debugger.debug_executor.GraphModuleDebug
    graph = create(library["debug_create"]("default", dev), [dev], library.graph_json, "/tmp/x")
    graph.run(x=np.ones((2, 8), np.float32), w=np.ones((4, 8), np.float32))
    assert (graph.get_output(0).numpy() == 8).all() and graph.get_input_name(1) == "w"
    with pytest.raises(UnsupportedNameError, match=r"run\.reference\.evaluate"):
        graph.debug_get_output("fused_nn_dense")


def test_names_of_executables() -> None:
    executable = relay.vm.compile(_affine("ccompiler"), "llvm")
    assert executable.get_function_params("main") == ["x", "w"]
    assert executable.globals[0] == "main"
    for name in ("bytecode", "stats", "primitive_ops"):
        with pytest.raises(UnsupportedNameError, match="Relax compiles"):
            getattr(executable, name)
