"""print the page of a lint rule, or the list of all rules"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import OK, configure_format
from byoc_lab.output import to_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", help="a code (BYL001) or a name (missing-begin)")
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    from byoc_lab.lab.linting import all_rules, get_rule
    from byoc_lab.lab.linting.foreign import PAGE, RULES
    from byoc_lab.lab.linting.pages import page

    code = (options.rule or "").upper()
    if code in RULES:
        shown = f"{code} {RULES[code]}: a rule for modules of Relax; {PAGE} describes it"
        found = [_data(code, RULES[code], None, shown)]
    elif options.rule:
        rule = get_rule(options.rule)
        shown = page(rule)
        found = [_data(rule.code, rule.name, rule.severity.value, shown)]
    else:
        rules = all_rules()
        found = [_data(r.code, r.name, r.severity.value, None) for r in rules]
        found += [_data(c, name, None, None) for c, name in RULES.items()]
        rows = [(r["code"], r["severity"] or "Relax", r["name"]) for r in found]
        shown = "\n".join(f"{code}  {kind:8} {name}" for code, kind, name in rows)
    print(to_json("rules", {"rules": found}) if options.format == "json" else shown)
    return OK


def _data(code: str, name: str, severity: str | None, page: str | None) -> dict[str, str | None]:
    """A rule as plain data. severity: None for a Relax rule, because its findings have different
    severities."""
    return {"code": code, "name": name, "severity": severity, "page": page}
