"""The lint rules, found in `rules/` by discovery."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence, Set
from functools import cache

from byoc_lab.errors import ArgumentError, DuplicateNameError, UnknownNameError, nearest
from byoc_lab.lab.linting.base import LintRule


@cache
def all_rules() -> tuple[LintRule, ...]:
    """Every rule in `byoc_lab/lab/linting/rules`, sorted by code."""
    from byoc_lab.lab.linting import rules as package

    found: dict[str, LintRule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for cls in vars(module).values():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, LintRule):
                if cls.code in found:
                    raise DuplicateNameError(
                        f"two rules have the code {cls.code}: {type(found[cls.code]).__qualname__} "
                        f"and {cls.__qualname__}; change one"
                    )
                found[cls.code] = cls()
    return tuple(found[code] for code in sorted(found))


@cache
def rule_names() -> Mapping[str, LintRule]:
    """The rules, by code and by name."""
    return {key: r for r in all_rules() for key in (r.code, r.name)}


def get_rule(name: str) -> LintRule:
    """The rule with this code or name, in upper or lower case. Raises UnknownNameError."""
    for key in (name, name.upper(), name.lower()):
        if key in rule_names():
            return rule_names()[key]
    raise UnknownNameError(
        f"no lint rule is called {name!r:.80}; {nearest(name, rule_names())} `byoc-lab rule` "
        f"lists them"
    )


def chosen_rules(wanted: Sequence[str] | None) -> Sequence[LintRule]:
    """The rules with these codes or names; all rules for None. Raises ArgumentError,
    UnknownNameError."""
    if wanted is None:
        return all_rules()
    if isinstance(wanted, str):
        wanted = [wanted]
    if not isinstance(wanted, (Sequence, Set)) or not all(isinstance(w, str) for w in wanted):
        raise ArgumentError(
            f"rules must be a list of codes or names of rules, found {type(wanted).__name__} "
            f"{wanted!r:.80}"
        )
    return [get_rule(name) for name in wanted]
