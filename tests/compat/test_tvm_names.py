"""Less common names of TVM 0.16 that scripts use; the expected results are TVM 0.16's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from byoc_lab import decode
from byoc_lab.compat import relay, transform, tvm
from byoc_lab.compat.overlay import module
from byoc_lab.errors import BuildError, UnknownNameError
from byoc_lab.run.build import OffloadWarning
from tests.compilers import needs_cc

x = relay.var("x", shape=(2,))
ONE = relay.TensorType((relay.Any(),))


# Modules and functions of one name ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["tvm.relay.op", "tvm.relay.op.algorithm", "tvm.relay.op.tensor"])
def test_operator_functions_are_not_hidden_by_modules(name: str) -> None:
    """`relay.op.sort` is the operator's function, not byoc_lab's file with this name."""
    found = module(name)
    operators = [n for n in dir(relay) if callable(getattr(relay, n, None))]
    assert "sort" in operators
    assert [n for n in operators if hasattr(found, n) and not callable(getattr(found, n))] == []
    assert found.sort is relay.sort


def test_operator_modules_stay_modules() -> None:
    for name in ("image", "vision", "nn", "annotation", "contrib"):
        assert getattr(relay.op, name) is module(f"tvm.relay.op.{name}")


# Names -------------------------------------------------------------------------------------------


def test_quantized_operators_are_found_without_op() -> None:
    for name in ("conv2d", "dense", "requantize", "quantize", "add", "RequantizeConfig"):
        assert getattr(relay.qnn, name) is getattr(relay.qnn.op, name)
    assert relay.qnn.transform.CanonicalizeOps and relay.qnn.op.register_qnn_legalize


@pytest.mark.parametrize(
    ("ty", "dynamic"),
    [
        (relay.TensorType((2,)), False),
        (ONE, True),
        (relay.TupleType([relay.TensorType((2,)), ONE]), True),
        (relay.FuncType([ONE], relay.TensorType((2,))), True),
        (relay.FuncType([relay.TensorType(())], relay.TensorType((2,))), False),
    ],
)
def test_is_dynamic_finds_unknown_dimensions(ty: Any, dynamic: bool) -> None:
    assert relay.ty.is_dynamic(ty) is dynamic
    assert relay.ty.Any is relay.Any


@pytest.mark.parametrize(
    ("data", "kernel", "groups", "depthwise"),
    [
        (((1, 8, 4, 4), "NCHW"), ((8, 1, 3, 3), "OIHW"), 8, True),
        (((1, 4, 4, 8), "NHWC"), ((3, 3, 8, 1), "HWOI"), 8, True),
        (((1, 8, 4, 4), "NCHW"), ((8, 8, 3, 3), "OIHW"), 1, False),
        (((1, 2, 4, 4, 4), "NCHW4c"), ((2, 1, 3, 3, 1, 4), "OIHW1i4o"), 8, True),
        (((1, 8, 4, 4), "CNHW"), ((3, 3, 8, 1), "HWOI"), 8, False),
    ],
)
def test_is_depthwise_depends_on_the_groups(
    data: Any, kernel: Any, groups: int, depthwise: bool
) -> None:
    generic = module("tvm.relay.op.strategy.generic")
    assert relay.op.strategy.generic is generic
    assert generic.is_depthwise_conv2d(*data, *kernel, groups) is depthwise
    with pytest.raises(UnknownNameError, match="must have the axis C, found 'NHW'"):
        generic.is_depthwise_conv2d((1, 4, 4), "NHW", *kernel, groups)


def test_modules_and_tuples_have_tvms_methods() -> None:
    mod = tvm.IRModule.from_expr(relay.Function([x], x))
    assert mod.same_as(mod) and not mod.same_as(mod.copy())
    halves = relay.split(x, 2)
    assert halves.astext() == halves.astuple().astext()
    assert "split(%x, indices_or_sections=2)" in halves.astext()


def test_install_request_hook_does_nothing() -> None:
    assert tvm.testing.utils.install_request_hook(depth=3) is None


# Tests of tests ----------------------------------------------------------------------------------


shape = tvm.testing.parameter((1, 2), pytest.param((3, 4), id="large"))
fails = pytest.mark.xfail(reason="the mark of a parameter", raises=AssertionError)
marked = tvm.testing.parameter(1, pytest.param(2, marks=fails))


def test_parametrized_values_and_marks_are_passed_to_pytest(
    shape: Any, marked: int, request: Any
) -> None:
    assert ("large" in request.node.name) == (shape == (3, 4))
    assert marked == 1


class TestOfAClass:
    size = tvm.testing.parameter(by_dict={"small": 1, "big": 2})

    def test_parametrized_ids_are_passed_to_pytest(self, size: int, request: Any) -> None:
        assert ("big" in request.node.name) == (size == 2)


# ccompiler ---------------------------------------------------------------------------------------


def annotated() -> Any:
    """multiply(subtract(add)), and a separate add, annotated by the annotator in TVM's tests."""
    a, b, c, d = (relay.var(name, shape=(2, 3)) for name in "abcd")
    body = relay.add(relay.multiply(relay.subtract(relay.add(a, b), c), d), a)
    annotator = relay.testing.byoc.CcompilerAnnotator()
    return tvm.IRModule.from_expr(annotator.visit(relay.Function([a, b, c, d], body)))


