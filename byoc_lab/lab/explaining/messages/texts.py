"""The texts that expressions of a Python source can produce: fixed parts, and values between
them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby, product

Text = tuple[str | None, ...]
"""Fixed parts of a text, and None for each value in it."""
VALUE: list[Text] = [(None,)]
MOST = 24
"""Maximum number of texts of one expression; an expression with more counts as a value."""


class Texts:
    """The texts of the expressions of a module. Follows variables with a single value in their
    function, and calls of the module's functions."""

    def __init__(self, module: ast.Module):
        self._functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
        self._assigned: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}
        self._home: dict[ast.AST, ast.AST] = {}
        self._read(module, module)

    def of(self, expr: ast.expr) -> list[Text]:
        """The texts that an expression can produce, without duplicates."""
        return list(dict.fromkeys(map(_joined, self._of(expr, frozenset()))))

    def _of(self, expr: ast.expr, open_: frozenset[ast.AST]) -> list[Text]:
        if expr in open_:
            return VALUE
        found = self._alternatives(expr, open_ | {expr})
        return found if len(found) <= MOST else VALUE

    def _alternatives(self, expr: ast.expr, open_: frozenset[ast.AST]) -> list[Text]:
        if isinstance(expr, ast.Constant) and isinstance(expr.value, str):
            return [(expr.value,)]
        if isinstance(expr, ast.JoinedStr):
            return self._sequence(expr.values, open_)
        if isinstance(expr, ast.FormattedValue):
            return self._of(expr.value, open_)
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
            return self._sequence([expr.left, expr.right], open_)
        if isinstance(expr, ast.IfExp):
            return [*self._of(expr.body, open_), *self._of(expr.orelse, open_)]
        if isinstance(expr, ast.Name):
            assigned = self._assigned.get(self._home[expr], {}).get(expr.id, [])
            only = assigned[0] if len(assigned) == 1 else None
            return VALUE if only is None else self._of(only, open_)
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name):
            function = self._functions.get(expr.func.id)
            returned = [] if function is None else list(_returned(function))
            return [text for value in returned for text in self._of(value, open_)] or VALUE
        return VALUE

    def _sequence(self, parts: list[ast.expr], open_: frozenset[ast.AST]) -> list[Text]:
        found: list[Text] = [()]
        for part in parts:
            found = [(*a, *b) for a, b in product(found, self._of(part, open_))]
            if len(found) > MOST:
                return VALUE
        return found

    def _read(self, node: ast.AST, home: ast.AST) -> None:
        """Record the function around each expression and the values assigned to its variables: None
        for values that are not expressions, such as those of a loop."""
        for child in ast.iter_child_nodes(node):
            self._home[child] = home
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                plain = isinstance(node, ast.Assign) and child in node.targets
                value = node.value if plain and isinstance(node, ast.Assign) else None
                self._values(home, child.id).append(value)
            elif isinstance(child, ast.arg):
                self._values(home, child.arg).append(None)
            is_function = isinstance(child, (ast.FunctionDef, ast.Lambda))
            self._read(child, child if is_function else home)

    def _values(self, home: ast.AST, name: str) -> list[ast.expr | None]:
        return self._assigned.setdefault(home, {}).setdefault(name, [])


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _joined(text: Text) -> Text:
    """A text with adjacent fixed parts joined."""
    found: list[str | None] = []
    for is_value, parts in groupby(text, key=lambda part: part is None):
        joined = "".join(part for part in parts if part)
        if is_value or joined:
            found.append(None if is_value else joined)
    return tuple(found)
