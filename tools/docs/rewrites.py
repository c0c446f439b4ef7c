"""The rewrites that each pass reports, with the lines of the source that make them.

They are read from the source, because no example triggers all rewrites of a pass.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from byoc_lab import passes
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.passes.framework.rewrite import RewriteRule

HOME = passes.__name__
FRAMEWORK = f"{HOME}.framework"
REPORTS = {"report", "report_function"}


@dataclass(frozen=True)
class Rewrite:
    """A rewrite, and where it is defined.

    name: the `rule` of its events; parts in angle brackets differ between events. file, line: of
    the function that performs it, or of the call that reports it.
    """

    name: str
    file: Path
    line: int

    def covers(self, rule: str) -> bool:
        """Whether the `rule` of an event belongs to this rewrite."""
        return re.fullmatch(re.sub("<.*?>", ".+", re.escape(self.name)), rule) is not None


def rewrites(cls: type[Pass]) -> list[Rewrite]:
    """The rewrites that a pass reports, in source order.

    For a pass that runs other passes, only its own rewrites.
    """
    if issubclass(cls, PatternRewrite):
        made = {type(callback): None for callback in cls().callbacks()}
        return [_of_object(callback.__name__, callback) for callback in made]
    return [found for module in _modules(sys.modules[cls.__module__]) for found in _read(module)]


def _of_object(name: str, value: Any) -> Rewrite:
    return Rewrite(name, Path(inspect.getfile(value)), inspect.getsourcelines(value)[1])


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """The module of a pass, and the modules in `passes` that it imports and that define no pass."""
    yield module
    seen = {module}
    waiting = [module]
    while waiting:
        for value in vars(waiting.pop()).values():
            home = sys.modules.get(getattr(value, "__module__", None) or "")
            if home and home not in seen and _helps(home):
                seen.add(home)
                waiting.append(home)
                yield home


def _helps(module: ModuleType) -> bool:
    inside = module.__name__.startswith(f"{HOME}.")
    return inside and not module.__name__.startswith(FRAMEWORK) and not _defines_pass(module)


def _defines_pass(module: ModuleType) -> bool:
    return any(
        inspect.isclass(value)
        and issubclass(value, Pass)
        and value.__module__ == module.__name__
        and not value.__name__.startswith("_")
        for value in vars(module).values()
    )


@cache
def _read(module: ModuleType) -> list[Rewrite]:
    """The rewrites that a module defines: rules, and reports outside rules."""
    file = Path(inspect.getfile(module))
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lines = {f.name: f.lineno for f in functions}
    once = {n for n in lines if sum(f.name == n for f in functions) == 1}
    found = {
        Rewrite(value.name, file, lines[name])
        for name, value in vars(module).items()
        if isinstance(value, RewriteRule) and name in lines
    }
    for call in ast.walk(tree):
        called = call.func if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(called, ast.Name):
            continue
        if called.id in REPORTS:
            found.add(Rewrite(_name(call.args[0]), file, call.lineno))
        elif called.id == RewriteRule.__name__ and isinstance(call.args[0], ast.Constant):
            function = _last_name(call.args[2])
            line = lines[function] if function in once else call.lineno
            found.add(Rewrite(_name(call.args[0]), file, line))
    return sorted(found, key=lambda rewrite: rewrite.line)


def _name(value: ast.expr) -> str:
    """The name that an expression produces, with inserted values in angle brackets."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.JoinedStr):
        return "".join(map(_name, value.values))
    return f"<{ast.unparse(value.value if isinstance(value, ast.FormattedValue) else value)}>"


def _last_name(value: ast.expr) -> str:
    return value.attr if isinstance(value, ast.Attribute) else ast.unparse(value)
