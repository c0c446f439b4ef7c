"""Additions of the site to the page of each lint rule: its source, and the symptoms it explains."""

from __future__ import annotations

import re

from byoc_lab.lab.linting import all_rules, foreign, get_rule
from tools.docs.source import Sources
from tools.docs.symptoms import Symptom

HEADING = re.compile(r"^## (BYL\d+) .*\n\n.*$", re.M)


def addresses() -> dict[str, str]:
    """The page and the anchor of each rule, by its code."""
    pages = {rule.code: f"rules.md#{rule.code.lower()}-{rule.name}" for rule in all_rules()}
    return pages | dict.fromkeys(foreign.RULES, "relax.md#findings")


def linked(text: str, sources: Sources, found: list[Symptom]) -> str:
    """docs/rules.md with these links below each rule's heading and severity."""

    def added(match: re.Match[str]) -> str:
        code = match[1]
        seen = ", ".join(f"[{s.title}](how-to/{s.page})" for s in found if code in s.rules)
        source = sources.link(type(get_rule(code)), up="")
        return "".join([match[0], f"\n\nSeen as: {seen}." if seen else "", f"\n\nSource: {source}"])

    return HEADING.sub(added, text)
