"""The playground's results in native Python; the page runs the same module."""

from __future__ import annotations

from typing import Any

import pytest

import byoc_lab
from byoc_lab.lab.linting import Findings
from byoc_lab.lessons import cases
from tools.lite.choices import SAMPLE, choices, sample_state
from tools.lite.guest.byoc_lab_playground import Part, chosen_passes, parts

OF_A_TABLE = {"cached-match", "fused-ops"}
"""Cases whose cause lies in a pattern table that is not among their passes."""
CAUSES = {case.name: case.cause for case in cases.all_cases() if case.cause}
CHOICES = choices()


def looked(name: str, **changed: Any) -> list[Part]:
    case = CHOICES["cases"][name]
    texts = {key: case[key] for key in ("relay_text", "message") if key in case}
    return list(parts(**{**texts, "pipeline": name, **changed}))


def said(found: list[Part]) -> set[str]:
    """The codes of findings, the statuses of patterns, and the recognized messages."""
    names: set[str] = set()
    for heading, shown in found:
        if isinstance(shown, Findings):
            names |= {finding.code for finding in shown.all}
        elif heading == "Pattern table":
            names |= {entry.status for entry in shown}
        elif heading == "What the message means":
            names |= {message.name for message in shown}
    return names


@pytest.mark.parametrize("name", sorted(CAUSES.keys() - OF_A_TABLE))
def test_case_shows_its_cause(name: str) -> None:
    assert CAUSES[name] in said(looked(name))


@pytest.mark.parametrize("name", CHOICES["cases"])
def test_case_has_parts_without_errors(name: str) -> None:
    found = looked(name)
    assert found
    assert [shown for _, shown in found if isinstance(shown, Exception)] == []


def test_era_of_a_case_gives_nested_regions() -> None:
    found = dict(looked("nested-partition", era="2020-01"))
    assert "BYL003" in said([*found.items()])
    assert found["Step by step"].error is None


TABLE = """
from byoc_lab.relay.dataflow_pattern import is_op, wildcard
conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
[("mychip.conv2d", conv2d), ("mychip.conv2d_relu", is_op("nn.relu")(conv2d))]
"""


def test_table_replaces_the_patterns_and_the_back_end() -> None:
    found = dict(looked("shadowed-pattern", table=TABLE, pipeline="dnnl"))
    assert {e.name: e.status for e in found["Pattern table"]} == {
        "mychip.conv2d": "matches",
        "mychip.conv2d_relu": "shadowed",
    }
    assert found["Step by step"].result["tvmgen_default_mychip_main_0"]


@pytest.mark.parametrize(
    ("table", "words"),
    [("1 / 0", "division"), ("x = 1", "last line"), ("[(1, 2)]", "entry 0"), ("(", "never closed")],
)
def test_invalid_table_is_a_part_with_its_error(table: str, words: str) -> None:
    ((heading, error),) = looked("shadowed-pattern", table=table)
    assert heading == "The pattern table cannot be created"
    assert isinstance(error, Exception)
    assert words in str(error)


def test_message_is_decoded_even_if_the_relay_text_is_unreadable() -> None:
    message = (
        "Check failed: region == nullptr: Cannot find the corresponding region for end annotation"
    )
    found = dict(parts("def @main(", message))
    assert isinstance(found["The Relay text cannot be read"], byoc_lab.errors.ParseError)
    assert len(found["What the message means"]) == 1


def test_unknown_pass_is_a_part_with_the_error() -> None:
    ((heading, error),) = parts(**{**SAMPLE, "passes": ["FoldConstants"]})
    assert heading == "The passes cannot be created"
    assert "FoldConstant" in str(error)


def test_empty_input_shows_nothing() -> None:
    assert list(parts()) == []


def test_passes_keep_their_options_when_moved_and_new_ones_have_defaults() -> None:
    given = chosen_passes("dnnl", None, None)
    named = {p.name: p for p in given}
    order = ["AnnotateTarget", "MergeComposite", "ToANormalForm", "AnnotateTarget"]
    with pytest.raises(byoc_lab.errors.PassError, match="needs targets"):  # there is one of them
        chosen_passes("dnnl", order, None)
    moved = chosen_passes("dnnl", order[:3], None)
    assert [p.name for p in moved] == order[:3]
    assert moved[0].targets == named["AnnotateTarget"].targets == ["dnnl"]
    names = [[name for name, *_ in p.table] for p in (moved[1], named["MergeComposite"])]
    assert names[0] == names[1]


@pytest.mark.parametrize("name", CHOICES["passes"])
def test_each_insertable_pass_runs_on_the_sample(name: str) -> None:
    (trace,) = (
        shown
        for _, shown in parts(**{**SAMPLE, "passes": [name]})
        if isinstance(shown, byoc_lab.Trace)
    )
    assert trace.error is None


def test_sample_state_is_the_same_each_time() -> None:
    assert sample_state() == sample_state()
    assert any(stage["changed"] for stage in sample_state()["stages"])
