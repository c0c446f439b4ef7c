"""Lint rule BYL027 tuple-boundary: samples, and agreement with partitioning and build."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import backends, fix, lint, relay
from byoc_lab.backends.dnnl import region_graph
from byoc_lab.errors import BuildError
from byoc_lab.lab.linting.rules.tuple_boundary import TupleBoundary
from byoc_lab.passes import InferType, PartitionGraph
from byoc_lab.relay.ir.types import TupleType
from tests.compilers import needs_cc
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestTupleBoundary(RuleChecks):
    rule = TupleBoundary

    def test_fix_puts_begins_on_the_fields(self) -> None:
        fix = self.sample_finding().fix
        assert fix is not None
        assert not lint(fix.apply(), backend="dnnl")
        partitioned = PartitionGraph()(fix.apply())
        for gv, func in partitioned.functions.items():
            if gv.name_hint != "main":
                region_graph(func, gv.name_hint)  # the build refuses parameters that are tuples

    @pytest.mark.parametrize(
        ("value", "found"),
        [
            ("(1f, 2f)", 0),
            ("(1f, (2f, 3f))", 1),  # as in TVM, PartitionGraph does not split nested tuples
            ("(1f, %x)", 1),
            ("((1f, %x), 2f)", 1),
        ],
    )
    def test_findings_equal_the_parameters_with_a_tuple_type(self, value: str, found: int) -> None:
        projected = "%1.1" if value != "(1f, (2f, 3f))" else "%1.0"
        text = main(f"{value}", begin("%0", "dnnl"), projected, "sqrt(%2)", end("%3", "dnnl"))
        mod = InferType()(relay.parse(text))
        assert len(lint(mod, backend="dnnl").by_code("BYL027")) == found
        partitioned = PartitionGraph()(mod)
        assert len(lint(partitioned, backend="dnnl").by_code("BYL027")) == found
        tuples = [
            param
            for gv, func in partitioned.functions.items()
            if gv.name_hint != "main"
            for param in func.params
            if isinstance(param.checked_type, TupleType)
        ]
        assert len(tuples) == found
        if found:
            made = fix(mod, backend="dnnl")
            assert made and not lint(made.apply(), backend="dnnl").by_code("BYL027")

    def test_constants_that_the_pipeline_does_not_bind_count_as_a_parameter(self) -> None:
        text = main("(1f, 2f)", begin("%0", "dnnl"), "%1.0", "sqrt(%2)", end("%3", "dnnl"))
        mod = InferType()(relay.parse(text))
        for bound, count in ((True, 0), (False, 1)):
            passes = [PartitionGraph(bind_constants=bound)]
            assert len(lint(mod, passes, "dnnl").by_code("BYL027")) == count

    def test_default_annotations_around_constants_do_not_count(self) -> None:
        default = end(begin("1f", "default"), "default")
        text = main(f"({default}, 2f)", begin("%0", "dnnl"), "%1.0", "sqrt(%2)", end("%3", "dnnl"))
        assert not lint(InferType()(relay.parse(text)), backend="dnnl").by_code("BYL027")

    @pytest.mark.parametrize("compiler", ["dnnl", pytest.param("ccompiler", marks=needs_cc), "npu"])
    @pytest.mark.parametrize(
        ("kind", "value"),
        [("({t}, {t})", "(%x, %x)"), ("(({t}, {t}), {t})", "((%x, %x), %x)"), ("{t}", "%x")],
    )
    def test_lint_and_build_agree_on_tuple_parameters(
        self, compiler: str, kind: str, value: str
    ) -> None:
        """For every back end: the build compiles each module without a finding."""
        tensor = "Tensor[(10, 10), float32]"
        field = {"(": "%p.1"}.get(kind[0], "%p")
        text = main(value, "@work(%0)" if kind[0] == "(" else "@work(%x)") + (
            f'\ndef @work(%p: {kind.format(t=tensor)}, Primitive=1, Compiler="{compiler}", '
            f'global_symbol="work") {{\n  abs({field})\n}}'
        )
        mod = InferType()(relay.parse(text))
        backends.register(
            "npu",
            supports=["abs"],
            codegen=lambda function, symbol: backends.PythonRegion(abs),
        )
        try:
            found = lint(mod, backend=compiler).by_code("BYL027")
            assert bool(found) is (kind[0] == "(")
            if not found:
                byoc_lab.build(mod)
                return
            with pytest.raises(BuildError, match="%p is a tuple") as caught:
                byoc_lab.build(mod)
            (meaning,) = byoc_lab.decode(caught.value, mod)
            assert meaning.name == "own-tuple-parameter"
            assert meaning.findings and meaning.rule == "BYL027"
            with pytest.warns(byoc_lab.run.OffloadWarning, match="%p is a tuple"):
                byoc_lab.build(mod, fallback=True)
        finally:
            backends.unregister("npu")

    def test_external_function_called_in_place_is_examined(self) -> None:
        tensor = "Tensor[(10, 10), float32]"
        function = (
            f'fn (%p: ({tensor}, {tensor}), Primitive=1, Compiler="dnnl", global_symbol="f") '
            "{\n    abs(%p.0)\n  }"
        )
        text = main("(%x, %x)", function, "%1(%0)")
        assert len(lint(relay.parse(text), backend="dnnl").by_code("BYL027")) == 1

    @pytest.mark.parametrize("value", ["split", "fields", "parameter", "shared", "chain"])
    def test_findings_before_and_after_partitioning_are_equal(self, value: str) -> None:
        """As many as parameters with tuple types after partitioning; the suggested change
        removes them."""
        x, y = relay.var("x", shape=(4, 4)), relay.var("y", shape=(4, 4))
        parts = relay.split(x, 2)
        pair = relay.var("pair", relay.TupleType([x.type_annotation, y.type_annotation]))
        made = relay.Tuple([relay.exp(x), y])
        both = [relay.concatenate([x, y], axis=0) for _ in range(2)]
        net = {
            "split": relay.concatenate(parts.astuple(), axis=0),
            "fields": relay.concatenate([parts[1], parts[0]], axis=0),
            "parameter": relay.concatenate(pair, axis=0),
            "shared": relay.Tuple([relay.concatenate(made, axis=0), made]),
            "chain": relay.concatenate(both, axis=0),
        }[value]
        mod = relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(net), net))
        backends.register("npu", supports=["concatenate"])
        try:
            trace = byoc_lab.trace(mod, "npu")
            found = lint(mod, "npu").by_code("BYL027")
            alone = lint(mod, backend="npu").by_code("BYL027")
            assert [f.node for f in alone] == [f.node for f in found]
            assert len(found) == len(lint(trace.result, backend="npu").by_code("BYL027")) > 0
            calls = {f.node for f in found}
            assert len(calls) == len(found) and None not in calls
            annotated = next(s.before for s in trace.stages if s.name == "PartitionGraph")
            fixed = fix(annotated, backend="npu")
            assert fixed, str(fixed)
            assert not lint(PartitionGraph()(fixed.apply()), backend="npu").by_code("BYL027")
        finally:
            backends.unregister("npu")

    def test_tuples_created_inside_regions_are_not_reported(self) -> None:
        x = relay.var("x", shape=(4, 4))
        both = [relay.nn.relu(x), relay.exp(x)]
        net = relay.IRModule.from_expr(relay.concatenate(both, axis=0))
        backends.register("npu", supports=["concatenate", "nn.relu", "exp"])
        try:
            assert not lint(net, "npu").by_code("BYL027")
            assert not lint(byoc_lab.trace(net, "npu").result, backend="npu").by_code("BYL027")
        finally:
            backends.unregister("npu")


@pytest.mark.parametrize("value", ["@f", "(@f, %x)"])
def test_global_function_that_enters_a_region_is_reported_only_in_a_tuple(value: str) -> None:
    tensor = "Tensor[(4), float32]"
    entered = f'annotation.compiler_begin({value}, compiler="dnnl")'
    called = entered if value == "@f" else f"({entered}).0"
    mod = relay.parse(
        f'#[version = "0.0.5"]\ndef @f(%a: {tensor}) -> {tensor} {{ tanh(%a) }}\n'
        f"def @main(%x: {tensor}) {{ %0 = {called};\n"
        '  %1 = annotation.compiler_begin(%x, compiler="dnnl"); %2 = %0(%1);\n'
        '  annotation.compiler_end(%2, compiler="dnnl") }'
    )
    codes = [f.code for f in lint(mod, backend="dnnl")]
    assert ("BYL027" in codes) == (value != "@f")
