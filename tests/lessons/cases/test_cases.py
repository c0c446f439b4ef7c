"""Every case study: its bug is present, the tools state its cause, and its fix is clean and
equivalent."""

from __future__ import annotations

import re

import numpy as np
import pytest

import byoc_lab
from byoc_lab import lint, relay
from byoc_lab.errors import FreeVariableError, PartitionError, UnknownNameError
from byoc_lab.lessons import cases as all_of_them
from byoc_lab.lessons.cases import Case, DumpCase, LiveCase, all_cases, dumps, get, live
from byoc_lab.passes import PartitionGraph
from byoc_lab.run.reference import evaluate

every_case = pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
live_cases = pytest.mark.parametrize("case", live(), ids=lambda case: case.name)


def live_case(name: str) -> LiveCase:
    case = get(name)
    assert isinstance(case, LiveCase)
    return case


def test_cases_are_found_by_name() -> None:
    assert {"nested-partition", "batch-norm", "let-bound-calls", "fused-ops"} <= {
        case.name for case in all_cases()
    }
    assert get("batch-norm") in all_cases()
    with pytest.raises(UnknownNameError, match="no case is named 'batchnorm'; did you mean"):
        get("batchnorm")


def test_case_studies_are_live_cases_and_dumps() -> None:
    assert len(all_cases()) >= 24
    assert {*live(), *dumps()} == {*all_cases()} and not {*live()} & {*dumps()}
    assert len(live()) >= 15 and len(dumps()) >= 5


@every_case
def test_case_names_its_source(case: Case) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.name)
    assert type(case).__module__.rsplit(".", 1)[-1].replace("_", "-") == case.name
    assert case.title and not case.title.endswith(".")
    assert re.search(r"\b20\d\d$", case.reference)
    number = re.search(r"/(?:pull|issues)/(\d+)$", case.link)
    assert number is None or number.group(1) in case.reference
    assert case.story.count("\n\n") >= 1, "a line, and the story"
    assert case.era and case.fix.endswith(".")


@every_case
def test_tool_states_the_right_cause(case: Case) -> None:
    said = case.diagnosis()
    assert said.tool in ("lint", "explain", "decode")
    if case.cause:
        assert case.cause in said.causes, said.text
    else:  # the module is right, and the tools report nothing
        assert said.causes == ()


@every_case
def test_case_prints_its_card(case: Case) -> None:
    card = str(case)
    for part in (case.name, case.fix, case.reference, str(case.shown())):
        assert part in card


@pytest.mark.slow
@pytest.mark.parametrize("case", dumps(), ids=lambda case: case.name)
def test_symptom_of_a_dump_no_longer_occurs(case: DumpCase) -> None:
    assert case.recorded.strip() and str(case.shown())
    today = case.today()
    expected = {
        "cached-match": "MergeComposite makes 0 composites of it",
        "duplicate-outputs": "the region has 1 output",
        "empty-tuple": "AnnotateTarget adds 0 annotations",
        "merge-hang": r"40 layers take [0-4]\.\d\d s",
        "relax-call-tir": r"apache-tvm 0\.\d+\..* merges it",
        "relax-tir-vars": r"apache-tvm 0\.\d+\..* has call_tir\(gvar, args, .*",
        "tuple-of-tuples": "the tuples of the region's result are 1 deep",
    }
    assert re.fullmatch(expected[case.name], today)


def test_table_lists_every_case() -> None:
    table = all_of_them.table()
    assert [c.kind for c in table] == ["live"] * len(live()) + ["dump"] * len(dumps())
    bundle = all_of_them._repr_mimebundle_()  # the display of `byoc_lab.lessons.cases` in Jupyter
    text, page = bundle["text/plain"], table.html()
    assert text == str(table) and "sandbox" in bundle["text/html"]
    for case in all_cases():
        assert case.name in text and case.name in page
        assert table.rows()[list(table).index(case)][4] == case.cause
    assert "id='find'" in page and "src=" not in page
    assert "`" not in page.partition("<script>")[0]


@live_cases
def test_bug_of_a_case_is_present_and_reported(case: LiveCase) -> None:
    assert list(lint(case.plain())) == []
    mod = case.module()
    symptom = case.symptom(mod)
    assert symptom is not None and str(symptom)
    assert symptom.module or symptom.error
    assert {finding.code for finding in lint(mod)} == set(case.codes)


@live_cases
def test_fix_is_clean_and_can_be_partitioned(case: LiveCase) -> None:
    fixed = case.fixed()
    assert list(lint(fixed)) == []
    assert case.symptom(fixed) is None
    partitioned = PartitionGraph()(fixed)
    assert any("Compiler" in f.attrs for f in partitioned.functions.values())
    assert list(lint(partitioned)) == []


@live_cases
def test_fix_computes_the_same(case: LiveCase) -> None:
    mod, fixed = case.plain(), PartitionGraph()(case.fixed())
    random = np.random.RandomState(1)
    inputs = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.shape).astype("float32")
        for p in mod["main"].params
    }
    found, wanted = (evaluate(m, inputs, dtype="float64").value for m in (fixed, mod))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_nested_partition_case_shows_the_nested_region() -> None:
    case = live_case("nested-partition")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == "region dnnl_1 is nested inside region dnnl_0"
    assert isinstance(symptom.error, FreeVariableError)


def test_batch_norm_case_names_the_operators_in_the_region() -> None:
    case = live_case("batch-norm")
    symptom = case.symptom(case.module())
    assert symptom is not None
    for operator in ("divide", "expand_dims", "sqrt"):
        assert operator in symptom.message
    assert isinstance(symptom.error, PartitionError)


def test_let_bound_calls_case_names_the_free_variables() -> None:
    case = live_case("let-bound-calls")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == (
        "PartitionGraph leaves free variables: %match_key_4_i0, %match_key_8_i0"
    )
    partitioned = PartitionGraph()(case.fixed())
    assert sum("Compiler" in f.attrs for f in partitioned.functions.values()) == 2
    assert isinstance(partitioned["main"].body, relay.Let)


def test_fused_ops_case_counts_the_regions_of_one_kernel() -> None:
    case = live_case("fused-ops")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == "dnnl is called 3 times for one fused kernel"


@pytest.mark.native
def test_fused_ops_run_as_one_kernel() -> None:
    case = live_case("fused-ops")
    partitioned = PartitionGraph()(case.fixed())
    program = byoc_lab.build(partitioned)
    byoc_lab.validate(case.plain(), program, [np.ones((1, 3, 16, 16), "float32")]).check()
    program.assert_offloaded()
    (card,) = program.cards()
    assert len(card.ops) == 1 and card.operators == 3
