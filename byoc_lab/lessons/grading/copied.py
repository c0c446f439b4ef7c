"""Detects answers that copy the part of byoc_lab that they must reimplement."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from byoc_lab.lessons.grading.alike import code_shapes, trees

COPIED = 0.5  # share of a function's shapes from which an answer is reported


def copied(replaces: Sequence[Callable[..., Any]], cells: Sequence[str]) -> list[str]:
    """Notes about code that names or repeats a function that it replaces, by the structure of its
    syntax tree: renamed variables, comments and a different order of functions do not hide a
    copy."""
    notes = []
    own, named = code_shapes(cells), set(_names(cells))
    for function in replaces:
        whole = code_shapes([textwrap.dedent(inspect.getsource(function))])
        share = len(whole & own) / len(whole)
        owner = function.__qualname__.partition(".")[0]
        if share >= COPIED:
            notes.append(f"{share:.0%} of byoc_lab's {function.__qualname__} is in its code")
        if owner in named:
            notes.append(f"its code names {owner}, whose work it is to do itself")
    return notes


def _names(cells: Sequence[str]) -> Iterator[str]:
    """The names and texts in code, including attributes and imports; texts, because `getattr` takes
    a text."""
    for tree in trees(cells):
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Attribute):
                yield node.attr
            elif isinstance(node, ast.alias):
                yield node.name
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
