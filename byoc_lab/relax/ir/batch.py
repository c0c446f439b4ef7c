"""Relax sizes that are known at run time only: DNNL supports one, the leading batch axis.

A region is compiled for a batch of `NOMINAL`. If each sample is computed separately, the runtime
also creates primitives for other batch sizes when they first occur (native/README.md). A reshape to
a shape that contains the batch stays on the host, because Relax passes the shape as an operand.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, InputError
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.relax_values import is_variable, name_of, sizes_of
from byoc_lab.run.tvm_runtime import import_tvm

# Not 1, because a size of 1 would broadcast.
NOMINAL = 2
_assumed = ContextVar("assumed batch", default=NOMINAL)


@contextmanager
def assumed(size: int) -> Iterator[None]:
    """Within this context, translated modules with an unknown batch get a batch of this size."""
    token = _assumed.set(size)
    try:
        yield
    finally:
        _assumed.reset(token)


def nominal(size: Any) -> int:
    """The first size of a tensor: NOMINAL for a variable, or the `assumed` size. Raises BuildError
    for an expression that contains a variable: Relax would pass the variable to a region as an
    operand."""
    if is_number(size):
        return int(getattr(size, "value", size))
    if is_variable(size):
        return _assumed.get()
    raise BuildError(
        f"DNNL supports an unknown batch, but no expression that contains it, found {size}"
    )


def is_number(size: Any) -> bool:
    """Whether a size is known."""
    return isinstance(size, int | float) or hasattr(size, "value")


def unknown_sizes(function: Any) -> dict[str, list[tuple[int, int]]]:
    """The names of parameter sizes of a Relax function that are known at run time only, each with
    its positions: the numbers of parameters and of their axes."""
    found: dict[str, list[tuple[int, int]]] = {}
    for n, param in enumerate(function.params):
        for axis, size in enumerate(sizes_of(param.ty) or ()):
            if is_variable(size):
                found.setdefault(name_of(size), []).append((n, axis))
    return found


def sizes_for(function: Any, arguments: Sequence[Any] | None = None) -> dict[str, int]:
    """Values for the unknown sizes of a Relax function, taken from the arguments; without
    arguments, small distinct numbers. Raises InputError for an argument without that axis."""
    unknown = unknown_sizes(function)
    if arguments is None:
        return {name: NOMINAL + n for n, name in enumerate(unknown)}
    found = {}
    for name, ((n, axis), *_) in unknown.items():
        shape = np.shape(arguments[n])
        if len(shape) <= axis:
            raise InputError(
                f"input {n} gives the size {name} in axis {axis}, found shape {shape}; give an "
                f"array with that axis"
            )
        found[name] = shape[axis]
    return found


def with_sizes(mod: Any, sizes: Mapping[str, int]) -> Any:
    """A Relax module with the named sizes replaced by known sizes."""
    bind = import_tvm().relax.transform.BindSymbolicVars
    return bind(dict(sizes))(mod) if sizes else mod


def check_one_batch(sizes: Iterable[Any]) -> None:
    """Raise BuildError unless all unknown sizes are the same."""
    found: list[Any] = []
    for size in sizes:
        if not any(size.same_as(other) for other in found):
            found.append(size)
    if len(found) > 1:
        names = " and ".join(sorted(map(str, found)))
        raise BuildError(f"DNNL supports one unknown size, the batch, found {names}")


def why_not_per_sample(root: Expr, batches: Container[Expr]) -> str | None:
    """The reason that an expression on `batches` mixes samples; None if it computes each sample
    separately."""
    found: set[Expr] = set()
    for node in post_order(root):
        if node in batches or any(part in found for part in node.parts()):
            found.add(node)
        if node not in found or not isinstance(node, Call) or node.attrs is None:
            continue
        ty, attrs = node.checked_type, node.attrs
        axis = attrs.axis if "axis" in attrs else None
        if node.is_op("transpose"):
            axis = attrs.axes[0] if attrs.axes is not None else -1
            mixed = axis % len(ty.shape) != 0
        else:
            mixed = isinstance(axis, int) and axis % len(ty.shape) == 0
        if mixed:
            assert isinstance(node.op, Op)
            return f"{node.op.name} along axis {axis} mixes the samples of an unknown batch"
    return None
