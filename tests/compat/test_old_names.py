"""Names, and printed forms of values, that scripts for old versions of TVM use."""

from __future__ import annotations

import typing

import numpy as np
import pytest

from byoc_lab.compat import relay, transform, tvm
from byoc_lab.errors import (
    BuildError,
    DuplicateNameError,
    InputError,
    UnknownNameError,
    UnsupportedNameError,
)


def _relu() -> typing.Any:
    x = relay.var("x", shape=(2, 3))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


@pytest.mark.parametrize("name", ["llvm", "cpu", "llvm -mcpu=core-avx2", 1])
def test_every_target_has_the_cpu_as_device(name: typing.Any) -> None:
    dev = tvm.device(name, 0)
    assert str(dev) == "cpu(0)" and dev == tvm.cpu()
    assert (dev.device_type, dev.device_id, dev.exist) == (1, 0, True)
    assert tvm.device(tvm.target.Target("llvm")) == tvm.device(str(tvm.target.Target("llvm")))


def test_targets_are_read_from_command_lines() -> None:
    target = tvm.target.Target("llvm -mcpu=core-avx2 -mattr=+avx2,+fma -num-cores 4", host="llvm")
    assert isinstance(target, tvm.target.Target)
    assert target.kind.name == "llvm" and target.attrs["num-cores"] == 4
    assert list(target.attrs["mattr"]) == ["+avx2", "+fma"]
    with tvm.target.create("llvm") as inner:
        assert tvm.target.Target.current() == inner
    with pytest.raises(BuildError, match=r"'llvm --link-params'.*link-params"):
        tvm.target.Target("llvm --link-params")
    with pytest.raises(BuildError, match=r"ethos-n.*compiler of a region needs no target"):
        tvm.target.Target({"kind": "ethos-n", "variant": ""}, host="llvm")
    relay.build(_relu(), target=target)
    relay.build(_relu(), target={"kind": "llvm", "mcpu": "core-avx2"})
    with pytest.raises(BuildError, match="found 'cuda -arch=sm_80'"):
        relay.build(_relu(), target="cuda -arch=sm_80")


def test_arrays_have_tvm_s_types_and_devices() -> None:
    values = np.array([[1.0, 2.0]], np.float32)
    array = tvm.nd.array(values, tvm.cpu())
    assert str(array) == str(values) and array.ndim == 2 and len(array) == 1
    assert array.same_as(array) and not array.same_as(tvm.nd.array(values))
    assert isinstance(relay.const(values).data, tvm.nd.NDArray)
    assert isinstance(array, tvm.runtime.NDArray) and array.device == tvm.cpu()


def test_time_evaluator_runs_the_module() -> None:
    module = tvm.contrib.graph_executor.GraphModule(relay.build(_relu(), "llvm")["default"]())
    module.set_input("x", np.ones((2, 3), np.float32))
    timed = module.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3)()
    assert len(timed.results) == 3 and timed.min <= timed.mean <= timed.max
    assert module.benchmark(tvm.cpu(), repeat=2, number=1).median > 0
    assert "mean (ms)" in str(timed)
    module.module["run"]()
    assert module.get_output(0).numpy().sum() == 6
    with pytest.raises(InputError, match="found 'other'"):
        module.module.time_evaluator("other", tvm.cpu())


def test_errors_are_also_of_the_types_that_tvm_raises() -> None:
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(ValueError, match="InferType"):
        _ = relay.nn.relu(x).checked_type
    for look_up in (lambda a: a.nope, lambda a: a["nope"]):
        with pytest.raises(AttributeError, match="nope"):
            look_up(relay.nn.softmax(x).attrs)
    with pytest.raises(ValueError, match="nope"):
        tvm.get_global_func("relay.ext.nope")


def test_modules_and_passes_have_tvm_s_helpers() -> None:
    mod = _relu()
    assert mod.script() == str(mod)
    # A function pass infers types of its result, even without a change.
    assert transform.function_pass(lambda f, m, c: f, opt_level=0)(mod)["main"].is_typed
    assert str(transform.InferTypeLocal(mod["main"].body)) == "Tensor[(2, 3), float32]"
    assert str(transform.InferTypeLocal(mod["main"])).startswith("fn (Tensor")
    spans = transform.AnnotateSpans()(mod)["main"]
    assert str(spans.body.span).startswith("GeneratedSource:3:")
    types = {v["type"] for v in tvm.transform.PassContext.list_configs().values()}
    assert types >= {"IntImm", "Array", "runtime.String"}


