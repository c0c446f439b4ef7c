"""Typical mistakes of students: each gets one message with advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, explain, fix, lint, passes, relay, trace
from byoc_lab.errors import ByocLabError
from byoc_lab.passes import (
    AnnotateTarget,
    FoldConstant,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
)
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_constant, is_op, wildcard

TOY = "toy_of_a_student"
CONV = is_op("nn.conv2d")(wildcard(), wildcard())
X = relay.var("x", shape=(1, 3, 8, 8))


def conv() -> Expr:
    weight = relay.const(np.ones((4, 3, 3, 3), "float32"))
    return relay.nn.conv2d(X, weight, kernel_size=(3, 3), channels=4, padding=(1, 1))


def module(body: Expr, *more: relay.Var) -> IRModule:
    return InferType()(IRModule.from_expr(relay.Function([X, *more], body)))


MODULE = module(relay.nn.relu(conv()))

Table = list[tuple[Any, ...]]


@pytest.fixture
def table() -> Iterator[Callable[[Table], Sequence[passes.Pass]]]:
    """Registers a back end with this table; returns the passes of its pipeline."""

    def register(entries: Table) -> Sequence[passes.Pass]:
        backends.register(TOY, patterns=entries)
        cut = [AnnotateTarget(TOY), MergeCompilerRegions(), PartitionGraph()]
        return [InferType(), MergeComposite(entries), *cut]

    yield register
    backends.register(TOY)


class TestMisspelt:
    def test_misspelt_target_is_found_before_and_after_the_run(self) -> None:
        recorded = trace(MODULE, [InferType(), AnnotateTarget("dnll"), PartitionGraph()])
        for found in (recorded.findings, list(lint(MODULE, [AnnotateTarget("dnll")]))):
            assert [f.code for f in found] == ["BYL017"]
            assert "'dnll'" in found[0].message and "did you mean 'dnnl'" in found[0].what_to_do

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: lint(MODULE, backend="dnll"),
            lambda: explain(MODULE, "dnll"),
            lambda: backends.partition(MODULE, "dnll"),
            lambda: trace(MODULE, "dnll"),
            lambda: lint(MODULE, "dnll"),
        ],
    )
    def test_misspelt_back_end_or_pipeline_gets_the_nearest_name(
        self, wrong: Callable[[], object]
    ) -> None:
        with pytest.raises(ByocLabError, match="'dnll'; did you mean 'dnnl'"):
            wrong()

    @pytest.mark.parametrize(
        "wrong",
        [lambda: trace(MODULE, ["FoldConstants"]), lambda: lint(MODULE, ["FoldConstants"])],
    )
    def test_misspelt_pass_gets_the_nearest_name(self, wrong: Callable[[], object]) -> None:
        with pytest.raises(ByocLabError, match="'FoldConstants'; did you mean 'FoldConstant'"):
            wrong()

    def test_misspelt_pass_attribute_gets_the_nearest_name(self) -> None:
        with pytest.raises(AttributeError, match="'FoldConstants'; did you mean 'FoldConstant'"):
            passes.FoldConstants  # type: ignore[attr-defined]  # noqa: B018

    def test_composite_without_target_prefix_is_found(self) -> None:
        run = [
            MergeComposite([("dnnl_relu", is_op("nn.relu")(wildcard()))]),
            AnnotateTarget("dnnl"),
        ]
        (found,) = lint(MODULE, run).by_code("BYL018")
        assert found.what_to_do == "give the pattern a name that begins with 'dnnl.'"


SWAPPED: list[tuple[Callable[[], object], str]] = [
    (lambda: lint("dnnl", MODULE), "found str; the module comes first"),  # type: ignore[arg-type]
    (lambda: trace("dnnl", MODULE), "trace expects an IRModule, found str"),  # type: ignore[arg-type]
    (lambda: explain("dnnl", MODULE), r"explain\(mod, 'dnnl'\), found str"),  # type: ignore[arg-type]
    (lambda: backends.partition("dnnl", MODULE), "the module comes first"),  # type: ignore[arg-type]
    (lambda: byoc_lab.diff(MODULE, "x"), "diff .*found str"),  # type: ignore[arg-type]
    (lambda: fix("dnnl"), "fix expects an IRModule, found str"),  # type: ignore[arg-type]
    (lambda: AnnotateTarget(MODULE), r"AnnotateTarget\(\.\.\.\)\(mod\)"),  # type: ignore[arg-type]
    (lambda: PartitionGraph(MODULE), r"PartitionGraph\(\.\.\.\)\(mod\)"),  # type: ignore[arg-type]
    (lambda: FoldConstant(MODULE), r"FoldConstant\(\.\.\.\)\(mod\)"),  # type: ignore[arg-type]
    (lambda: InferType(MODULE), r"InferType\(\.\.\.\)\(mod\)"),  # type: ignore[call-arg]
    (lambda: trace(MODULE, [InferType]), r"found the class InferType; write InferType\("),  # type: ignore[list-item]
    (lambda: lint(MODULE, [InferType]), r"found the class InferType; write InferType\("),  # type: ignore[list-item]
    (
        lambda: MergeComposite([(is_op("nn.relu")(wildcard()), "dnnl.relu")]),
        "must begin with the pattern's name, a str, found CallPattern",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), SWAPPED, ids=[message for _, message in SWAPPED])
def test_swapped_arguments_are_named_in_the_error(
    wrong: Callable[[], object], message: str
) -> None:
    with pytest.raises(ByocLabError, match=message):
        wrong()


class TestPrintedText:
    """A begin is removed by hand from the text of an annotated module."""

    @pytest.fixture
    def annotated(self) -> IRModule:
        y = relay.var("y", shape=(1, 4, 8, 8))
        return AnnotateTarget("dnnl")(module(relay.nn.relu(relay.add(conv(), y)), y))

    @pytest.mark.parametrize("printed", [str, lambda mod: mod.astext()], ids=["print", "astext"])
    def test_annotations_are_plain_text(
        self, annotated: IRModule, printed: Callable[[IRModule], str]
    ) -> None:
        text = printed(annotated)
        annotations = [line for line in text.splitlines() if "annotation.compiler_" in line]
        assert len(annotations) == 8
        assert all('compiler="dnnl")' in line for line in annotations)
        assert "meta[relay.attrs" not in text and "CompilerAttrs" not in text

    def test_printed_annotated_module_parses_to_an_equal_module(self, annotated: IRModule) -> None:
        assert structural_equal(InferType()(relay.parse(annotated.astext())), annotated)

    @pytest.mark.parametrize(
        ("argument", "op", "position"),
        [
            ("%x", "nn.conv2d", 0),
            ("meta[relay.Constant][0]", "nn.conv2d", 1),
            ("%3", "add", 0),
            ("%y", "add", 1),
            ("%7", "nn.relu", 0),
        ],
    )
    def test_missing_begin_in_edited_text_gives_one_message_with_the_edge(
        self, annotated: IRModule, argument: str, op: str, position: int
    ) -> None:
        text = _without_begin(annotated.astext(), argument)
        (found,) = lint(relay.parse(text))
        assert (found.code, found.argument) == ("BYL001", position)
        assert isinstance(found.node, Call) and found.node.op_name == op
        assert f"wrap argument {position} of {op} in compiler_begin" in found.what_to_do
        assert structural_equal(InferType()(fix(relay.parse(text)).apply()), annotated)


def _without_begin(text: str, argument: str) -> str:
    """The text without the line of an argument's begin, with the argument in its place."""
    line = rf"  (%\d+) = annotation\.compiler_begin\({re.escape(argument)}[ ,].*;\n"
    found = re.search(line, text)
    assert found is not None, f"no begin of {argument} in\n{text}"
    return re.sub(rf"{re.escape(found[1])}\b", argument, text.replace(found[0], ""))


