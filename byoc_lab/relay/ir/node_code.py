"""Functions of higher layers that methods of nodes, modules and patterns call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab.late import Slot


@dataclass(frozen=True)
class NodeCode:
    """The functions, all from `byoc_lab.relay`.

    print_text(obj, **options): the Relay text of an expression or module; options as of
        `relay.print_text`. print_shown(obj): the text that `str` returns.
    reduce(obj): the result of `__reduce__` for a node, type or module, for copying and pickling.
    matches(pattern, expr): whether an expression as a whole matches a dataflow pattern.
    partition(pattern, expr, attrs, check): the expression with each match in a separate function.
    pattern_text(pattern): a pattern as text.
    """

    print_text: Callable[..., str]
    print_shown: Callable[[Any], str]
    reduce: Callable[[Any], tuple[Any, ...]]
    matches: Callable[[Any, Any], bool]
    partition: Callable[..., Any]
    pattern_text: Callable[[Any], str]


NODE_CODE: Slot[NodeCode] = Slot()
