"""TVM's namespace (the overlay) in one process, without the import hook."""

from __future__ import annotations

import json
import operator
import re
import typing

import numpy as np
import pytest

import byoc_lab
from byoc_lab.compat import relay, transform, tvm
from byoc_lab.compat.names import APACHE, INSTEAD, SOURCES
from byoc_lab.compat.overlay import Overlay, module
from byoc_lab.errors import (
    AttributeValueError,
    BuildError,
    InputError,
    UnknownNameError,
    UnsetInputWarning,
    UnsupportedModuleError,
    UnsupportedNameError,
)


def _sum_mod() -> typing.Any:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x * y])))


def _values() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((2, 3), np.float32), rng.random((2, 3), np.float32)


@pytest.mark.parametrize("name", [n for n in SOURCES if SOURCES[n]])
def test_every_row_of_the_overlay_has_names(name: str) -> None:
    """A misspelt or removed source would leave a row empty."""
    own = [s for s in SOURCES[name] if not s.startswith(APACHE)]
    if own:
        found = module(name)
        assert isinstance(found, Overlay)
        assert [n for n in dir(found) if getattr(found, n, None) is not None]


def test_overlay_names_are_byoc_lab_s() -> None:
    assert tvm.relay is relay
    assert tvm.IRModule is byoc_lab.IRModule
    assert relay.expr.Call is relay.Call is byoc_lab.relay.Call
    assert transform is relay.transform or transform.InferType is relay.transform.InferType
    assert relay.op.contrib.register.get_pattern_table("dnnl")
    assert relay.op.nn.conv2d is relay.nn.conv2d and relay.nn.Constant is relay.Constant
    assert relay.testing.resnet.get_workload is byoc_lab.relay.testing.resnet.get_workload
    assert module("tvm._ffi.base").py_str(b"bytes") == "bytes"
    mangle = relay.backend.utils.mangle_module_name
    assert list(map(mangle, ("default", "", None))) == ["tvmgen_default", "tvmgen", "tvmgen"]
    with pytest.raises(InputError, match="contains invalid characters"):
        mangle("caf\u00e9")
    assert relay.Any is tvm.tir.Any is byoc_lab.relay.Any, "not typing's"
    assert issubclass(byoc_lab.errors.ParseError, tvm.TVMError)


def test_annotations_are_found_in_tvm_s_modules() -> None:
    for name in ("tvm.relay.annotation", "tvm.relay.op.annotation"):
        marks = module(name)
        assert marks.on_device is byoc_lab.relay.annotation.on_device
        assert marks.compiler_begin is byoc_lab.relay.annotation.compiler_begin
    assert relay.Prelude is module("tvm.relay.prelude").Prelude


def test_names_outside_the_overlay_are_apache_tvm_s() -> None:
    assert tvm.te.__name__ == "tvm.te"
    assert tvm.tir.PrimFunc.__module__.startswith("tvm.")
    assert tvm.target.Target("llvm").kind.name == "llvm"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("relay.no_such_name", "byoc_lab"),
        ("relay.no_such_module.name", "byoc_lab"),
        ("relay.transform.NoSuchPass", "passes"),
        ("relay.transform.gradient", "for inference"),
        ("relay.analysis.NoSuchQuery", "dir"),
        ("micro", "microTVM"),
    ],
)
def test_missing_name_raises_error_with_advice(name: str, advice: str) -> None:
    missing = rf"tvm\.{re.escape(name.removesuffix('.name'))}"
    with pytest.raises(UnsupportedNameError, match=rf"{missing} is not supported; .*{advice}"):
        operator.attrgetter(name)(tvm)
    with pytest.raises(UnsupportedModuleError, match=advice):
        module(f"tvm.{name}")


@pytest.mark.parametrize("name", [n for n in SOURCES if not SOURCES[n]])
def test_unsupported_modules_can_be_imported_and_raise_when_used(name: str) -> None:
    """`from tvm import relay, autotvm` works; using autotvm raises the error."""
    with pytest.raises(UnsupportedNameError, match=rf"{name}\.anything is not supported; \w"):
        module(name).anything  # noqa: B018