def test_the_annotator_of_tvms_tests_annotates_one_region() -> None:
    text = str(annotated())
    assert text.count("compiler_begin") == 4 and text.count("compiler_end") == 1
    assert text.index("multiply") < text.index("compiler_end") < text.rindex("add(")
    cut = transform.PartitionGraph()(transform.InferType()(annotated()))
    (region,) = (f for f in cut.functions.values() if "Compiler" in f.attrs)
    assert relay.testing.count_ops(region) == {"add": 1, "subtract": 1, "multiply": 1}


def test_region_compilers_have_targets_with_options() -> None:
    for given in ("ccompiler -header=//x", {"kind": "ccompiler", "header": "//x"}):
        target = tvm.target.Target(given, host="llvm")
        assert (target.kind.name, target.attrs["header"]) == ("ccompiler", "//x")
        assert str(target) == "ccompiler -header='//x'"
    assert not tvm.target.Target("ccompiler").attrs
    with pytest.raises(BuildError, match="'ccompiler' has no option 'footer'; it has 'header'"):
        tvm.target.Target({"kind": "ccompiler", "footer": ""})


@needs_cc
def test_header_of_a_target_is_in_the_generated_code() -> None:
    mod = transform.PartitionGraph()(transform.InferType()(annotated()))

    def built(header: str) -> Any:
        target = tvm.target.Target({"kind": "ccompiler", "header": header})
        return relay.build(mod, target=[tvm.target.Target("llvm"), target])

    library = built("// Good")
    assert [m.get_source().count("// Good") for m in library.imported_modules] == [1]
    graph = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    values = {name: np.full((2, 3), n + 1, "float32") for n, name in enumerate("abcd")}
    graph.run(**values)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), np.ones((2, 3)))
    with pytest.raises(BuildError, match="Bogus"):
        built("Bogus")
    bogus = [tvm.target.Target("llvm"), tvm.target.Target("ccompiler -header=Bogus")]
    with pytest.raises(BuildError, match="Bogus"):
        relay.create_executor("vm", mod, target=bogus).evaluate()
    with pytest.raises(BuildError, match="Bogus"):
        relay.vm.compile(mod, target=bogus)


def test_unused_header_gives_a_warning() -> None:
    """ccompiler supports only float32, so the host compiles these sums of integers, which TVM's
    ccompiler supports."""
    y = relay.annotation.compiler_begin(relay.var("y", shape=(2,), dtype="int32"), "ccompiler")
    body = relay.annotation.compiler_end(relay.add(y, y), "ccompiler")
    mod = transform.PartitionGraph()(transform.InferType()(tvm.IRModule.from_expr(body)))
    target = [tvm.target.Target("llvm"), tvm.target.Target("ccompiler -header=//x")]
    with pytest.warns(OffloadWarning, match="header unused"):
        relay.build(mod, target=target)


