"""`lint` for modules of other languages, whose findings are computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, UnknownNameError, nearest
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.foreign import ForeignModule

RULES = {
    "BYR001": "composite-on-host",
    "BYR002": "missing-relax-codegen",
    "BYR003": "unmatched-pattern",
    "BYR004": "unbound-constant",
    "BYR005": "relax-free-variable",
    "BYR006": "shared-variable",
    "BYR007": "composite-without-back-end",
    "BYR008": "lowered-in-region",
    "BYR009": "unsupported-in-region",
    "BYR010": "lowered-before-match",
    "BYR011": "regions-before-merging",
    "BYR012": "norm-of-training",
    "BYR013": "uncomputed-result",
}
"""Codes and names of the rules for Relax, which `byoc_lab/relax/tracing/findings.py` checks."""
OF_TABLES = ("BYR003", "BYR004", "BYR010", "BYR011")
"""Rules whose findings are reported once, for the module in which patterns were matched."""
OF_PARTITIONED = ("BYR001", "BYR007", "BYR008", "BYR009")
"""Rules about functions that passes create for a back end."""
PAGE = "docs/relax.md"  # the page that describes these rules


def lint_foreign(
    mod: ForeignModule,
    found: Callable[[], Sequence[Finding]],
    rules: Sequence[str] | None,
    ignore: Iterable[Any],
) -> Findings:
    """The requested findings of a module of another language. rules, ignore: as for `lint`, but
    without lines.

    Raises ArgumentError for invalid arguments, UnknownNameError for an unknown rule, and the errors
    of `found`.
    """
    wanted = RULES.keys() if rules is None else set(_codes("rules", rules))
    left_out = set(_codes("ignore", ignore))
    chosen = [f for f in found() if f.code in wanted]
    kept = [f for f in chosen if not left_out & {f.code, f.node}]
    return Findings(kept, mod, len(chosen) - len(kept))


def _codes(what: str, named: Iterable[Any]) -> list[Any]:
    """The codes of rules given by code or name; nodes are returned unchanged. what: the name of the
    argument."""
    if not isinstance(named, (Iterable, Expr)):
        raise ArgumentError(
            f"{what} must be a list of codes or names of rules, found {type(named).__name__} "
            f"{named!r:.80}"
        )
    by_name = {name: code for code, name in RULES.items()}
    found = []
    for name in [named] if isinstance(named, (str, Expr)) else named:
        code = name if isinstance(name, Expr) or name in RULES else by_name.get(name)
        if code is None:
            raise UnknownNameError(
                f"no rule for modules of Relax is called {name!r:.80}; "
                f"{nearest(str(name), [*RULES, *by_name])} `byoc-lab rule` lists them"
            )
        found.append(code)
    return found