def test_spans_survive_json() -> None:
    name, ir = relay.SourceName("a.txt"), tvm.ir
    one, other = relay.Span(name, 1, 2, 3, 4), relay.Span(name, 5, 5, 6, 7)
    nowhere = relay.Span(None, 1, 1, 1, 1)
    for span in (nowhere, one, relay.SequentialSpan([one, other]), relay.SequentialSpan([one])):
        again = ir.load_json(ir.save_json(span))
        assert again == span and type(again) is type(span)
    assert again.source_name.name == "a.txt"


def test_operator_has_tvms_level_attributes_and_description() -> None:
    conv, add = relay.op.get("nn.conv2d"), relay.op.get("add")
    assert str(conv) == repr(conv) == "Op(nn.conv2d)"
    assert (conv.support_level, add.support_level) == (2, 1)
    assert relay.op.get("annotation.compiler_begin").support_level == 10
    assert (conv.attrs_type_key, add.attrs_type_key) == ("relay.attrs.Conv2DAttrs", "")
    assert "onvolution" in conv.description
    assert relay.var("x").vid.same_as(relay.var("x").vid) is False


def test_instruments_observe_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    @tvm.instrument.pass_instrument
    class Names:
        def run_after_pass(self, mod: typing.Any, info: typing.Any) -> None:
            print(info.name)

    with tvm.transform.PassContext(opt_level=3, instruments=[Names()]):
        relay.build(_relu(), "llvm")
    assert "InferType" in capsys.readouterr().out
    _relu().show()
    assert capsys.readouterr().out == f"{_relu()}\n"


def test_script_registers_operators() -> None:
    name = "test.outer"
    relay.op.op.register(name, "An outer sum.")
    op = relay.op.get(name)
    x, y = relay.var("x", shape=(2, 1)), relay.var("y", shape=(3,))
    with pytest.raises(tvm.TVMError):
        relay.testing.run_infer_type(relay.Call(op, [x, y]))
    op.add_argument("lhs", "Tensor", "")
    op.set_num_inputs(2)
    op.add_argument("rhs", "Tensor", "")
    assert [a.name for a in op.arguments] == ["lhs", "rhs"]
    op.add_type_rel("Broadcast")
    op.set_attrs_type_key("relay.attrs.SoftmaxAttrs")
    op.set_support_level(1)
    relay.op.register_legalize(name, lambda attrs, inputs, types: inputs[0])
    call = relay.Call(op, [x, y], relay.nn.softmax(x).attrs)
    assert tuple(relay.testing.run_infer_type(call).checked_type.shape) == (2, 3)
    assert (op.num_inputs, op.get_attr("TOpIsStateful")) == (2, False)
    assert op.get_attr("FTVMLegalize")(None, [1], None) == 1
    with pytest.raises(UnknownNameError, match="no type relation is called 'Concat'"):
        op.add_type_rel("Concat")
    with pytest.raises(DuplicateNameError, match=name):
        relay.op.op.register(name)


def _external(dtype: str) -> typing.Any:
    x, inner = (relay.var("data", shape=(4,), dtype=dtype) for _ in range(2))
    region = relay.Function([inner], relay.add(inner, inner))
    for key, value in (("Primitive", 1), ("Compiler", "ccompiler"), ("global_symbol", "twice_0")):
        region = region.with_attr(key, value)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Call(region, [x])))


@pytest.mark.parametrize(("dtype", "where"), [("float32", "ccompiler"), ("int32", "llvm")])
def test_sample_compiler_builds_every_region(tmp_path: typing.Any, dtype: str, where: str) -> None:
    """Input names in a saved program stay, even if the text must distinguish them from a
    region's."""
    values = np.arange(4).astype(dtype)
    library = relay.build(_external(dtype), "llvm")
    library.export_library(tmp_path / "lib.tar")
    for lib in (library, tvm.runtime.load_module(tmp_path / "lib.tar")):
        module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
        module.run(data=values)
        assert module.get_output(0).numpy().tolist() == [0, 2, 4, 6]
        assert [card.ran_on for card in module.executable.cards()] == [where]


