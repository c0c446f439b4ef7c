"""The case study of the nested partition, for any number of blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from byoc_lab import lint
from byoc_lab.errors import FreeVariableError
from byoc_lab.lessons.cases.nested_partition import annotate, functions_inside, network
from byoc_lab.relay import structural_equal
from byoc_lab.relay.analysis.annotations import END, is_annotation
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import MergeCompilerRegions, PartitionGraph


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_edge_without_a_begin_is_found(blocks: int) -> None:
    """One finding for each block after the first, at its conv2d's data operand."""
    wrong = annotate(network(blocks), begins_on_conv_data=False)
    found = lint(wrong)
    assert len(found) == blocks - 1
    for finding in found:
        assert finding.code == "BYL001"
        assert finding.node.op.name == "nn.conv2d"
        assert finding.argument == 0
        assert is_annotation(finding.node.args[0], END)
        assert "nn.conv2d(" in finding.place
    assert list(lint(annotate(network(blocks)))) == []


@pytest.mark.parametrize("blocks", [2, 3])
def test_partitioner_of_2020_nests_regions_and_the_linter_reports_it(blocks: int) -> None:
    wrong = annotate(network(blocks), begins_on_conv_data=False)
    nested = PartitionGraph(era="2020-01")(wrong)
    functions = functions_inside(nested["main"])
    assert [f.attrs["ExternalSymbol"] for f in functions] == [
        f"dnnl_{n}" for n in reversed(range(blocks))
    ]
    for inner, outer in pairwise(functions):
        assert inner in post_order(outer)
    assert [f.code for f in lint(nested)] == ["BYL003"] * (blocks - 1)


def test_current_partitioner_rejects_the_missing_begin() -> None:
    wrong = annotate(network(2), begins_on_conv_data=False)
    with pytest.raises(FreeVariableError, match="contains free variables") as raised:
        PartitionGraph()(wrong)
    assert len(raised.value.variables) == 6


@pytest.mark.parametrize("merge", [False, True])
def test_corrected_annotations_partition_and_compute_the_same(merge: bool) -> None:
    plain = network(2, size=8)
    mod = annotate(plain)
    if merge:
        mod = MergeCompilerRegions()(mod)
    out = PartitionGraph()(mod)
    assert len(out.functions) == (2 if merge else 3)
    assert not structural_equal(out, plain)
    random = np.random.RandomState(0)
    inputs = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.shape).astype("float32")
        for p in plain["main"].params
    }
    wanted = evaluate(plain, inputs, dtype="float64").value
    np.testing.assert_array_equal(evaluate(out, inputs, dtype="float64").value, wanted)
