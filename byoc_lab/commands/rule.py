"""print the page of a lint rule, or the list of all rules"""

from __future__ import annotations

import argparse

from byoc_lab.commands.shared import OK


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", help="a code (BYL001) or a name (missing-begin)")


def run(options: argparse.Namespace) -> int:
    from byoc_lab.lab.linting import all_rules, get_rule
    from byoc_lab.lab.linting.foreign import PAGE, RULES
    from byoc_lab.lab.linting.pages import page

    if options.rule and options.rule.upper() in RULES:
        code = options.rule.upper()
        print(f"{code} {RULES[code]}: a rule for modules of Relax; {PAGE} describes it")
    elif options.rule:
        print(page(get_rule(options.rule)))
    else:
        for rule in all_rules():
            print(f"{rule.code}  {rule.severity.value:8} {rule.name}")
        for code, name in RULES.items():
            print(f"{code}  {'Relax':8} {name}")
    return OK
