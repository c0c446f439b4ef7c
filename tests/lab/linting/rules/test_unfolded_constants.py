"""Lint rule BYL024 unfolded-constants: samples, stages and fixes."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import lint, relay, trace
from byoc_lab.backends import register, unregister
from byoc_lab.lab.linting.rules.unfolded_constants import UnfoldedConstants
from byoc_lab.passes import (
    AnnotateTarget,
    FoldConstant,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
)
from byoc_lab.passes.fold.fold_constant import FOLD_QNN
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_constant, is_op, wildcard
from tests.lab.linting.samples import RuleChecks, main


class TestUnfoldedConstants(RuleChecks):
    rule = UnfoldedConstants

    def test_fix_folds_the_constants(self) -> None:
        mod = InferType()(relay.parse(self.rule.INVALID[0].text.replace('"A"', '"dnnl"')))
        fix = lint(mod)[0].fix
        assert fix is not None
        operators = {n.name for n in post_order(fix.apply()["main"]) if isinstance(n, relay.Op)}
        assert "sqrt" not in operators and "add" in operators

    @pytest.mark.parametrize(
        ("value", "reported"),
        [
            ("add(2f, 3f)", True),
            ("sqrt(add(2f, 3f))", True),
            ("add(sqrt(%x), 3f)", False),
            ("sum(concatenate((expand_dims(2f, axis=0), expand_dims(3f, axis=0))))", True),
            ('zeros(shape=[10, 10], dtype="float32")', False),  # FoldConstant does not change it
        ],
    )
    @pytest.mark.parametrize("merged", [True, False])
    def test_unfolded_constants_are_reported_at_every_stage(
        self, value: str, reported: bool, merged: bool
    ) -> None:
        register("npu", supports=["add", "sqrt", "concatenate", "expand_dims", "zeros"])
        try:
            net = InferType()(relay.parse(main(value, "multiply(%x, %0)")))
            steps: list[Any] = ["InferType", AnnotateTarget("npu")]
            steps += ["MergeCompilerRegions"] * merged
            steps.append("PartitionGraph")
            stages = trace(net, steps)
            annotated = stages[steps.index("PartitionGraph") - 1].after
            assert annotated is not None
            for mod, pipeline in ((net, steps), (annotated, None), (stages.result, None)):
                found = lint(mod, pipeline).by_code("BYL024")
                assert bool(found) is reported, mod
                nodes = {n for f in mod.functions.values() for n in post_order(f)}
                assert all(f.node in nodes for f in found)
            assert not lint(net, ["FoldConstant", *steps]).by_code("BYL024")
        finally:
            unregister("npu")

    @pytest.mark.parametrize("pipeline", [None, "folding"])
    def test_unfolded_constants_are_reported_for_a_back_end_whose_pipeline_does_not_fold(
        self, pipeline: str | None
    ) -> None:
        def folding() -> list[Any]:
            return [InferType(), FoldConstant(), AnnotateTarget("npu"), PartitionGraph()]

        register("npu", supports=["add"], pipeline=folding if pipeline else None)
        try:
            net = InferType()(relay.parse(main("add(2f, 3f)", "multiply(%x, %0)")))
            expected = [] if pipeline else ["a future region of npu"]
            for found in (lint(net, backend="npu"), lint(net, "npu")):
                said = [f.message for f in found.by_code("BYL024")]
                assert len(said) == len(expected)
                assert all(a in b for a, b in zip(expected, said, strict=True))
            assert not lint(net, [AnnotateTarget("other")], "npu").by_code("BYL024")
        finally:
            unregister("npu")

    def test_function_without_parameters_is_reported_at_its_composites(self) -> None:
        pattern = is_op("add")(is_constant(), wildcard())
        register("npu", patterns=[("npu.add", pattern)])
        try:
            net = InferType()(relay.parse(main("add(2f, 3f)", "multiply(%x, %0)")))
            result = trace(net, "npu").result
            for mod, pipeline in ((net, "npu"), (result, None)):
                (found,) = lint(mod, pipeline).by_code("BYL024")
                assert found.node is not None
        finally:
            unregister("npu")

    @pytest.mark.parametrize(
        ("value", "supported", "remedy"),
        [
            ("sqrt(2f)", ["sqrt"], "run FoldConstant before AnnotateTarget"),
            ("add(2f, 3f)", [], "run FoldConstant before MergeComposite"),
            (
                'cast(qnn.quantize(2f, 0.5f, 0, out_dtype="int8"), dtype="float32")',
                ["qnn.quantize"],
                "run FoldConstant(fold_qnn=True) before AnnotateTarget",
            ),
        ],
    )
    def test_suggested_pass_folds_all_constants(
        self, value: str, supported: list[str], remedy: str
    ) -> None:
        """apache/tvm#9164: FoldConstant does not fold quantized operators and composites by
        default."""
        table = [("npu.add", is_op("add")(is_constant(), wildcard()))]
        register("npu", supports=supported)
        steps: list[Any] = [MergeComposite(table), AnnotateTarget("npu"), MergeCompilerRegions()]
        folds = {"FoldConstant": FoldConstant(), FOLD_QNN: FoldConstant(fold_qnn=True)}
        try:
            net = InferType()(relay.parse(main(value, "multiply(%x, %0)")))
            (found,) = lint(net, steps).by_code("BYL024")
            assert found.what_to_do == remedy
            tried = {
                f"run {name} before {step.name}": [*steps[:at], fold, *steps[at:]]
                for at, step in enumerate(steps[:2])
                for name, fold in folds.items()
            }
            assert not lint(net, tried[remedy]).by_code("BYL024")
            if remedy != "run FoldConstant before AnnotateTarget":
                plain = tried["run FoldConstant before AnnotateTarget"]
                (again,) = lint(net, plain).by_code("BYL024")
                assert again.what_to_do == remedy
        finally:
            unregister("npu")

    def test_fix_folds_quantized_constants(self) -> None:
        register("npu", supports=["qnn.quantize", "multiply"])
        try:
            net = InferType()(
                relay.parse(
                    "def @main(%x: Tensor[(2, 3), int8]) {\n"
                    '  %0 = qnn.quantize(2f, 0.5f, 0, out_dtype="int8");\n  multiply(%x, %0)\n}'
                )
            )
            annotated = trace(net, [AnnotateTarget("npu"), MergeCompilerRegions(), "InferType"])
            (found,) = lint(annotated.result).by_code("BYL024")
            assert found.fix is not None
            assert not lint(found.fix.apply()).by_code("BYL024")
        finally:
            unregister("npu")

    def test_call_whose_operands_are_constant_calls_is_reported_as_constant(self) -> None:
        text = (
            'def @main(%x: Tensor[(2, 3), float32], Compiler="A", Primitive=1, global_symbol="f") '
            "{\n  %0 = sqrt(2f);\n  %1 = tanh(%0);\n  add(%x, %1)\n}"
        )
        (found,) = lint(InferType()(relay.parse(text))).by_code("BYL024")
        assert found.message.startswith("tanh in ") and "operands" not in found.message
        assert found.message.endswith("computes with constants alone")
