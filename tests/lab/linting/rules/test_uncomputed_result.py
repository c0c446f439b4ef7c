"""Lint rule BYL037 uncomputed-result: its samples, and agreement before and after partitioning."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import IRModule, lint, relay
from byoc_lab.lab.linting.rules.uncomputed_result import UncomputedResult
from byoc_lab.passes import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay.analysis.annotations import begin, end
from tests.compilers import needs_cc
from tests.lab.linting.samples import RuleChecks

TENSOR = "Tensor[(4), float32]"
VERSION = '#[version = "0.0.5"]\n'
TWICE = "one value twice"
AS_IT_IS = "its input %a as it is"
SPLIT = "%0 = split(%a, indices_or_sections=2); "


def returning(result: str, compiler: str = "A", others: str = "") -> IRModule:
    """A module whose region has this body.

    others: parameters of the region besides %a.
    """
    attributes = f'Compiler="{compiler}", global_symbol="r", Primitive=1'
    call = f"def @main(%a: {TENSOR}{others}) {{ @r(%a{', %t' if others else ''}) }}"
    return relay.parse(
        f"{VERSION}def @r(%a: {TENSOR}{others}, {attributes}) {{ {result} }}\n{call}"
    )


class TestUncomputedResult(RuleChecks):
    rule = UncomputedResult

    @pytest.mark.parametrize(
        ("result", "told"),
        [
            ("(nn.relu(%a), %t.1)", ["field 1 of its input %t as it is"]),
            ("(nn.relu(%a), (tanh(%a), %a))", [AS_IT_IS]),
            ("let %v = nn.relu(%a); let %w = %a; (%v, %w)", [AS_IT_IS]),
            ("let %v = nn.relu(%a); (%v, %v)", [TWICE]),
            ("%0 = nn.relu(%a); (%a, %0, 1f, %0)", [AS_IT_IS, "a constant", TWICE]),
            (SPLIT + "(%0.0, %0.0)", [TWICE]),
            (SPLIT + "(%0.1, %0)", [TWICE]),
            (SPLIT + "(%0, (%0.1, 1f))", [TWICE, "a constant"]),
            (SPLIT + "let %v = %0; (%0.0, %v.0, %v.1)", [TWICE]),
            ("%0 = (nn.relu(%a), %a, 1f); (%0.0, %0.1)", [AS_IT_IS]),
            ("%0 = (nn.relu(%a), 1f); (%0.0, %0.1, %0.0)", ["a constant", TWICE]),
            ("%0 = (1f, (tanh(%a), %t)); (%0.1.0, %0.1.1.1)", ["field 1 of its input %t as it is"]),
            ("(let %v = (nn.relu(%a), %a); %v).1", [AS_IT_IS]),
            (SPLIT + "(%0.0, %0.1)", []),
            ("%0 = (nn.relu(%a), 1f); %0.0", []),
            ("(nn.relu(%a), nn.relu(%t.0))", []),
            ("let %v = nn.relu(%a); nn.relu(%v)", []),
        ],
    )
    def test_results_that_a_region_does_not_compute_are_reported(
        self, result: str, told: list[str]
    ) -> None:
        mod = returning(result, others=f", %t: ({TENSOR}, {TENSOR})")
        found = lint(mod, rules=["BYL037"])
        expected = [f"external function r returns {text}" for text in told]
        assert [f.message for f in found] == expected

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            ("%1 = nn.relu(%0); (END[%1], END[%0])", AS_IT_IS),
            ("%1 = nn.relu(%0); END[(%1, %0)]", AS_IT_IS),
            ("%1 = nn.relu(%0); END[(%1, (tanh(%1), %0))]", AS_IT_IS),
            ("%1 = split(%0, indices_or_sections=2); (END[%1.1], END[%1.1])", TWICE),
            ("%1 = split(%0, indices_or_sections=2); END[(%1.0, %1.1, %1.0)]", TWICE),
            ("%1 = split(%0, indices_or_sections=2); (END[%1.0], END[%1.1])", None),
            ("%1 = nn.relu(%0); (END[%1], END[%1])", None),  # PartitionGraph returns it once
            ("%1 = nn.relu(%0); END[(%1, %1)]", None),
        ],
    )
    def test_finding_is_the_same_from_annotation_to_function(
        self, body: str, told: str | None
    ) -> None:
        ends = body.replace("END[", "annotation.compiler_end(").replace("]", ', compiler="A")')
        begin = '%0 = annotation.compiler_begin(%x, compiler="A")'
        annotated = relay.parse(f"{VERSION}def @main(%x: {TENSOR}) {{ {begin}; {ends} }}")
        partitioned = PartitionGraph()(InferType()(annotated))
        (of_region, of_function) = (
            [f.message.partition(" returns ")[2] for f in lint(mod, rules=["BYL037"])]
            for mod in (annotated, partitioned)
        )
        expected = [] if told is None else [told]
        assert of_region == [text.replace(" %a", "") for text in expected]
        assert of_function == [text.replace("%a", "%A_0_i0") for text in expected]

    @pytest.mark.parametrize("compiler", ["dnnl", pytest.param("ccompiler", marks=needs_cc)])
    def test_back_ends_of_byoc_lab_copy_the_value(self, compiler: str) -> None:
        mod = returning("%0 = nn.relu(%a); (%a, %0, 1f, %0)", compiler)
        a = np.array([-1, 0, 2, -3], "float32")
        relu = np.maximum(a, 0)
        results = byoc_lab.build(mod).run(a=a)
        for got, wanted in zip(results, (a, relu, np.float32(1), relu), strict=True):
            np.testing.assert_array_equal(got, wanted)

    @pytest.mark.parametrize("count", [0, 2])
    def test_end_with_several_arguments_or_none_is_accepted(self, count: int) -> None:
        entered = begin(relay.var("x", shape=(4,)), "A")
        proper = end(relay.nn.relu(entered), "A")
        values = [relay.tanh(entered), entered][:count]
        malformed = relay.Call(proper.op, values, proper.attrs)
        mod = IRModule.from_expr(relay.Tuple([proper, malformed]))
        told = [f.message.partition(" returns ")[2] for f in lint(mod, rules=["BYL037"])]
        assert told == ["its input as it is"][: count // 2]