def test_call_graph_counts_references() -> None:
    mod = tvm.IRModule()
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    f, g = relay.GlobalVar("f"), relay.GlobalVar("g")
    mod[f] = relay.Function([x], relay.exp(x))
    mod[g] = relay.Function([y], relay.add(f(y), g(y)), relay.TensorType((2,)))
    graph = relay.analysis.CallGraph(mod)
    assert graph.module is mod
    assert [graph.global_call_count(v) for v in (f, "g")] == [0, 2]
    assert [graph.ref_count(v) for v in (f, "g")] == [1, 1]
    assert [graph.is_recursive(v) for v in (f, "g")] == [False, True]
    assert "call site: <g> calls f" in str(graph) and "#refs = 1" in graph.print_var("f")
    with pytest.raises(ValueError, match="@main; it has f, g"):
        graph.ref_count("main")


def test_executors_and_runtimes_list_their_options() -> None:
    backend = tvm.relay.backend
    assert backend.Executor.list_registered() == ["graph", "aot"]
    assert backend.Executor.list_registered_options("aot")["interface-api"] == "runtime.String"
    aot = backend.Executor("aot", {"interface-api": "c"})
    assert (aot.name, aot["interface-api"], aot["link-params"]) == ("aot", "c", True)
    assert "interface-api" in aot and "woof" not in aot
    assert backend.Executor("graph") == backend.Executor("graph") != aot
    for wrong, message in (
        (("vm",), 'Executor "vm" is not defined'),
        (("aot", {"woof": 1}), 'Attribute "woof" is not available on this Executor'),
        (("aot", {"interface-api": True}), 'type "runtime.String" but instead found "IntImm"'),
        (("graph", {"link-params": 0.5}), 'type "IntImm" but instead found "FloatImm"'),
    ):
        with pytest.raises(tvm.TVMError, match=message):
            backend.Executor(*wrong)


def test_the_c_runtime_is_replaced_by_this_process_with_a_warning() -> None:
    crt = relay.backend.Runtime("crt", {"system-lib": True})
    with pytest.warns(UserWarning, match="in this process.*crt"):
        graph, lib, params = relay.build(_relu(), "c", runtime=crt)
    executor = tvm.contrib.graph_executor.create(graph, lib, tvm.cpu())
    executor.run(x=-np.ones((2, 3), np.float32), **params)
    assert not executor.get_output(0).numpy().any()


def test_cache_of_compiled_operators_can_be_cleared() -> None:
    for name in ("te_compiler", "compile_engine"):
        cache = getattr(relay.backend, name).get()
        assert cache.clear() is None
        with pytest.raises(UnsupportedNameError, match="lower"):
            cache.lower(1)


def test_build_module_keeps_what_it_built() -> None:
    builder = relay.build_module.BuildModule()
    with pytest.raises(tvm.TVMError, match="nothing was built"):
        builder.get_module()
    graph, library, params = builder.build(_relu(), "llvm")
    factory = tvm.relay.backend.executor_factory.ExecutorFactoryModule
    assert isinstance(library, factory) and library is builder.get_module()
    assert (graph, params) == (builder.get_graph_json(), builder.get_params())
    optimized, _ = builder.optimize(_relu(), "llvm")
    assert tvm.ir.structural_equal(optimized, relay.transform.InferType()(_relu()))
    graph_module = tvm.contrib.graph_executor.GraphModule(library["default"]())
    assert graph_module.get_num_outputs() == 1


def test_names_that_tvms_tests_use_exist() -> None:
    assert relay.const(1, relay.scalar_type("int32")).data.dtype == "int32"
    assert bool(tvm.IRModule())  # TVM's module has no length
    x = relay.var("x", shape=(2,))
    call = relay.abs(x)
    assert not call.is_typed
    assert transform.InferTypeLocal(call) == call.checked_type == relay.TensorType((2,))
    relay.op.op.register("test.registered_once")
    with pytest.raises(tvm.TVMError, match=r"Operator test\.registered_once is already registered"):
        relay.op.op.register("test.registered_once")
    relay.op.get("test.registered_once").set_attrs_type_key("DictAttrs")


