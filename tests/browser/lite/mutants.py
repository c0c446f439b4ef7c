"""Mutants of solutions: programs that differ from the solution of an exercise by one change."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from typing import Any

from byoc_lab.lessons.solutions import source

OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.Gt: ast.LtE(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
Change = Callable[[], None]


def mutants(name: str, count: int) -> list[str]:
    """Up to `count` mutants of an exercise's solution, the same in every run."""
    text = source(name)
    places = range(len(_changes(ast.parse(text))))
    found = dict.fromkeys(_changed(text, place) for place in places)
    found.pop(ast.unparse(ast.parse(text)), None)  # some changes have no effect on the text
    return random.Random(name).sample(list(found), min(count, len(found)))


def _changed(text: str, place: int) -> str:
    tree = ast.parse(text)
    _changes(tree)[place]()
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.Module) -> list[Change]:
    """All single changes of a program; apply each to a fresh tree."""
    return [change for node in ast.walk(tree) for change in _of(node)]


def _of(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant):
        for value in _other_values(node.value):
            yield _setting(node, "value", value)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITE:
        yield _setting(node, "ops", [OPPOSITE[type(node.ops[0])], *node.ops[1:]])
    elif isinstance(node, ast.Call) and node.args:
        yield _setting(node, "args", node.args[1:])
        if len(node.args) > 1:
            yield _setting(node, "args", node.args[::-1])
    elif isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
        yield _setting(node, "elts", node.elts[::-1])
        yield _setting(node, "elts", node.elts[1:])
    elif isinstance(node, ast.If):
        yield _setting(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.FunctionDef):
        for at in range(len(node.body)):
            yield _setting(node, "body", [*node.body[:at], ast.Pass(), *node.body[at + 1 :]])


def _setting(node: ast.AST, field: str, value: Any) -> Change:
    return lambda: setattr(node, field, value)


def _other_values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [value[1:], value + "x"] if isinstance(value, str) and value else []
