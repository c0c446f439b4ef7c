"""Lint rule BYL037 uncomputed-result."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import byoc_lab
from byoc_lab import IRModule, lint, relay
from byoc_lab.backends.system_compiler import COMPILERS
from byoc_lab.lab.linting.rules.uncomputed_result import UncomputedResult
from byoc_lab.passes import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from tests.lab.linting.samples import RuleChecks

TENSOR = "Tensor[(4), float32]"
VERSION = '#[version = "0.0.5"]\n'
TWICE = "one value twice"
AS_IT_IS = "its input %a as it is"
NEEDS_CC = pytest.mark.skipif(
    not any(map(shutil.which, COMPILERS)), reason="no C compiler is installed"
)


def returning(result: str, compiler: str = "A", others: str = "") -> IRModule:
    """A module whose region has this body. others: parameters of the region beside %a."""
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
            ("(nn.relu(%a), nn.relu(%t.0))", []),
            ("let %v = nn.relu(%a); nn.relu(%v)", []),
        ],
    )
    def test_results_that_are_not_computed(self, result: str, told: list[str]) -> None:
        mod = returning(result, others=f", %t: ({TENSOR}, {TENSOR})")
        found = lint(mod, rules=["BYL037"])
        expected = [f"external function r returns {text}" for text in told]
        assert [f.message for f in found] == expected

    def test_it_stays_from_the_annotation_to_the_function(self) -> None:
        (annotated,) = (s.text for s in UncomputedResult.INVALID if "compiler_end" in s.text)
        mod = relay.parse(f"{VERSION}{annotated}")
        partitioned = PartitionGraph()(InferType()(mod))
        for stage in (mod, partitioned):
            assert [f.code for f in lint(stage)] == ["BYL037"]

    @pytest.mark.parametrize("compiler", ["dnnl", pytest.param("ccompiler", marks=NEEDS_CC)])
    def test_the_back_ends_of_byoc_lab_copy_the_value(self, compiler: str) -> None:
        mod = returning("%0 = nn.relu(%a); (%a, %0, 1f, %0)", compiler)
        a = np.array([-1, 0, 2, -3], "float32")
        relu = np.maximum(a, 0)
        results = byoc_lab.build(mod).run(a=a)
        for got, wanted in zip(results, (a, relu, np.float32(1), relu), strict=True):
            np.testing.assert_array_equal(got, wanted)
