"""Every case: its trouble is there, the linter reports it, and its fix is clean and equal."""

from __future__ import annotations

import re

import numpy as np
import pytest

import byoc_lab
from byoc_lab import lint, relay
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import FreeVariableError, PartitionError, UnknownNameError
from byoc_lab.lessons.cases import Case, all_cases, get
from byoc_lab.passes import PartitionGraph
from byoc_lab.run.reference import evaluate

cases = pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)


def test_cases_are_found_by_name() -> None:
    assert {"nested-partition", "batch-norm", "let-bound-calls", "fused-ops"} <= {
        case.name for case in all_cases()
    }
    assert get("batch-norm") in all_cases()
    with pytest.raises(UnknownNameError, match="no case is named 'batchnorm'; did you mean"):
        get("batchnorm")


@cases
def test_a_case_says_where_it_comes_from(case: Case) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.name)
    assert case.title and not case.title.endswith(".")
    assert re.search(r"\b20\d\d$", case.reference)
    assert (type(case).__doc__ or "").count("\n\n") >= 1, "a line, and the story"


@cases
def test_its_trouble_is_there_and_is_reported(case: Case) -> None:
    assert list(lint(case.plain())) == []
    mod = case.module()
    symptom = case.symptom(mod)
    assert symptom is not None and str(symptom)
    assert symptom.module or symptom.error
    assert {finding.code for finding in lint(mod)} == set(case.codes)


@cases
def test_its_fix_is_clean_and_partitions(case: Case) -> None:
    fixed = case.fixed()
    assert list(lint(fixed)) == []
    assert case.symptom(fixed) is None
    partitioned = PartitionGraph()(fixed)
    assert any("Compiler" in f.attrs for f in partitioned.functions.values())
    assert list(lint(partitioned)) == []


@cases
def test_its_fix_computes_the_same(case: Case) -> None:
    mod, fixed = case.plain(), PartitionGraph()(case.fixed())
    random = np.random.RandomState(1)
    inputs = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.shape).astype("float32")
        for p in mod["main"].params
    }
    found, wanted = (evaluate(m, inputs, dtype="float64").value for m in (fixed, mod))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_nested_partition() -> None:
    case = get("nested-partition")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == "region dnnl_1 is nested inside region dnnl_0"
    assert isinstance(symptom.error, FreeVariableError)


def test_batch_norm() -> None:
    case = get("batch-norm")
    symptom = case.symptom(case.module())
    assert symptom is not None
    for operator in ("divide", "expand_dims", "sqrt"):
        assert operator in symptom.message
    assert isinstance(symptom.error, PartitionError)


def test_let_bound_calls() -> None:
    case = get("let-bound-calls")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == (
        "PartitionGraph leaves free variables: %match_key_4_i0, %match_key_8_i0"
    )
    partitioned = PartitionGraph()(case.fixed())
    assert sum("Compiler" in f.attrs for f in partitioned.functions.values()) == 2
    assert isinstance(partitioned["main"].body, relay.Let)


def test_fused_ops() -> None:
    case = get("fused-ops")
    symptom = case.symptom(case.module())
    assert symptom is not None
    assert symptom.message == "dnnl is called 3 times for one fused kernel"


@pytest.mark.native
@pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built")
def test_fused_ops_run_as_one_kernel() -> None:
    case = get("fused-ops")
    partitioned = PartitionGraph()(case.fixed())
    program = byoc_lab.build(partitioned)
    byoc_lab.validate(case.plain(), program, [np.ones((1, 3, 16, 16), "float32")]).check()
    program.assert_offloaded()
    (card,) = program.cards()
    assert len(card.ops) == 1 and card.operators == 3
