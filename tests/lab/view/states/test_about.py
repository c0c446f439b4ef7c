"""The pages and sources of rules and passes that the view shows."""

from __future__ import annotations

from byoc_lab.lab.view.states.about import about
from byoc_lab.lab.view.states.state import trace_state
from tests.lab.view.samples import chain


def test_rule_has_its_page_and_its_source() -> None:
    found = about(["BYL001", "BYL001"])
    assert list(found) == ["BYL001"]
    assert found["BYL001"]["page"].startswith("## BYL001 missing-begin")
    assert found["BYL001"]["source"].startswith("# byoc_lab/lab/linting/rules/")
    assert "def check" in found["BYL001"]["source"]


def test_pass_has_its_documentation_and_its_source() -> None:
    found = about(["SimplifyInference"])["SimplifyInference"]
    assert "class SimplifyInference" in found["source"]
    assert found["page"] and found["page"] in found["source"].replace("\n    ", "\n")


def test_unknown_names_are_omitted() -> None:
    assert about(["MyPass", "__all__", "Pass"]).keys() <= {"Pass"}


def test_state_of_a_trace_has_the_pages_of_its_findings_and_passes() -> None:
    assert {"BYL001", "InferType", "PartitionGraph"} <= trace_state(chain())["about"].keys()
