"""Each finding refers to the faulty edge, and one fault gives one finding."""

from __future__ import annotations

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import PartitionError
from byoc_lab.passes import AnnotateTarget, InferType, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay.ir.module import IRModule
from tests.lab.linting.samples import TENSOR, begin, called_op, end, main


def places(text: str) -> list[tuple[str, str | None, int | None]]:
    return [(f.code, called_op(f), f.argument) for f in lint(relay.parse(text))]


def test_missing_begin_is_reported_at_the_region_and_not_before_it() -> None:
    """relu's region has no begin; tanh before it is not part of the region."""
    lines = (begin("%x"), "nn.relu(%0)", end("%1"), "tanh(%2)", "nn.relu(%3)", end("%4"))
    assert places(main(*lines)) == [("BYL001", "nn.relu", 0)]
    (found,) = lint(relay.parse(main(*lines)))
    assert found.place == "%4 = nn.relu(%3);"


def test_missing_end_does_not_report_the_next_call_as_well() -> None:
    lines = (begin("%x"), "nn.relu(%0)", end("%1"), "exp(%1)", "add(%2, %3)")
    assert places(main(*lines)) == [("BYL002", "exp", None)]
    lines = (begin("%x"), "nn.relu(%0)", "exp(%1)", "abs(%2)", begin("%x"), "tanh(%4)", end("%5"))
    found = places(main(*lines, "add(%3, %6)"))
    assert [code for code, _, _ in found] == ["BYL002"]


def test_open_region_hides_findings_of_calls_that_it_includes() -> None:
    """add would lack a begin only because the open branch includes it in the region."""
    lines = (begin("%x"), "nn.relu(%0)", "add(%1, %x)")
    (found,) = lint(relay.parse(main(*lines)))
    assert found.code == "BYL002" and [c.code for c in found.consequences] in ([], ["BYL001"])


def test_findings_are_in_the_order_of_the_text() -> None:
    first = (begin("%x"), "add(%0, %x)", end("%1"))
    second = (begin("%2"), "subtract(%3, %x)", end("%4"), begin("%5"), "tanh(%6)")
    assert [op for _, op, _ in places(main(*first, *second))] == ["add", "subtract", "tanh"]


DIAMOND = f"""#[version = "0.0.5"]
def @main(%x: {TENSOR}, %c: bool) {{
  %0 = nn.relu(%x);
  %1 = if (%c) {{ erf(%0) }} else {{ tanh(%0) }};
  add(%0, %1)
}}"""


def test_if_between_two_regions_has_no_finding_if_merging_traverses_it() -> None:
    """AnnotateTarget does not annotate an `if`; MergeCompilerRegions traverses it."""
    mod = AnnotateTarget("dnnl")(InferType()(relay.parse(DIAMOND)))
    assert not lint(mod, ["MergeCompilerRegions", PartitionGraph()])
    PartitionGraph()(mod)


def test_if_that_merging_does_not_traverse_is_reported() -> None:
    """If the branches have no region of another compiler, merging joins the regions around the
    `if`."""
    mod = AnnotateTarget("dnnl")(InferType()(relay.parse(DIAMOND.replace("erf", "tanh"))))
    with pytest.raises(PartitionError, match="depends on its own result"):
        PartitionGraph()(MergeCompilerRegions()(mod))
    (found,) = lint(mod)
    assert found.code == "BYL012" and " -> if -> " in found.message
    assert not lint(mod, [PartitionGraph()])


def test_operator_between_joined_regions_is_reported_before_they_are_joined() -> None:
    lines = (begin("%x"), "nn.relu(%0)", end("%1"), "erf(%2)", begin("%2"), begin("%3"))
    text = main(*lines, "add(%4, %5)", end("%6"))
    assert places(text) == [("BYL013", "erf", None)]
    without_merging = lint(relay.parse(text), [PartitionGraph()])
    assert list(without_merging) == []


def test_default_regions_that_tvm_accepts_have_no_finding() -> None:
    default = "default"
    closed = (begin("%x", default), "nn.relu(%0)", end("%1", default))
    for lines in (closed, closed[:2], (*closed, begin("%2"), "abs(%3)", end("%4"))):
        mod = InferType()(relay.parse(main(*lines)))
        assert isinstance(PartitionGraph()(mod), IRModule)
        assert not lint(mod, [PartitionGraph()]), lines
