"""The condition at which a check in Python refused, read from its source where it returned."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from byoc_lab.relay.op.framework.from_relax import plain

SHOWN = 60
"""Characters of a value that are shown."""


def refusing_condition(check: Callable[[Any], Any], argument: Any) -> str:
    """The condition for which a check refuses an argument, with its values, in words; "" if its
    source does not tell. The check is asked once more, and watched."""
    frames: list[FrameType] = []
    lines: list[int] = []

    def watch(frame: FrameType, event: str, value: Any) -> Any:
        lines.append(frame.f_lineno)
        return watch

    def enter(frame: FrameType, event: str, value: Any) -> Any:
        if frame.f_back is not here:
            return None
        frames.append(frame)
        return watch

    here, before = sys._getframe(), sys.gettrace()
    sys.settrace(enter)
    try:
        refused = not check(argument)
    finally:
        sys.settrace(before)
    if not refused or not frames:
        return ""
    code, names = frames[0].f_code, {**frames[0].f_globals, **frames[0].f_locals}
    for line, condition, holds in _conditions(code, lines):
        part = _deciding(condition, holds, names)
        values = ", ".join(_values(part, names))
        verb = "is true" if holds else "is false"
        place = f"{Path(code.co_filename).name}:{line}"
        return f"`{ast.unparse(part)}` {verb}{f' with {values}' if values else ''} ({place})"
    return ""


def _conditions(code: CodeType, lines: Sequence[int]) -> Iterator[tuple[int, ast.expr, bool]]:
    """The condition that leads to the return among the lines that a function ran, with the line and
    its value: that of the innermost `if` around a constant, or what is returned."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):  # no source, or that of a lambda inside of a call
        return
    first = code.co_firstlineno
    if code.co_name == "<lambda>":
        lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
        if len(lambdas) == 1:  # of several on these lines it is not known which one it is
            yield first, lambdas[0].body, False
        return
    ran = {line - first + 1 for line in lines}
    todo: list[tuple[ast.AST, tuple[tuple[ast.expr, bool], ...]]] = [(tree.body[0], ())]
    while todo:
        statement, around = todo.pop()
        if isinstance(statement, ast.Return) and ran & _lines(statement):
            line = statement.lineno + first - 1
            if not isinstance(statement.value, ast.Constant | None):
                yield line, statement.value, False
            elif around:
                yield line, *around[-1]
        for name, inside in ast.iter_fields(statement):
            if not isinstance(inside, list):
                continue
            led = around
            if isinstance(statement, ast.If):
                led = (*around, (statement.test, name == "body"))
            scopes = (ast.FunctionDef, ast.ClassDef)
            todo += [(n, led) for n in inside if isinstance(n, ast.stmt) and type(n) not in scopes]


def _lines(statement: ast.stmt) -> set[int]:
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def _deciding(condition: ast.expr, holds: bool, names: dict[str, Any]) -> ast.expr:
    """The first operand of `or` that is true, or of `and` that is false, if one alone decides."""
    decides = ast.Or if holds else ast.And
    if not isinstance(condition, ast.BoolOp) or not isinstance(condition.op, decides):
        return condition
    for operand in condition.values:
        known, value = _value(operand, names)
        if not known:
            return condition
        if bool(value) is holds:
            return _deciding(operand, holds, names)
    return condition


def _value(part: ast.expr, names: dict[str, Any]) -> tuple[bool, Any]:
    """Whether an expression has a value outside of its function, and the value."""
    try:
        return True, eval(compile(ast.Expression(part), "<condition>", "eval"), names)
    except Exception:  # whatever the expression of a user raises, it has no value here
        return False, None


def _values(part: ast.expr, names: dict[str, Any]) -> Iterator[str]:
    """The names, attributes and elements in a condition that have short values."""
    todo: list[ast.AST] = [part]
    seen: set[str] = set()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            known, value = _value(node, names)
            value = plain(value)
            text, shown = ast.unparse(node), repr(value) if isinstance(value, str) else str(value)
            simple = not callable(value) and not inspect.ismodule(value)
            if known and simple and len(shown) <= SHOWN and "\n" not in shown and text not in seen:
                seen.add(text)
                yield f"{text} = {shown}"
                continue
        if isinstance(node, ast.Call):
            todo += reversed([*node.args, *(k.value for k in node.keywords)])
            if isinstance(node.func, ast.Attribute):
                todo.append(node.func.value)
        else:
            todo += reversed(list(ast.iter_child_nodes(node)))
