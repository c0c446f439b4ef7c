"""`lint`: run every rule on a module and collect the findings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cache
from typing import Any, overload

from byoc_lab import display
from byoc_lab.errors import ArgumentError, DuplicateNameError, PassError, UnknownNameError
from byoc_lab.lab.linting.base import Finding, LintRule, Severity, Subject
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines


class Findings(Sequence[Finding]):
    """The findings of one run, in the order of the module's text; displays itself."""

    def __init__(self, found: Sequence[Finding], mod: IRModule):
        self._found = list(found)
        self.mod = mod

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._found[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self._found if f.severity is Severity.ERROR]

    def by_code(self, code: str) -> list[Finding]:
        return [f for f in self._found if f.code == code]

    def __str__(self) -> str:
        return "\n".join(map(str, self._found)) or "clean: no findings"

    def __repr__(self) -> str:
        return f"<{len(self)} findings: {', '.join(f.code for f in self) or 'clean'}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return display.mimebundle(self)


def lint(mod: IRModule | Function, rules: Sequence[str] | None = None) -> Findings:
    """Find all malformed annotations of `mod` at once, before partitioning.

    mod: a module, or a function. A function may be malformed in ways that a module does not allow,
        for example have free variables.
    rules: the codes or names of the rules to run; by default all.

    Raises UnknownNameError for a rule that does not exist.
    """
    if isinstance(mod, Function):
        mod = IRModule.unchecked(mod)
    if not isinstance(mod, IRModule):
        raise PassError(f"lint takes an IRModule or a Function, found {type(mod).__name__}")
    chosen = _choose(rules)
    found: list[Finding] = []
    for gv, func in mod.functions.items():
        subject = Subject(func, gv.name_hint, mod)
        for rule in chosen:
            found += rule.check(subject)
    return Findings(_in_text_order(found, mod) if found else [], mod)


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
                    raise DuplicateNameError(f"two rules have the code {cls.code}")
                found[cls.code] = cls()
    return tuple(found[code] for code in sorted(found))


def _choose(wanted: Sequence[str] | None) -> Sequence[LintRule]:
    if wanted is None:
        return all_rules()
    if isinstance(wanted, str):
        wanted = [wanted]
    if not isinstance(wanted, (Sequence, Set)) or not all(isinstance(w, str) for w in wanted):
        raise ArgumentError(
            f"rules must be a list of codes or names of rules, found {type(wanted).__name__} "
            f"{wanted!r:.80}"
        )
    by_name = {key: r for r in all_rules() for key in (r.code, r.name)}
    unknown = [w for w in wanted if w not in by_name]
    if unknown:
        known = ", ".join(f"{r.code} ({r.name})" for r in all_rules())
        raise UnknownNameError(f"unknown lint rule {', '.join(unknown)}; the rules are {known}")
    return [by_name[w] for w in wanted]


def _in_text_order(found: list[Finding], mod: IRModule) -> list[Finding]:
    """The findings with their lines, in the order of the printed module."""
    line_of: dict[Expr | None, tuple[int, str]] = {}
    for number, line in enumerate(print_lines(mod, show_meta_data=False, show_types=False)):
        if line.node is not None:
            line_of.setdefault(line.node, (number, line.text.strip()))
    end = len(line_of) + 1_000_000

    def place(f: Finding) -> tuple[int, str]:
        return line_of.get(f.node, (end, ""))

    return [replace(f, place=place(f)[1]) for f in sorted(found, key=lambda f: place(f)[0])]
