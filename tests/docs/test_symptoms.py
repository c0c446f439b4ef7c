"""The pages of symptoms: their messages and rules exist, and other pages link to them."""

from __future__ import annotations

import pytest

from byoc_lab.lab.explaining.messages import ALL
from byoc_lab.lab.linting import all_rules
from byoc_lab.lab.linting.foreign import RULES as RELAX_RULES
from tools.docs import rules
from tools.docs.examples import DOCS
from tools.docs.reference import known_messages
from tools.docs.source import Sources
from tools.docs.symptoms import Symptom, symptoms

FOUND = symptoms(DOCS / "how-to")
each = pytest.mark.parametrize("symptom", FOUND, ids=lambda s: s.page)


def test_typical_search_words_have_a_page() -> None:
    titles = " | ".join(symptom.title for symptom in FOUND)
    for words in (
        "Free variables", "Arg regions are inconsistent", "My pattern does not match",
        "Nothing was offloaded", "nested", "relay.ext.* is not registered", "already exists",
        "unsupported operator", "The numbers are off", "checked_type", "FTVMStrategy",
    ):  # fmt: skip
        assert words in titles, words


@each
def test_messages_and_rules_of_a_symptom_exist(symptom: Symptom) -> None:
    assert set(symptom.messages) <= {message.name for message in ALL}
    assert set(symptom.rules) <= {rule.code for rule in all_rules()} | set(RELAX_RULES)
    assert symptom.messages or symptom.rules


@each
def test_index_links_to_the_symptom(symptom: Symptom) -> None:
    assert f"(how-to/{symptom.page})" in (DOCS / "index.md").read_text(encoding="utf-8")


@each
def test_messages_and_rules_link_to_the_symptom(symptom: Symptom) -> None:
    sections = known_messages(FOUND).split("\n### ")
    linking = [s.split()[0] for s in sections if f"(../how-to/{symptom.page})" in s]
    assert sorted(linking) == sorted(symptom.messages)
    text = rules.linked((DOCS / "rules.md").read_text(encoding="utf-8"), Sources(), FOUND)
    pages = [page for page in text.split("\n## ") if f"(how-to/{symptom.page})" in page]
    assert [page[:6] for page in pages] == sorted(c for c in symptom.rules if c.startswith("BYL"))


def test_page_of_a_rule_links_to_its_source() -> None:
    text = rules.linked((DOCS / "rules.md").read_text(encoding="utf-8"), Sources(), FOUND)
    pages = text.split("\n## ")[1:]
    assert len(pages) == len(all_rules())
    for page in pages:
        assert 'Source: <a class="source" href="source/byoc_lab/lab/linting/rules/' in page
