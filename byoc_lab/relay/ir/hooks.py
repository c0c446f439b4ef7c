"""Hooks by which nodes, modules and patterns call code of higher layers.

`expr.astext()` needs the printer, and the printer needs the nodes. To keep imports one-way, methods
of such classes call the functions below, which call the functions given to `provide`;
`byoc_lab.relay` provides all of them when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_provided: dict[str, Callable[..., Any]] = {}


def provide(**functions: Callable[..., Any]) -> None:
    """Set the function that each hook calls: `provide(print_text=printer.print_text, ...)`."""
    _provided.update(functions)


def print_text(obj: Any, **options: Any) -> str:
    """The Relay text of an expression or module; options as of `relay.print_text`."""
    return _provided["print_text"](obj, **options)


def print_shown(obj: Any) -> str:
    """The Relay text that `str` returns."""
    return _provided["print_shown"](obj)


def reduce(obj: Any) -> tuple[Any, ...]:
    """The result of `__reduce__` for a node, type or module, for copying and pickling."""
    return _provided["reduce"](obj)


def matches(pattern: Any, expr: Any) -> bool:
    """Whether an expression as a whole matches a dataflow pattern."""
    return _provided["matches"](pattern, expr)


def pattern_text(pattern: Any) -> str:
    """A dataflow pattern as text."""
    return _provided["pattern_text"](pattern)


def partition(pattern: Any, expr: Any, attrs: Any, check: Callable[[Any], bool]) -> Any:
    """`expr` with every match of a dataflow pattern moved into a separate function."""
    return _provided["partition"](pattern, expr, attrs, check)
