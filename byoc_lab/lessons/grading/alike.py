"""Common structure of answers: of their code, as syntax trees, and of their modules."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

from IPython.core.inputtransformer2 import TransformerManager

from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

CODE, MODULE = "code", "module"
DEPTH = 3  # levels below a node that belong to its shape
MOST = 400  # number of shapes that are kept of an answer, chosen alike for every answer
LEAST_ANSWERS = 6  # minimum number of answers; among fewer, no shape is rare
RARE = 0.1  # share of the answers; more frequent shapes are not evidence
LEAST_COMMON, LEAST_SHARE = 5, 0.5  # minimum of rare shapes of a reported pair

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Pair:
    """Two answers to an exercise that share many rare shapes.

    kind: CODE or MODULE. share: the common rare shapes divided by the rare shapes of either, from 0
    to 1. common: the number of common rare shapes.
    """

    exercise: str
    kind: str
    student: str
    other: str
    share: float
    common: int


def code_shapes(cells: Iterable[str]) -> set[str]:
    """The shapes of code, ignoring names that it defines, comments, annotations and docstrings. A
    cell that is not Python has none."""
    found: set[str] = set()
    for tree in trees(cells):
        nodes: list[ast.AST] = [tree]
        for node in nodes:  # the list grows: parents come before their children
            nodes += _parts(node)
        own = _own_names(nodes)
        found |= _shapes(nodes[::-1], partial(_syntax, own=own), _parts)
    return found


def trees(cells: Iterable[str]) -> Iterator[ast.Module]:
    """The syntax trees of the Python cells, including the code below a magic such as `%%time`.
    Magics and commands become calls, as in Jupyter."""
    for cell in cells:
        code = re.sub(r"\A\s*%%.*\n", "", cell)
        try:
            yield ast.parse(TransformerManager().transform_cell(code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def module_shapes(value: Any) -> set[str]:
    """The shapes of a module, or of all modules in a list; none of other values."""
    if isinstance(value, (list, tuple)):
        return set().union(*map(module_shapes, value))
    functions = value.functions.values() if isinstance(value, IRModule) else [value]
    found: set[str] = set()
    for function in functions:
        if isinstance(function, Expr):
            found |= _shapes(post_order(function), _operation, lambda node: node.parts())
    return found


def kept(kind: str, shapes: Iterable[str]) -> tuple[str, ...]:
    """The shapes that are stored with a grade."""
    return tuple(f"{kind} {each}" for each in sorted(shapes)[:MOST])


def pairs(shapes: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Pair]:
    """The pairs of similar answers, the most similar first. shapes: the results of `kept`, by
    exercise and student."""
    found = []
    for exercise, of in shapes.items():
        for kind in (CODE, MODULE):
            sets = {s: {each for each in all_ if each.startswith(f"{kind} ")}
                    for s, all_ in of.items()}  # fmt: skip
            found += _pairs(exercise, kind, {s: each for s, each in sets.items() if each})
    return sorted(found, key=lambda pair: (-pair.share, -pair.common, pair.exercise, pair.student))


def _pairs(exercise: str, kind: str, of: Mapping[str, set[str]]) -> list[Pair]:
    if len(of) < LEAST_ANSWERS:
        return []
    count = Counter(shape for shapes in of.values() for shape in shapes)
    most = max(2, int(RARE * len(of)))
    rare = {s: {each for each in shapes if count[each] <= most} for s, shapes in of.items()}
    holders: dict[str, list[str]] = defaultdict(list)
    for student, shapes in rare.items():
        for shape in shapes:
            holders[shape].append(student)
    common = Counter(pair for students in holders.values() for pair in combinations(students, 2))
    found = []
    for (a, b), n in common.items():
        share = n / len(rare[a] | rare[b])
        if n >= LEAST_COMMON and share >= LEAST_SHARE:
            found.append(Pair(exercise, kind, a, b, share, n))
    return found


def _shapes(
    nodes: Iterable[Node], own: Callable[[Node], str], parts: Callable[[Node], Iterable[Node]]
) -> set[str]:
    """A digest of each node that has parts, with DEPTH levels below it. nodes: parts precede their
    parents."""
    ordered = list(nodes)
    texts = {node: own(node) for node in ordered}
    digests = {node: _digest(text) for node, text in texts.items()}
    inner: set[Node] = set()
    for _ in range(DEPTH):
        above = {}
        for node in ordered:
            below = [digests[part] for part in parts(node) if part in digests]
            if below:
                inner.add(node)
            above[node] = _digest(texts[node], *below)
        digests = above
    return {digests[node] for node in inner}


def _digest(*texts: str) -> str:
    data = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=6).hexdigest()


def _own_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that code defines: variables, parameters, functions and classes."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found


def _parts(node: ast.AST) -> list[ast.AST]:
    types = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
    parts = (part for part in ast.iter_child_nodes(node) if id(part) not in types)
    return [p for p in parts if not isinstance(p, ast.expr_context) and not _is_text(p)]


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring or a text without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _syntax(node: ast.AST, own: set[str]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Name):
        return kind if node.id in own else f"{kind} {node.id}"
    if isinstance(node, ast.Attribute):
        return f"{kind} {node.attr}"
    if isinstance(node, ast.Constant):
        return f"{kind} {node.value!r:.200}"
    if isinstance(node, (ast.alias, ast.keyword)):
        return f"{kind} {node.name if isinstance(node, ast.alias) else node.arg}"
    return kind


def _operation(node: Expr) -> str:
    kind = type(node).__name__
    if isinstance(node, Op):
        return f"{kind} {node.name}"
    if isinstance(node, (Call, Function)):
        return f"{kind} {node.attrs}"
    if isinstance(node, TupleGetItem):
        return f"{kind} {node.index}"
    return kind
