"""The functions that a script calls: `relay.nn.conv2d`, `relay.add`, ...

Most follow from an operator's definition (`registry.builder`). Where TVM's Python function does
more than make the call (`nn.dropout` takes a projection, `nn.pad` makes a constant), it is written
beside the definition and marked with `@builds`; where it only takes its arguments in another
order, `reordered` says in which.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from byoc_lab.relay.expr import Op
from byoc_lab.relay.op.registry import builder, builders

_WRITTEN: dict[str, Callable[..., Any]] = {}


def builds(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as what `relay.<name>` is, instead of the builder that would be made."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _WRITTEN[name] = function
        return function

    return register


def reordered(op: Op, parameters: str) -> None:
    """Make `relay.<op's name>` take its parameters in this order: that of TVM's Python function.

    The attributes are in the order of the text format, which may be another one.
    """
    build = builder(op)
    own = inspect.signature(build)
    if set(parameters.split()) != set(own.parameters):
        raise ValueError(f"{op.name} takes {', '.join(own.parameters)}, found {parameters!r}")
    signature = own.replace(parameters=[own.parameters[name] for name in parameters.split()])

    def ordered(*args: Any, **kwargs: Any) -> Any:
        return build(**signature.bind(*args, **kwargs).arguments)

    ordered.__name__ = ordered.__qualname__ = build.__name__
    ordered.__signature__ = signature  # type: ignore[attr-defined]
    ordered.__doc__ = build.__doc__
    builds(op.name)(ordered)


def function(name: str) -> Callable[..., Any]:
    """What `relay.<name>` is, for code that comes before `relay` does. Raises UnknownNameError."""
    return _WRITTEN.get(name) or builder(Op.get(name))


def namespace(prefix: str = "") -> dict[str, Callable[..., Any]]:
    """The functions named `prefix` + one plain word, by that word."""
    written = {n[len(prefix) :]: f for n, f in _WRITTEN.items() if n.startswith(prefix)}
    return {**builders(prefix, _WRITTEN), **{n: f for n, f in written.items() if "." not in n}}