def test_advice_names_only_missing_modules() -> None:
    """Advice on a name that now exists would mislead."""
    partly = ("tvm", "tvm.autotvm", "tvm.contrib", "tvm.relay", "tvm.relay.frontend",
              "tvm.relay.op.contrib", "tvm.relay.transform", "tvm.transform")  # fmt: skip
    for name in INSTEAD:
        if name not in partly and SOURCES.get(name) != ():
            with pytest.raises(UnsupportedModuleError):
                module(name)


@pytest.mark.parametrize(
    "name",
    [
        "quantize.quantize",
        "frontend.from_tflite",
        "backend.contrib",
        "transform.PlanDevices",
        "op.strategy.cuda",
    ],
)
def test_unsupported_relay_name_raises_error_with_the_reason(name: str) -> None:
    with pytest.raises(UnsupportedNameError, match=rf"tvm\.relay\.{name} is not supported; \w"):
        operator.attrgetter(name)(relay)


def test_all_executors_return_the_same_result() -> None:
    mod, (x, y) = _sum_mod(), _values()
    for kind in ("graph", "vm", "aot", "debug"):
        run = relay.create_executor(kind, mod, tvm.cpu(), "llvm").evaluate()
        first, second = run(x, y=tvm.nd.array(y))
        tvm.testing.assert_allclose(first.numpy(), x + y, rtol=1e-6)
        tvm.testing.assert_allclose(second.asnumpy(), x * y, rtol=1e-6)
    assert int(relay.create_executor("debug").evaluate(relay.const(3)).numpy()) == 3


def test_unsupported_executors_targets_and_inputs_are_refused() -> None:
    with pytest.raises(BuildError, match="graph, vm, aot, debug, found 'jit'"):
        relay.create_executor("jit")
    with pytest.raises(BuildError, match="found 'cuda'"):
        relay.build(_sum_mod(), target="cuda")
    with pytest.raises(InputError, match=r"expected arguments \(x, y\), found 0"):
        relay.create_executor("debug", _sum_mod()).evaluate()(_values()[0])


def test_graph_module_runs_and_loads_libraries(tmp_path: typing.Any) -> None:
    (x, y), params = _values(), {"y": _values()[1]}
    graph, lib, left = relay.build(_sum_mod(), "llvm", params=params)
    assert [node["op"] for node in json.loads(graph)["nodes"]] == ["null", "null", *["tvm_op"] * 2]
    assert list(left) == ["p0"] == list(lib.get_params()) and left["p0"].dtype == "float32"
    np.testing.assert_array_equal(left["p0"].numpy(), y)
    lib.export_library(tmp_path / "lib.so")
    for library in (lib, tvm.runtime.load_module(tmp_path / "lib.so")):
        run = tvm.contrib.graph_executor.create(graph, library, tvm.cpu())
        with pytest.warns(UnsetInputWarning, match="no value was set for input x; zeros"):
            run.run()
        np.testing.assert_array_equal(run.get_output(0).numpy(), np.zeros_like(x) + y)
        run.set_input(x=x, y=y)  # y is a constant in this graph
        run.run()
        assert run.get_num_outputs() == 2
        out = tvm.nd.empty((2, 3))
        run.get_output(1, out)
        np.testing.assert_allclose(out.numpy(), x * y, rtol=1e-6)
        run.set_input("x", x.astype("float64"))
        assert run.get_input("x").dtype == "float32"
        with pytest.raises(InputError, match="no input is called 'z'; there are x, p0"):
            run.set_input("z", x)
        _check_constants(run, left)
    (tmp_path / "other.so").write_bytes(b"\x7fELF\x80")
    with pytest.raises(BuildError, match=r"other\.so is not a library"):
        tvm.runtime.load_module(tmp_path / "other.so")


