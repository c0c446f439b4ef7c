"""The passes of a recording that become stages of the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import load_trace
from tests.lab.tracing.recording.lines import HEAD, OTHER, TEXT, begin, end, ran, write

Names = list[tuple[str, str]]


def stages(tmp_path: Path, *lines: dict) -> Names:
    trace = load_trace(write(tmp_path / "r", HEAD, *lines))
    return [(stage.name, stage.group) for stage in trace]


def test_passes_of_sequences_are_stages(tmp_path: Path) -> None:
    lines = [begin("sequential"), *ran("A"), *ran("sequential", *ran("B")), end("sequential")]
    assert stages(tmp_path, *lines) == [("A", ""), ("B", "")]


def test_named_sequence_is_a_group(tmp_path: Path) -> None:
    inner = [*ran("A", text=OTHER), *ran("B", text=TEXT)]
    lines = [begin("mychip.pipeline"), *inner, end("mychip.pipeline")]
    assert stages(tmp_path, *lines) == [("A", "mychip.pipeline"), ("B", "mychip.pipeline")]


def test_pass_that_also_changes_the_module_itself_is_a_stage(tmp_path: Path) -> None:
    inner = [*ran("A"), *ran("B")]
    assert stages(tmp_path, begin("Mine"), *inner, end("Mine", OTHER)) == [("Mine", "")]


def test_change_by_a_sequence_outside_its_members_is_a_stage(tmp_path: Path) -> None:
    lines = [begin("sequential"), *ran("A"), end("sequential", OTHER)]
    assert stages(tmp_path, *lines) == [("A", ""), ("sequential", "")]


def test_sequence_that_byoc_lab_implements_as_a_pass_is_one_stage(tmp_path: Path) -> None:
    inner = [*ran("AnnotateTargetFunc", text=OTHER), *ran("InferType")]
    lines = [begin("AnnotateTarget"), *inner, end("AnnotateTarget")]
    assert stages(tmp_path, *lines) == [("AnnotateTarget", "")]


@pytest.mark.parametrize(
    "parts",
    [
        ("MergeCompilerRegions", "InferType"),
        ("FlattenNestedTuples", "RemoveDefaultAnnotations", "PartitionGraph", "InferType"),
    ],
)
def test_pass_that_tvm_runs_in_parts_is_one_stage(tmp_path: Path, parts: tuple[str, ...]) -> None:
    inner = [line for part in parts for line in ran(part)]
    lines = [begin("sequential"), *ran("sequential", *inner), *ran("InferType"), end("sequential")]
    name = next(p for p in parts if p in ("MergeCompilerRegions", "PartitionGraph"))
    assert stages(tmp_path, *lines) == [(name, ""), ("InferType", "")]


def test_required_pass_is_a_stage_only_if_it_changes_something(tmp_path: Path) -> None:
    needs = {"required": ["InferType"]}
    lines = [begin("sequential"), *ran("InferType", text=OTHER), *ran("A", **needs)]
    lines += [*ran("InferType"), *ran("InferType"), *ran("B", **needs), end("sequential")]
    assert [name for name, _ in stages(tmp_path, *lines)] == ["InferType", "A", "InferType", "B"]
