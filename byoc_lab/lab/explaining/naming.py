"""The names by which explanations refer to nodes, as in the printed module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines


class NodeNames:
    """The names that `print(mod)` gives to nodes: `%12`, `%y` of a let, "result of @main"."""

    def __init__(self, mod: IRModule):
        self._mod = mod

    def of(self, node: Expr) -> str:
        """The name of a node; "" if the text gives it none, as in a branch of an if."""
        return self._names.get(node, "")

    @cached_property
    def _names(self) -> dict[Expr, str]:
        return dict(self._named())

    def _named(self) -> Iterator[tuple[Expr, str]]:
        for line in print_lines(self._mod, False, header=False, show_types=False):
            if line.node is not None and line.defines:
                yield line.node, line.defines
        for gv, func in self._mod.functions.items():
            if not isinstance(func, Function):
                continue
            yield func, f"@{gv.name_hint}"
            result = func.body
            while isinstance(result, Let):
                result = result.body
            if isinstance(result, (Call, Tuple, TupleGetItem)):
                yield result, f"result of @{gv.name_hint}"


def kind(node: Expr) -> str:
    """A node in words without its name: its operator, or its kind."""
    if isinstance(node, Call):
        return node.op_name or describe(node)
    if isinstance(node, Constant) and node.data.view().ndim == 0:
        return f"constant {node.data.view():.7g}"
    if isinstance(node, Tuple):
        return f"a tuple of {len(node.fields)}"
    if isinstance(node, TupleGetItem):
        return f"field {node.index} of {kind(node.tuple_value)}"
    return describe(node)


def counts_in_words(names: Mapping[str, int]) -> str:
    """Counts in words, such as "2 nn.conv2d, 1 add"."""
    return ", ".join(f"{count} {name}" for name, count in names.items())


def named(node: Expr, names: NodeNames, origin: Expr | None) -> str:
    """A node with its name: `nn.relu (%12)`; for a node that passes created, with the name of its
    `origin`: `add (from nn.batch_norm, %7)`."""
    if isinstance(node, Var):
        return describe(node)
    own = names.of(node)
    if own and isinstance(node, Function):
        return f"the function {own}"
    if not own and origin is not None:
        own = names.of(origin)
        if own and kind(origin) != kind(node):
            return f"{kind(node)} (from {kind(origin)}, {own})"
    return f"{kind(node)} ({own})" if own else kind(node)