def _check_constants(run: typing.Any, params: dict[str, typing.Any]) -> None:
    """Constants are listed as inputs and have values."""
    run.set_input(**params)
    run.load_params(relay.save_param_dict(params))
    assert (run.get_num_inputs(), run.get_input_index("p0"), run.get_input_name(1)) == (2, 1, "p0")
    shapes, dtypes = run.get_input_info()
    assert (shapes["p0"], dtypes["p0"]) == ((2, 3), "float32")
    np.testing.assert_array_equal(run.get_input("p0").numpy(), params["p0"].numpy())
    for set_it in (lambda v: run.set_input("p0", v), lambda v: run.set_input(p0=v)):
        with pytest.raises(InputError, match="p0 is a constant of the program, found another"):
            set_it(params["p0"].numpy() + 1)


def test_library_with_control_flow_has_no_named_constants_and_runs() -> None:
    x = relay.var("x", shape=(2,))
    cond = relay.less(relay.sum(x), relay.const(1.0))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.If(cond, x, x + x))), "llvm")
    assert lib.get_params() == {}
    run = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    run.run(x=np.ones(2, "float32"), p0=np.ones(1))  # an unknown name is ignored
    assert run.get_num_inputs() == 1 and list(run.get_output(0).numpy()) == [2, 2]


def test_virtual_machine_runs_positional_and_named_arguments() -> None:
    x, y = _values()
    exe = relay.vm.compile(_sum_mod(), target="llvm")
    exe = tvm.runtime.vm.Executable.load_exec(*exe.save())
    machine = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    for out in (machine.run(x, y), machine.run(x=x, y=y), machine.invoke("main", x, y)):
        assert isinstance(out, tvm.runtime.container.ADT)
        np.testing.assert_allclose(out[0].numpy(), x + y, rtol=1e-6)
    with pytest.raises(UnknownNameError, match="found 'other'"):
        machine.invoke("other")


def test_arrays_and_numbers_behave_as_tvms() -> None:
    a = tvm.nd.array([1.0, 2.0])
    b = tvm.nd.empty((2,), "float64").copyfrom(a)
    b[0] = 5
    assert (a.numpy().tolist(), b.numpy().tolist()) == ([1, 2], [5, 2])
    with pytest.raises(ValueError, match="shape"):
        b.copyfrom(np.zeros(3))
    one = tvm.tir.IntImm("int32", 1)
    assert (one, one.value, one.dtype) == (1, 1, "int32")
    (rows,) = relay.var("x", shape=(3,)).type_annotation.shape
    assert isinstance(rows, tvm.tir.IntImm) and rows.value == 3
    n, m = tvm.te.size_var("n"), tvm.te.var("m")
    symbolic = relay.TensorType((n, m + 1, tvm.tir.IntImm("int64", 2)))
    assert symbolic == relay.TensorType((n, 1 + m, 2)) != relay.TensorType((m, 1 + m, 2))
    assert isinstance(symbolic.shape[0], tvm.tir.SizeVar) and symbolic.shape[0] == n
    assert not isinstance(symbolic.shape[1], (tvm.tir.Var, tvm.tir.Any))
    assert isinstance(n, tvm.tir.Var) and isinstance(m, tvm.tir.Var)
    params = relay.load_param_dict(relay.save_param_dict({"w": a}))
    assert params["w"].numpy().tolist() == [1, 2]


def test_registered_functions_are_found_by_name() -> None:
    assert tvm.get_global_func("relay.ext.dnnl") is byoc_lab.run.get_backend("dnnl")
    assert tvm.get_global_func("runtime.DNNLJSONRuntimeCreate", True) is not None
    assert tvm.get_global_func("relay.ext.none", True) is None
    with pytest.raises(UnknownNameError):
        tvm.get_global_func("relay.ext.none")
    tvm.register_func("relay.ext.of_this_test.optimize", len, override=True)
    assert tvm.get_global_func("relay.ext.of_this_test.optimize") is len


def test_env_func_calls_the_registered_function() -> None:
    tvm.register_func("byoc_lab.test.next", lambda n: n + 1, override=True)
    found = tvm.ir.EnvFunc.get("byoc_lab.test.next")
    assert found(2) == 3 and found.name == "byoc_lab.test.next"
    with pytest.raises(ValueError, match=r"no global function .*no\.such"):
        tvm.ir.EnvFunc.get("no.such")


