"""Lint rule BYL034 reserved-compiler: samples, and errors for the name "default"."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, lint, relay
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError
from byoc_lab.lab.linting.rules.reserved_compiler import ReservedCompiler
from byoc_lab.passes import InferType
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestReservedCompiler(RuleChecks):
    rule = ReservedCompiler

    @pytest.mark.parametrize("number", [0, 1, 2, 4])
    def test_fix_leaves_the_function_to_the_host(self, number: int) -> None:
        fix = self.sample_finding(number).fix
        assert fix is not None and not lint(fix.apply())
        values = np.array([[-1, 0, 2], [3, -4, 5]], "float32")
        result = byoc_lab.build(fix.apply()).run([values])
        np.testing.assert_array_equal(np.asarray(result[0]), np.maximum(values, 0))

    @pytest.mark.parametrize("number", [0, 1, 2])
    def test_function_of_compiler_default_is_refused_and_decoded(self, number: int) -> None:
        mod = InferType()(relay.parse(self.rule.INVALID[number].text))
        with pytest.raises(UnknownNameError) as caught:
            byoc_lab.build(mod)
        assert byoc_lab.decode(caught.value, mod)
        if number < 2:
            (found,) = byoc_lab.decode(caught.value, mod)
            assert found.name == "reserved-compiler" and found.rule == "BYL034" and found.findings

    def test_local_function_of_compiler_default_is_reported_with_its_global_function(self) -> None:
        x, y = (relay.var(name, shape=(2, 3)) for name in "xy")
        local = relay.Function([y], relay.nn.relu(y)).with_attr("Compiler", "default")
        mod = relay.IRModule.from_expr(relay.Function([x], local(x)))
        (found,) = lint(mod)
        assert "function in main has Compiler='default'" in found.message
        # The passes partition the body of the function.
        assert "1 of 1 operator" in str(byoc_lab.coverage(mod, "dnnl"))
        assert "1 of 2 calls offloaded" in byoc_lab.explain(mod, "dnnl").summary

    def test_coverage_refuses_a_global_function_of_compiler_default(self) -> None:
        mod = InferType()(relay.parse(self.rule.INVALID[0].text))
        with pytest.raises(ArgumentError, match="@f has Compiler='default' already"):
            byoc_lab.coverage(mod, "dnnl")

    def test_annotations_of_default_have_no_finding(self) -> None:
        assert self.found_in(main(begin("%x", "default"), "abs(%0)", end("%1", "default"))) == []

    @pytest.mark.parametrize("name", ["np u", "npü", "a.b"])
    def test_annotation_with_a_name_that_no_symbol_can_have_is_reported(self, name: str) -> None:
        text = main(begin("%x", name), "abs(%0)", end("%1", name))
        found = self.found_in(text)
        assert f"names the compiler {name!r}" in found[0].message and len(found) == 2

    def test_misspelt_name_is_decoded_as_missing_codegen(self) -> None:
        said = "Check failed: pf: Failed to find the codegen tool for relay.ext."
        assert byoc_lab.decode(f"{said}default_npu")[0].name == "no-codegen"
        assert byoc_lab.decode(f"{said}default\n")[0].name == "reserved-compiler"

    def test_back_end_named_default_cannot_be_registered(self) -> None:
        with pytest.raises(PassError, match="cannot be named 'default'"):
            backends.register("default", supports=["abs"])
