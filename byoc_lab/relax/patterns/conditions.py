"""The condition that made a Python check refuse, read from the source of the executed return."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from byoc_lab.relay.op.framework.from_relax import plain

SHOWN = 60
"""Maximum number of characters of a displayed value."""
Verdict = bool | str
"""Whether a condition is true, or a text that states its consequence."""
_BRANCHES = (ast.stmt, ast.match_case, ast.ExceptHandler)
_SCOPES = (ast.FunctionDef, ast.ClassDef)


def refusing_condition(check: Callable[[Any], Any], argument: Any) -> str:
    """The condition for which a check refuses an argument, with its values, as text; "" if the
    source does not show it. The check is run once more with tracing."""
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
    for line, condition, verdict in _conditions(code, set(lines)):
        part, said = condition, verdict
        if isinstance(said, bool):
            known, value = _value(condition, names)
            if known and bool(value) is not said:
                continue  # in the executed line, but not the taken condition
            part = _deciding(condition, said, names)
            said = "is true" if said else "is false"
        values = ", ".join(_values(part, names))
        place = f"{Path(code.co_filename).name}:{line}"
        return f"`{ast.unparse(part)}` {said}{f' with {values}' if values else ''} ({place})"
    return ""


def _conditions(code: CodeType, ran: set[int]) -> Iterator[tuple[int, ast.expr, Verdict]]:
    """The conditions in the executed lines of a function that lead to its return, each with its
    line and outcome: the innermost branch around a returned constant, or the returned expression.
    """
    scope = _source(code)
    if isinstance(scope, ast.Lambda):
        yield code.co_firstlineno, scope.body, False
    todo: list[tuple[ast.AST, tuple[tuple[ast.expr, Verdict], ...]]] = []
    if isinstance(scope, ast.FunctionDef):
        todo += [(statement, ()) for statement in scope.body]
    while todo:
        statement, around = todo.pop()
        if isinstance(statement, ast.Return) and ran & _lines(statement):
            if not isinstance(statement.value, ast.Constant | None):
                yield statement.lineno, statement.value, False
            elif around:
                yield statement.lineno, *around[-1]
        for name, inside in ast.iter_fields(statement):
            for node in inside if isinstance(inside, list) else ():
                if isinstance(node, _BRANCHES) and not isinstance(node, _SCOPES):
                    todo.append((node, (*around, *_leading(statement, name, node))))


def _leading(statement: ast.AST, name: str, inside: ast.AST) -> Iterator[tuple[ast.expr, Verdict]]:
    """The condition that decides whether a part of a statement runs, if there is one."""
    if isinstance(statement, ast.If):
        yield statement.test, name == "body"
    elif isinstance(statement, ast.Match) and isinstance(inside, ast.match_case):
        guard = f" if {ast.unparse(inside.guard)}" if inside.guard else ""
        yield statement.subject, f"matches `case {ast.unparse(inside.pattern)}{guard}`"
    elif isinstance(inside, ast.ExceptHandler):
        yield inside.type or ast.Name("BaseException"), "is raised and caught"


def _source(code: CodeType) -> ast.AST | None:
    """The syntax tree of a function, found from its code object; None if the source is unknown."""
    try:
        tree = ast.parse("".join(inspect.findsource(code)[0]))
    except (OSError, TypeError, SyntaxError):  # without source, or not pure Python
        return None
    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    found = [n for n in ast.walk(tree) if isinstance(n, kind) and _begin(n) == code.co_firstlineno]
    if len(found) > 1 and hasattr(code, "co_positions"):  # several lambdas in one line
        places = {(start, end) for _, _, start, end in code.co_positions()}
        bodies = [(n, n.body) for n in found if isinstance(n, ast.Lambda)]
        found = [n for n, body in bodies if (body.col_offset, body.end_col_offset) in places]
    return found[0] if len(found) == 1 else None


def _begin(scope: ast.Lambda | ast.FunctionDef) -> int:
    decorators = scope.decorator_list if isinstance(scope, ast.FunctionDef) else []
    return decorators[0].lineno if decorators else scope.lineno


def _lines(statement: ast.stmt) -> set[int]:
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def _deciding(condition: ast.expr, holds: bool, names: dict[str, Any]) -> ast.expr:
    """The first true operand of `or`, or the first false operand of `and`, if it alone decides."""
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
    """Whether an expression can be evaluated outside its function, and its value."""
    try:
        return True, eval(compile(ast.Expression(part), "<condition>", "eval"), names)
    except Exception:  # if a user's expression raises any error, it has no value here
        return False, None


def _values(part: ast.expr, names: dict[str, Any]) -> Iterator[str]:
    """The names, attributes and elements in a condition, with their values if these are short."""
    todo: list[ast.AST] = [part]
    seen: set[str] = set()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            known, raw = _value(node, names)
            value = plain(raw)
            text, shown = ast.unparse(node), repr(value) if isinstance(value, str) else str(value)
            simple = not callable(value) and not isinstance(raw, type | ModuleType)
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
