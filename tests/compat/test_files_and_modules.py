"""Files that scripts write and read, and the members of a built library that they use."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.compat import relay, tvm
from byoc_lab.errors import BuildError, ByocLabError, InputError, UnsupportedNameError
from tests.hostile_names import hostile_names
from tests.sweeps import some

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


def test_parameters_saved_by_tvm_are_loaded(tmp_path: Path) -> None:
    params = relay.load_param_dict(TVM_PARAMS)
    found = {name: (v.dtype, v.shape, v.numpy().tolist()) for name, v in params.items()}
    assert found == {
        "i": ("int8", (2,), [1, 2]),
        "b": ("bool", (1,), [True]),
        "s": ("float32", (), 2.5),
    }
    again = relay.save_param_dict(params)
    assert sorted(again) == sorted(TVM_PARAMS)  # the same bytes, with names in another order
    tvm.runtime.save_param_dict_to_file(params, tmp_path / "x.params")
    loaded = tvm.runtime.load_param_dict_from_file(tmp_path / "x.params")
    assert loaded["i"].numpy().tolist() == [1, 2]


def test_invalid_parameter_file_raises_input_error() -> None:
    for data in (b"", b"PK" + bytes(60), TVM_PARAMS[:-1], TVM_PARAMS[:40]):
        with pytest.raises(InputError, match="the bytes are not parameters in TVM's format"):
            relay.load_param_dict(data)
    with pytest.raises(InputError, match="parameter 'c' must be of integers, floats or bools"):
        relay.save_param_dict({"c": np.array([1j])})


def test_copied_and_pickled_objects_equal_the_originals() -> None:
    mod = relay.transform.InferType()(_affine("ccompiler"))
    for copied in (pickle.loads(pickle.dumps(mod)), copy.deepcopy(mod)):
        assert copied is not mod and tvm.ir.structural_equal(copied, mod)
        assert copied["main"].body.checked_type == mod["main"].body.checked_type
    value = x = relay.var("x")
    for _ in range(5000):
        value = relay.exp(value)
    deep = relay.Function([x], value)
    assert tvm.ir.structural_equal(pickle.loads(pickle.dumps(deep)), deep)
    assert pickle.loads(pickle.dumps(value)).op is value.op


def test_integer_attributes_have_a_value_member() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3))
    assert conv.attrs.channels.value == 4 and [k.value for k in conv.attrs.kernel_size] == [3, 3]
    assert isinstance(conv.attrs["groups"], tvm.tir.IntImm)
    assert json.dumps(dict(conv.attrs.items())["padding"]) == "[0, 0, 0, 0]"
    function = relay.Function([x], x).with_attr("n", 3).with_attr("Composite", "a.b")
    assert str(function.attrs) == '{"Composite": "a.b", "n": 3}'


def test_parameters_are_bound_in_their_own_shape() -> None:
    """The tutorial on graph networks gives a bias of (5,) for a variable of (5, 1)."""
    x, b = relay.var("x", shape=(2, 5)), relay.var("b", shape=(5, 1))
    function = relay.Function([x, b], relay.nn.bias_add(x, b, axis=-1))
    bound = relay.build_module.bind_params_by_name(function, {"b": np.ones(5, np.float32)})
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(bound))
    assert mod["main"].ret_type == relay.TensorType((2, 5))


def test_module_of_a_region_returns_its_source() -> None:
    library = relay.build(_affine("ccompiler"), "llvm")
    (module,) = library.get_lib().imported_modules
    assert module.type_key == "c" and "tvmgen_default_ccompiler_main_0" in module.get_source("c")
    with pytest.raises(BuildError, match="has a source as 'c', not as 'json'"):
        module.get_source("json")


@pytest.mark.native
def test_dnnl_module_returns_graph_and_cpp_source() -> None:
    (module,) = relay.build(_affine("dnnl"), "llvm").lib.imported_modules
    assert module.type_key == "dnnl_json"
    assert [op["kind"] for op in json.loads(module.get_source())["ops"]] == ["dense"]
    assert "inner_product_forward" in module.get_source("cc")


def test_debug_executor_runs_but_has_no_intermediate_values() -> None:
    library = relay.build(_affine("ccompiler"), "llvm")
    dev = tvm.cpu()
    create = tvm.contrib.debugger.debug_executor.GraphModuleDebug
    graph = create(library["debug_create"]("default", dev), [dev], library.graph_json, "/tmp/x")
    graph.run(x=np.ones((2, 8), np.float32), w=np.ones((4, 8), np.float32))
    assert (graph.get_output(0).numpy() == 8).all() and graph.get_input_name(1) == "w"
    with pytest.raises(UnsupportedNameError, match=r"run\.reference\.evaluate"):
        graph.debug_get_output("fused_nn_dense")


def test_executables_list_functions_and_parameters() -> None:
    executable = relay.vm.compile(_affine("ccompiler"), "llvm")
    assert executable.get_function_params("main") == ["x", "w"]
    assert executable.globals[0] == "main"
    for name in ("bytecode", "stats", "primitive_ops"):
        with pytest.raises(UnsupportedNameError, match="Relax compiles"):
            getattr(executable, name)


def _changed(data: bytes, draw: st.DataObject) -> bytes:
    """Some bytes changed, and perhaps the end removed."""
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(0, 3))):
        changed[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    return bytes(changed[: draw.draw(st.integers(0, len(data)))])


@given(st.data())
@settings(max_examples=some(300))
def test_damaged_parameters_are_refused_or_still_valid(draw: st.DataObject) -> None:
    try:
        loaded = relay.load_param_dict(_changed(TVM_PARAMS, draw))
    except InputError as error:
        assert "not parameters in TVM's format" in str(error)
    else:
        assert relay.load_param_dict(relay.save_param_dict(loaded)).keys() == loaded.keys()


@pytest.mark.parametrize("length", [2**40, 2**62, 2**63 - 1])
def test_parameter_array_without_elements_and_wrong_shape_is_refused(length: int) -> None:
    saved = relay.save_param_dict({"empty": np.zeros((0, 77, 99), np.float32)})
    for old in (77, 99):
        assert saved.count(struct.pack("<q", old)) == 1
        saved = saved.replace(struct.pack("<q", old), struct.pack("<q", length))
    with pytest.raises(InputError, match="not parameters in TVM's format: an array of shape"):
        relay.load_param_dict(saved)


def test_saved_parameters_with_any_byte_changed_are_refused_or_loaded() -> None:
    """All bytes of ranks, dtypes and sizes are changed."""
    for at in range(len(TVM_PARAMS)):
        for value in (0, 3, 24, 64, 255):
            changed = bytearray(TVM_PARAMS)
            changed[at] = value
            try:
                relay.load_param_dict(changed)
            except InputError as error:
                assert "not parameters in TVM's format" in str(error)


PROGRAM = {
    "format": "byoc_lab program",
    "version": 1,
    "inputs": ["x"],
    "relay": '#[version = "0.0.5"]\ndef @main(%a: Tensor[(2), float32]) { tanh(%a) }',
}


def test_saved_program_keeps_its_input_names(tmp_path) -> None:
    (tmp_path / "net.json").write_text(json.dumps(PROGRAM))
    library = tvm.runtime.load_module(tmp_path / "net.json")
    assert [p.name_hint for p in library.ir_mod["main"].params] == ["x"]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "x", "is not a library"),
        ("version", 2, "expected a program of version 1, found 2"),
        ("version", None, "expected a program of version 1, found None"),
        ("inputs", 1, "inputs must be a list of str, found 1"),
        ("inputs", ["x", 2], "inputs must be a list of str"),
        ("inputs", [], "names 0 inputs, and its @main has 1 parameters"),
        ("relay", ["x"], "relay must be a str, found list"),
        ("relay", "def @f() { 1 }", "has no function @main"),
    ],
)
def test_damaged_program_is_refused(field: str, value: Any, message: str, tmp_path) -> None:
    (tmp_path / "net.json").write_text(json.dumps({**PROGRAM, field: value}))
    with pytest.raises(BuildError, match=message):
        tvm.runtime.load_module(tmp_path / "net.json")


@given(st.data())
@settings(max_examples=some(100))
def test_program_with_changed_bytes_is_refused_or_loaded(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.json")
        path.write_bytes(_changed(json.dumps(PROGRAM).encode(), draw))
        try:
            library = tvm.runtime.load_module(path)
        except ByocLabError:
            return
        assert library.ir_mod["main"].is_typed


@given(hostile_names.filter(lambda name: len(name) < 1000))
@settings(max_examples=some(20), deadline=None)
def test_saved_program_keeps_hostile_names(name: str) -> None:
    function = relay.Function([relay.var(name, shape=(2,))], relay.const(1.0))
    library = relay.build(tvm.IRModule.from_expr(function))
    with tempfile.TemporaryDirectory() as folder:
        library.export_library(Path(folder, "net.json"))
        assert [path.name for path in Path(folder).iterdir()] == ["net.json"]
        loaded = tvm.runtime.load_module(Path(folder, "net.json"))
    assert [p.name_hint for p in loaded.ir_mod["main"].params] == [name]
    assert name in [node["name"] for node in json.loads(loaded.graph_json)["nodes"]]
