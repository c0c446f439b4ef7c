"""The stage at which a trace opens, and the captions of stages."""

from __future__ import annotations

from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.lab.view.states.captions import caption, cause_of, explained_by, opening
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.passes.framework.infer_type import InferType
from tests.lab.view.samples import chain, mobilenet, network


def test_trace_opens_at_its_error() -> None:
    assert opening(chain()) == 2
    assert Stepper(chain()).index == 2


def test_trace_without_errors_opens_at_the_first_change() -> None:
    assert mobilenet()[0].changed is False
    assert opening(mobilenet()) == 1
    assert Stepper(mobilenet(), index=3).index == 3


def test_trace_without_changes_opens_at_the_first_stage() -> None:
    typed = InferType()(network())
    assert opening(trace(typed, [InferType(), InferType()])) == 0
    assert opening(Trace([], "empty")) == 0


def test_caption_describes_the_changes_of_the_stage() -> None:
    stages = mobilenet().stages
    assert caption(stages[0]) == "InferType ran and left the module unchanged."
    said = caption(stages[1], str(stages[1].diff().summary), opens=True)
    assert said == (
        "SimplifyInference makes the first change: 297 calls added, 27 calls removed, "
        "27 projections removed, in 27 rewrites."
    )
    assert caption(chain()[2]) == "PartitionGraph raised FreeVariableError."


def test_caption_of_an_error_has_a_short_cause_and_its_finding() -> None:
    stage = chain()[2]
    assert stage.error is not None
    assert len(str(stage.error).splitlines()) > 1
    assert "\n" not in cause_of(stage.error)
    assert cause_of(stage.error).startswith("@dnnl_main_6 contains free variables")
    found = explained_by(stage.error, stage.findings_before)
    assert found is not None
    assert stage.findings_before[found].code == "BYL001"
    assert explained_by(ValueError(""), ()) is None
    assert cause_of(ValueError("")) == "no message"
