"""Lint rule BYL004 free-variable: samples, and agreement with partitioning."""

from __future__ import annotations

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import FreeVariableError, WellFormedError
from byoc_lab.lab.linting.rules.free_variable import FreeVariable
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.transform import InferType, PartitionGraph
from tests.lab.linting.samples import TENSOR, RuleChecks, begin, end, main, read

LET = main(f"let %a = {begin('%x')};\n  nn.relu(%a)")


class TestFreeVariable(RuleChecks):
    rule = FreeVariable

    def test_named_variable_is_the_one_that_partitioning_leaves_free(self) -> None:
        found = self.only_finding(LET)
        mod = read(LET)
        assert isinstance(mod, IRModule)
        with pytest.raises(FreeVariableError) as raised:
            PartitionGraph()(InferType()(mod))
        (variable,) = raised.value.variables
        assert f"%{variable.name_hint} free" in found.message

    def test_begin_of_default_on_a_let_value_has_no_finding(self) -> None:
        assert self.found_in(LET.replace('"A"', '"default"')) == []

    def test_scopes_that_type_inference_refuses_are_reported(self) -> None:
        x, y, z = (relay.var(name, shape=(2,)) for name in "xyz")
        for body, message in (
            (relay.Let(y, x, relay.Let(y, relay.exp(y), y)), "%y in @main is bound more than once"),
            (relay.Let(y, z, relay.Let(z, x, y)), "%z in @main is bound and also used outside"),
            (relay.Tuple([relay.Let(y, x, y), y]), "%y in @main is used outside of the scope"),
        ):
            mod = IRModule.from_expr(relay.Function([x], body))
            with pytest.raises(WellFormedError):
                InferType()(mod)
            (found,) = lint(mod)
            assert found.code == "BYL004" and found.message.startswith(message)

    def test_partition_of_2020_that_uses_a_variable_of_main_is_reported(self) -> None:
        text = main(begin("%x"), "add(%0, %y)", end("%1"), parameters=f"%x: {TENSOR}, %y: {TENSOR}")
        for missing in (text, text.replace("add(%0, %y)", "add(%0, exp(%y))")):
            partitioned = PartitionGraph(era="2020-01")(relay.parse(missing))
            (found,) = lint(partitioned)
            assert found.code == "BYL004"
            assert found.message.startswith(
                "external function A_0 uses %y, which is not one of its"
            )
        closed = text.replace("%y)", "%0)")
        assert list(lint(PartitionGraph(era="2020-01")(relay.parse(closed)))) == []

    def test_variables_of_a_nested_external_function_are_a_consequence_of_nesting(self) -> None:
        text = main(begin("%x"), "nn.relu(%0)", end("%1"), begin("%y"), "add(%2, %3)", end("%4"))
        text = text.replace(TENSOR, f"{TENSOR}, %y: {TENSOR}")
        (nested,) = lint(PartitionGraph(era="2020-01")(relay.parse(text)))
        assert [nested.code, *(f.code for f in nested.consequences)] == ["BYL003", "BYL004"]