def test_bind_takes_variables_and_refuses_names() -> None:
    x, y = relay.var("x"), relay.var("y")
    assert tvm.ir.structural_equal(relay.bind(relay.add(x, y), {y: x}), relay.add(x, x), True)
    with pytest.raises(TypeError, match=r"found 'y'; .*bind_params_by_name takes names"):
        relay.bind(relay.add(x, y), {"y": x})


def test_importer_helpers_infer_types_and_shapes() -> None:
    common = tvm.relay.frontend.common
    x = relay.var("x", shape=(2, relay.Any()))
    assert common.infer_type(relay.exp(x)).checked_type == x.type_annotation
    assert common.infer_shape(relay.const([[1, 2]])) == (1, 2)
    double = relay.GlobalVar("double")
    mod = tvm.IRModule(
        {double: relay.Function([x], relay.add(x, x)), "main": relay.Function([], x)}
    )
    y = relay.var("y", shape=(2, 3))
    assert common.infer_shape(double(y), mod) == (2, relay.Any())
    assert isinstance(common.infer_type(relay.Function([y], y)), relay.Function)
    pair = relay.Tuple([x, x])
    assert common.infer_shape(pair) == relay.TupleType([x.type_annotation] * 2)


def test_target_predicates_get_attributes_and_arguments_or_the_call() -> None:
    """Up to TVM 0.7 predicates took attributes and arguments, since then the call."""
    seen = []

    @tvm.ir.register_op_attr("nn.relu", "target.of_arguments")
    def old(attrs: typing.Any, args: typing.Any) -> bool:
        seen.append((attrs, args[0].checked_type.dtype))
        return True

    @relay.op.register_op_attr("nn.relu", "target.of_call")
    def new(call: typing.Any, strict: bool = True) -> bool:
        return call.op.name == "nn.relu"

    annotated = [transform.AnnotateTarget(t)(_relu()) for t in ("of_arguments", "of_call")]
    assert [m["main"].body.attrs.compiler for m in annotated] == ["of_arguments", "of_call"]
    assert seen == [(None, "float32")]
    assert relay.op.get("nn.relu").get_attr("target.of_call") is new and callable(old)


def test_resize_accepts_the_arguments_of_tvm_before_0_8() -> None:
    x = relay.var("x", shape=(1, 4, 4, 3))
    old = relay.image.resize(x, (8, 8), "NHWC", "bicubic", align_corners=True)
    new = relay.image.resize2d(x, (8, 8), None, "NHWC", "cubic", "align_corners")
    tvm.ir.assert_structural_equal(old, new, map_free_vars=True)
    nearest = relay.image.resize(x, (8, 8), "NHWC", "nearest_neighbor", align_corners=False)
    assert nearest.attrs.coordinate_transformation_mode == "asymmetric"
    assert relay.image.resize(x, (8, 8), "NHWC").attrs.method == "linear"


def test_transposed_and_sparse_weight_conversions_rename_or_refuse() -> None:
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(3, 4))
    function = relay.Function([x, w], relay.nn.dense(x, relay.transpose(w, (1, 0))))
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    convert = relay.data_dep_optimization.simplify_fc_transpose.convert
    new, params = convert(function, {"w": tvm.nd.array(weight)})
    assert [p.name_hint for p in new.params] == ["x", "w.T"] and list(params) == ["w.T"]
    np.testing.assert_array_equal(params["w.T"].numpy(), weight.T)
    with pytest.raises(UnsupportedNameError, match="sparse weights are not supported"):
        relay.data_dep_optimization.bsr_dense.convert(function, params, (1, 1), 0.5)


def test_missing_function_or_source_of_a_built_library_raises_error() -> None:
    lib = relay.build(_relu(), "llvm")
    with pytest.raises(UnknownNameError, match=r"'fused_relu'; the graph's are .*_fused_nn_relu$"):
        lib.get_function("fused_relu")
    with pytest.raises(UnsupportedNameError, match="imported_modules"):
        lib.get_lib().get_source("asm")


