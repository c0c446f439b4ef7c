"""The pages of the lint rules, and docs/rules.md, which is generated from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab.lab.linting import LintRule, Severity, all_rules, get_rule
from byoc_lab.lab.linting.pages import all_pages, page

DOCS = Path(__file__).parents[3] / "docs" / "rules.md"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_page_has_description_reason_fix_example_and_source(rule: LintRule) -> None:
    text = page(rule)
    assert text.startswith(f"## {rule.code} {rule.name}\n\nSeverity: {rule.severity}. Fix: ")
    for heading in ("Why is this bad?", "What to do instead", "Example", "References"):
        assert f"\n### {heading}\n" in text
    assert "Reported" in text and "\n> " in text
    assert ("Fixed:" in text) is ("proved before it is offered" in text)


def test_page_states_the_pipeline_or_back_end_of_its_sample() -> None:
    assert "Reported, with the pipeline MergeComposite:" in page(get_rule("shadowed-pattern"))
    assert "Reported, with the back end `dnnl`:" in page(get_rule("small-region"))
    assert "Not reported, with the pipeline `dnnl`:" in page(get_rule("skipped-pass"))


def test_generated_documentation_is_up_to_date() -> None:
    assert DOCS.read_text(encoding="utf-8") == all_pages(), "run make generate"


def test_every_severity_is_used() -> None:
    assert {rule.severity for rule in all_rules()} == set(Severity)