def test_bias_pattern_on_a_module_with_batch_norm_suggests_folding(
    table: Callable[[Table], Sequence[passes.Pass]],
) -> None:
    ones = relay.const(np.ones(4, "float32"))
    norm = relay.nn.batch_norm(conv(), ones, ones, ones, ones)[0]
    mod = module(relay.nn.relu(norm))
    run = table([(f"{TOY}.conv_bias_relu", is_op("nn.relu")(is_op("add")(CONV, is_constant())))])
    (found,) = lint(mod, run)
    assert found.code == "BYL031" and f"1 x {TOY}.conv_bias_relu more" in found.message
    assert found.what_to_do.startswith("run SimplifyInference, FoldConstant and FoldScaleAxis")
    causes = {e.cause for e in explain(mod, TOY)}
    assert causes == {"needs-pass"}


def test_residual_matched_as_a_bias_is_reported(
    table: Callable[[Table], Sequence[passes.Pass]],
) -> None:
    y = relay.var("y", shape=(1, 4, 8, 8))
    mod = module(relay.nn.relu(relay.add(conv(), y)), y)
    loose = is_op("nn.relu")(is_op("add")(CONV, wildcard()))
    recorded = trace(mod, table([(f"{TOY}.conv_bias_relu", loose)])[:2])
    (found,) = recorded.findings
    assert found.code == "BYL032" and "is_constant() for the bias" in found.what_to_do
    bias = relay.const(np.ones((4, 1, 1), "float32"))
    right = trace(module(relay.nn.relu(relay.add(conv(), bias))), recorded.pipeline)
    assert right.findings == []


def test_check_that_crashes_on_a_reversed_add_is_reported(
    table: Callable[[Table], Sequence[passes.Pass]],
) -> None:
    bias = relay.const(np.ones((4, 1, 1), "float32"))
    mod = module(relay.nn.relu(relay.add(bias, conv())))

    def one_group(relu: Any) -> bool:
        return bool(relu.args[0].args[0].attrs.groups == 1)  # add's first operand: not always

    loose = is_op("nn.relu")(is_op("add")(CONV, wildcard()))
    run = table([(f"{TOY}.conv_bias_relu", loose, one_group)])
    message = "takes the operands of add and multiply in either order: the check must look"
    error = trace(mod, run).error
    assert error is not None and message in str(error)
    with pytest.raises(ByocLabError, match=message):
        explain(mod, TOY)
    (found,) = lint(mod, run)
    assert found.node is None and message in found.message