def test_set_span_fills_in_missing_spans_alone() -> None:
    """A node with a source location is left alone, with all nodes below it."""
    set_span = tvm.relay.frontend.common.set_span

    def names(*exprs: typing.Any) -> list[str | None]:
        nodes: list[typing.Any] = []
        for expr in exprs:
            relay.analysis.post_order_visit(expr, nodes.append)
        return [n.span and n.span.source_name.name for n in nodes if not isinstance(n, relay.op.Op)]

    x = set_span(relay.var("x", shape=(4, 4)), "input")
    half = set_span(relay.multiply(x, relay.const(0.5)), "half")
    assert names(half) == ["input", "half", "half"]
    assert set_span(half, "again") is half
    pair = relay.Tuple([half, relay.exp(x)])
    one, same = set_span([relay.TupleGetItem(pair, 1), half], b"list")
    assert names(one) == ["input", "half", "half", *["list"] * 3] and same is half
    assert set_span((x, 3, None), "tuple") == (x, 3, None)
    branch = set_span(relay.If(relay.const(True), half, relay.abs(x)), "if")
    assert names(branch) == ["if", "input", "half", "half", "if", "if"]
    parts = set_span(relay.split(x, 2), "split")
    assert parts.size == 2 and names(parts.astuple()) == ["input", "split"]
    whole = set_span(relay.Function([x], relay.Let(v := relay.var("v"), half, v)), "net")
    assert whole.span.source_name.name == whole.body.span.source_name.name == "net"
    with tvm.testing.disable_span_filling():
        assert set_span(relay.var("y"), "y").span is None
        with tvm.testing.enable_span_filling():
            assert names(set_span(relay.var("y"), "y")) == ["y"]
    with pytest.raises(TypeError, match="RefCreate cannot get a span"):
        set_span(relay.RefCreate(relay.var("y")), "ref")


def test_array_copied_from_a_constant_is_writable_and_leaves_the_constant() -> None:
    constant = relay.const(np.array([-1.0, 2.0], np.float32))
    values = constant.data.asnumpy()
    values[values < 0] = 0
    assert constant.data.numpy().tolist() == [-1.0, 2.0] and values.tolist() == [0.0, 2.0]
    x = relay.frontend.common.new_var("x", shape=(2, 3))
    assert x.name_hint == "x" and x.type_annotation == relay.TensorType((2, 3))


def test_visitor_that_sets_its_memo_itself_works() -> None:
    class Numbers(relay.ExprVisitor):  # type: ignore[misc]
        def __init__(self) -> None:  # as old scripts do, without super().__init__()
            self.memo_map: dict[typing.Any, typing.Any] = {}
            self.seen: list[str] = []

        def visit_call(self, call: typing.Any) -> None:
            super().visit_call(call)
            self.seen.append(call.op.name)

    numbers = Numbers()
    x = relay.var("x", shape=(2,))
    numbers.visit(relay.exp(relay.nn.relu(x)))
    assert numbers.seen == ["nn.relu", "exp"]
    with pytest.raises(AttributeError, match="in a dictionary"):
        x.color = "red"


def test_infer_value_computes_values_with_parameters() -> None:
    common = relay.frontend.common
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(4, 3))
    params = {"x": tvm.nd.array(np.array([1.0, 2.0], np.float32)), "w": None}
    assert common.infer_value(relay.add(x, x), params).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(InputError, match="x"):
        common.infer_value(relay.exp(x), {})
    mod = tvm.IRModule()
    double = relay.GlobalVar("double")
    mod[double] = relay.Function([x], relay.multiply(x, relay.const(2.0)))
    assert common.infer_value(double(x), params, mod).numpy().tolist() == [2.0, 4.0]
    assert (common.infer_channels(w), common.infer_channels(w, transpose=True)) == (4, 3)
    folded = common.fold_constant(relay.add(relay.const(1.0), relay.const(2.0)))
    assert folded.data.numpy() == 3.0