def test_type_relations_with_different_functions_are_unequal() -> None:
    same, broadcast = map(tvm.ir.EnvFunc.get, ("tvm.relay.type_relation.Identity",
                                               "tvm.relay.type_relation.Broadcast"))  # fmt: skip
    args = [relay.TensorType((2,)), relay.TensorType((3,))]
    record = relay.TypeRelation(broadcast, args, 1, None)
    again = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")
    assert record == relay.TypeRelation(again, args, 1, None)
    assert record != relay.TypeRelation(same, args, 1, None)


def test_tvms_example_of_attributes_is_checked_as_in_tvm() -> None:
    attrs = tvm.ir.make_node("attrs.TestAttrs", name="n", padding=(3, 4))
    assert (attrs.axis, attrs.name, attrs.padding) == (10, "n", (3, 4))
    with pytest.raises(AttributeValueError, match="axis"):
        tvm.ir.make_node("attrs.TestAttrs", name="n", axis=-1)
    with pytest.raises(AttributeValueError, match="'name' is required"):
        tvm.ir.make_node("attrs.TestAttrs")
    x = relay.var("x", shape=(2,))
    inner = relay.Function([x], relay.abs(x))
    y = relay.var("y", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([y], relay.Call(inner, [y], attrs)))
    assert 'name="n", padding=[3, 4], attrs_type_key="attrs.TestAttrs")' in mod.astext()
    read = relay.parse(mod.astext())["main"].body.attrs
    assert read == attrs and read != attrs.replace(padding=(3, 5))


def test_module_json_is_loaded_back() -> None:
    mod = relay.transform.InferType()(_sum_mod())
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
    with pytest.raises(tvm.TVMError, match="node 1 does not exist"):
        tvm.ir.load_json('{"root": 1, "nodes": []}')


def test_external_functions_written_in_place_are_offloaded() -> None:
    x, y = _values()
    a, b = relay.var("a", shape=(2, 3)), relay.var("b", shape=(2, 3))
    function = relay.Function([a, b], a + b).with_attr(
        {"Primitive": tvm.tir.IntImm("int32", 1), "Compiler": "dnnl", "global_symbol": "dnnl_0"}
    )
    p, q = relay.var("p", shape=(2, 3)), relay.var("q", shape=(2, 3))
    lib = relay.build(tvm.IRModule.from_expr(relay.exp(relay.Call(function, [p, q]))), "llvm")
    run = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    run.run(p=x, q=y)
    np.testing.assert_allclose(run.get_output(0).numpy(), np.exp(x + y), rtol=1e-5)
    assert [card.symbol for card in run.executable.cards()] == ["dnnl_0"]
    run.executable.assert_offloaded()


def test_optimize_runs_the_default_passes() -> None:
    x, weights = relay.var("x", shape=(2, 8)), [relay.var(n, shape=(4, 8)) for n in "abc"]
    twice = relay.transpose(relay.transpose(x))
    body = relay.Tuple([relay.nn.dense(relay.exp(twice), w) for w in weights])
    mod = tvm.IRModule.from_expr(relay.Function([x, *weights], body))
    found = {}
    for level in (2, 3, 4):
        with tvm.transform.PassContext(opt_level=level):
            found[level] = relay.optimize(mod, target="llvm")[0].astext()
    assert [text.count("exp(") for text in found.values()] == [3, 1, 1]  # equal calls are shared
    assert "transpose(" not in found[2] and "nn.batch_matmul" not in found[3]
    assert "nn.batch_matmul" in found[4] and "fast_exp" in found[4]


def test_optimize_folds_bound_parameters() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x * (relay.const(1.0) + relay.const(2.0))))
    with tvm.transform.PassContext(opt_level=3):
        optimized, params = relay.optimize(mod, target="llvm")
    assert params == {}
    assert optimized["main"].body.args[1].numpy() == 3
