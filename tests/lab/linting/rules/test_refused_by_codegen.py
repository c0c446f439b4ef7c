"""Lint rule BYL026 refused-by-codegen: samples, and agreement with the code generator."""

from __future__ import annotations

import pytest

from byoc_lab import IRModule, build, lint, relay
from byoc_lab.backends import register, unregister
from byoc_lab.backends.dnnl import region_graph
from byoc_lab.errors import BuildError
from byoc_lab.lab.linting.base import Severity
from byoc_lab.lab.linting.rules.refused_by_codegen import RefusedByCodegen
from byoc_lab.passes import InferType, PartitionGraph
from tests.lab.linting.samples import TENSOR, RuleChecks, begin, end, main, read


def unknown_composite(compiler: str, op: str) -> tuple[IRModule, IRModule]:
    """A region with a composite that the back end's table lacks; annotated, and partitioned."""
    composite = f'fn (%p: {TENSOR}, Composite="{compiler}.my") {{ {op}(%p) }}'
    mod = read(main(begin("%x", compiler), composite, "%1(%0)", end("%2", compiler)))
    typed = InferType()(mod)
    return typed, PartitionGraph()(typed)


class TestRefusedByCodegen(RuleChecks):
    rule = RefusedByCodegen

    def test_finding_exists_exactly_if_the_code_generator_refuses(self) -> None:
        """With a finding the build fails; without one it succeeds."""
        for op in ("erf", "nn.relu", "sqrt", "ceil"):
            mod = InferType()(relay.parse(self.rule.INVALID[0].text.replace("erf", op)))
            partitioned = PartitionGraph()(mod)
            (gv,) = (g for g in partitioned.functions if g.name_hint != "main")
            refused = False
            try:
                region_graph(partitioned[gv], gv.name_hint)
            except BuildError:
                refused = True
            for module in (mod, partitioned):
                found = lint(module, backend="dnnl").by_code("BYL026")
                assert bool(found) is refused, op

    def test_hand_annotated_call_that_codegen_compiles_has_no_finding(self) -> None:
        """DNNL's predicates do not annotate `subtract`, but its code generator compiles it."""
        text = main(begin("%x", "dnnl"), "subtract(%0, %0)", end("%1", "dnnl"))
        assert not lint(read(text), backend="dnnl").by_code("BYL026")

    def test_predicate_sees_bound_constants_inside_annotations(self) -> None:
        """A predicate that needs a constant gets the constant, not its compiler_begin, as before
        annotation and after partitioning."""

        def constant_operand(call: relay.Call) -> bool:
            return isinstance(call.args[1], relay.Constant)

        register("npu", supports={"add": constant_operand})
        try:
            for operand, count in (("2f", 0), ("%x", 1)):
                text = main(
                    begin("%x", "npu"), begin(operand, "npu"), "add(%0, %1)", end("%2", "npu")
                )
                mod = InferType()(relay.parse(text))
                for module in (mod, PartitionGraph()(mod)):
                    assert len(lint(module, backend="npu").by_code("BYL026")) == count
        finally:
            unregister("npu")

    def test_tuple_of_constants_counts_as_a_list_of_operands(self) -> None:
        text = main("(1f, 2f)", begin("%0", "dnnl"), "stack(%1)", end("%2", "dnnl"))
        (found,) = lint(read(text), backend="dnnl").by_code("BYL026")
        assert "must be a tensor" not in found.message

    @pytest.mark.parametrize("compiler", ["dnnl", "ccompiler"])
    @pytest.mark.parametrize("op", ["nn.relu", "tan"])
    def test_operators_of_a_composite_missing_in_the_table_are_examined(
        self, compiler: str, op: str
    ) -> None:
        for module in unknown_composite(compiler, op):
            found = lint(module, backend=compiler).by_code("BYL026")
            assert [f.message.split(" is ")[0] for f in found] == [op] * (op == "tan")

    @pytest.mark.native
    @pytest.mark.parametrize("compiler", ["dnnl", "ccompiler"])
    def test_code_generator_compiles_the_operators_of_an_unknown_composite(
        self, compiler: str
    ) -> None:
        _, partitioned = unknown_composite(compiler, "nn.relu")
        build(partitioned)
        _, refused = unknown_composite(compiler, "tan")
        with pytest.raises(BuildError):
            build(refused)

    def test_unknown_composite_of_another_back_end_is_a_warning(self) -> None:
        register("npu", supports=["nn.relu"])
        try:
            composite = f'fn (%p: {TENSOR}, Composite="npu.my_relu") {{ nn.relu(%p) }}'
            text = main(begin("%x", "npu"), composite, "%1(%0)", end("%2", "npu"))
            (found,) = lint(read(text), backend="npu").by_code("BYL026")
            assert found.severity is Severity.WARNING
            assert found.message.startswith("npu.my_relu goes to npu, whose pattern table has no")
        finally:
            unregister("npu")

    def test_fix_leaves_the_operator_to_the_host(self) -> None:
        fix = self.sample_finding().fix
        assert fix is not None and fix.steps == ("remove the annotations of erf",)