@pytest.mark.parametrize(
    ("operator", "dtype", "outcome"),
    [
        # Whether TVM 0.16 builds it ("Unrecognized op" and "Unsupported dtype" are its refusals).
        ("add", "float32", "c"),
        ("subtract", "int8", "host"),
        ("multiply", "int64", "host"),
        ("add", "float16", "host"),
        ("add", "float64", "refused"),
        ("add", "uint32", "refused"),
        ("power", "float32", "refused"),
        ("floor_divide", "int32", "refused"),
        ("divide", "float32", "c"),  # byoc_lab's ccompiler supports more operators
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_region_that_ccompiler_does_not_support_raises_build_error(
    operator: str, dtype: str, outcome: str, beside: bool
) -> None:
    def region(call: Any, name: str, dtype: str) -> Any:
        x, y = (relay.var(f"{name}{n}", shape=(2, 3), dtype=dtype) for n in "xy")
        begun = [relay.annotation.compiler_begin(v, "ccompiler") for v in (x, y)]
        return relay.annotation.compiler_end(call(*begun), "ccompiler")

    body = region(getattr(relay, operator), "a", dtype)
    if beside:
        body = relay.Tuple([region(relay.add, "b", "float32"), body])
    mod = transform.PartitionGraph()(transform.InferType()(tvm.IRModule.from_expr(body)))
    if outcome == "refused":
        with pytest.raises(BuildError, match="ccompiler") as caught:
            relay.build(mod, "llvm")
        assert decode(caught.value)
        return
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        built = relay.build(mod, "llvm")
    said = [str(w.message) for w in warned if issubclass(w.category, OffloadWarning)]
    assert bool(said) is (outcome == "host"), said
    cards = [str(c) for c in built.executable.cards() if "runs on llvm" in str(c)]
    assert bool(cards) is (outcome == "host") and "told not to" not in str(cards)


@pytest.mark.parametrize("body", ["add(%1, %2)", "(%1, %2)", "subtract(%1, %1)"])
def test_region_with_a_tuple_parameter_raises_build_error(body: str) -> None:
    """TVM 0.16: "Check failed: res.size() > static_cast<size_t>(op->index) (1 vs. 1)"."""
    tensor = "Tensor[(10, 10), float32]"
    mod = tvm.parser.fromtext(
        f'#[version = "0.0.5"]\ndef @main(%x: {tensor}, %y: {tensor}) {{\n  %0 = (%x, %y);\n'
        f'  %5 = fn (%pair: ({tensor}, {tensor}), Primitive=1, Compiler="ccompiler", '
        f'global_symbol="f") {{\n    %1 = %pair.0;\n    %2 = %pair.1;\n    {body}\n  }};\n'
        "  %5(%0)\n}"
    )
    with pytest.raises(BuildError, match="parameter %pair is a tuple, expected a tensor") as caught:
        relay.build(mod, "llvm")
    assert decode(caught.value)[0].name == "own-tuple-parameter"


# Devices -----------------------------------------------------------------------------------------


def device(index: int = 0) -> Any:
    return tvm.target.VirtualDevice(tvm.cpu(index), tvm.target.Target("llvm"), "global")


def test_virtual_device_may_have_a_target() -> None:
    place = device()
    assert (place.device_type, place.virtual_device_id, place.memory_scope) == (1, 0, "global")
    assert place.target.kind.name == "llvm"
    assert "target=Target(id=" in str(place) and "kind='llvm', keys={'cpu'})" in str(place)
    with pytest.raises(BuildError, match="for devices of type 1, found a device of type 2"):
        tvm.target.VirtualDevice(tvm.device("cuda"), tvm.target.Target("llvm"))


def test_variables_may_have_a_virtual_device() -> None:
    y = relay.var("y", shape=(2,))
    y.virtual_device_ = device(1)
    assert y.virtual_device_.virtual_device_id == 1
    assert "%y {virtual_device=" in str(relay.Function([y], y))
    with pytest.raises(AttributeError, match="Var is immutable: cannot set 'vid'"):
        y.vid = x.vid


def test_functions_may_have_a_virtual_device() -> None:
    function = relay.Function([x], relay.nn.relu(x))
    function.virtual_device_ = device(1)
    assert function.virtual_device_.virtual_device_id == 1
    assert function.with_attr("a", 1).virtual_device_ == function.virtual_device_
    with pytest.raises(AttributeError, match="Function is immutable: cannot set 'body'"):
        function.body = x


def normal(body: Any, *params: Any) -> str:
    return str(
        transform.ToANormalForm()(tvm.IRModule.from_expr(relay.Function([x, *params], body)))
    )


def on(body: Any, fixed: bool = True) -> Any:
    return relay.annotation.on_device(body, tvm.cpu(0), constrain_result=fixed)


def test_anf_wraps_values_bound_inside_a_fixed_on_device() -> None:
    fixed = (
        "virtual_device=VirtualDevice(device_type=1, virtual_device_id=0), constrain_result=True"
    )
    one = on(relay.const(1.0))
    text = normal(x + one + one)
    assert f"let %x_0 = on_device(1f, {fixed});\n  %0 = on_device(%x_0, {fixed});" in text
    assert "let %x_1 = add(%x, %0);\n  let %x_2 = add(%x_1, %0);" in text
    text = normal(on(relay.Tuple([x + x, relay.const(2.0)])))
    assert text.count(fixed) == 4 and f"let %x_1 = on_device(2f, {fixed})" in text
    inner = relay.var("v", shape=(2,))
    text = normal(on(relay.Function([inner], inner + inner)(x)))
    assert "let %x_0 = add(%v, %v)" in text, "a function has its own device"
    assert text.count(fixed) == 2


def test_anf_does_not_wrap_values_bound_inside_an_unfixed_on_device() -> None:
    text = normal(x + on(relay.const(1.0), fixed=False))
    assert "let %x_0 = 1f;\n  let %x_1 = on_device(%x_0, virtual_device=" in text
