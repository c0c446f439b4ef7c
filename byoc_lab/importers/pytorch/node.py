"""`Node`: one call of an exported PyTorch program as converters see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.expr import Constant, Expr


def operator_name(target: Any) -> str:
    """The full name of a call's operator: "aten::add.Tensor"."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return str(getattr(target, "__name__", target))
    return f"{schema.name}.{schema.overload_name or 'default'}"


def module_path(node: Any) -> str:
    """The path of the module that a call belongs to: "layer1.0.conv1"; "" for the model itself."""
    stack = module_stack(node)
    return str(list(stack.values())[-1][0]) if stack else ""


def module_stack(node: Any) -> dict[str, Any]:
    """The modules that contain a call, outermost first, as pairs of key and (path, class)."""
    stack = node.meta.get("nn_module_stack") or {}
    return {key: entry for key, entry in stack.items() if key.startswith("L__self__")}


def is_tensor_call(node: Any) -> bool:
    """Whether a call computes tensors; calls that compute sizes or check conditions do not."""
    value = node.meta.get("val")
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return hasattr(first, "dtype")


def place_of(node: Any) -> str:
    """The description of a call in messages and spans: its module's path and its name."""
    path = module_path(node)
    return f"{path}/{node.name}" if path else str(node.name)


def dtype_name(dtype: Any) -> str:
    """The name in Relay of a torch.dtype."""
    return str(dtype).removeprefix("torch.")


class Node:
    """The arguments of one call, by their names in the operator's schema.

    typed: infers the type of an expression. value: returns the expression for another call.
    """

    def __init__(self, node: Any, value: Callable[[Any], Any], typed: Callable[[Expr], Expr]):
        self.fx = node
        self.name = operator_name(node.target)
        self._value = value
        self.typed = typed
        self._arguments = _bound(node)
        self._sizes: dict[str, Any] = {}

    @property
    def overload(self) -> str:
        """The operator without its library and overload: "conv2d"."""
        return self.name.partition("::")[2].partition(".")[0]

    @property
    def place(self) -> str:
        """The description of this call in messages."""
        return f"node {place_of(self.fx)!r}, operator {self.name}"

    def fail(self, reason: str) -> NoReturn:
        """Raise the error that names this call and its operator."""
        raise UnsupportedOperatorError(f"{self.place}: {reason}")

    def raw(self, name: str) -> Any:
        """An argument as in the program: a call, a number, a list, a torch.dtype or None."""
        if name not in self._arguments:
            self.fail(f"argument {name} is missing")
        return self._arguments[name]

    def __getitem__(self, name: str) -> Any:
        """An argument: an expression for a tensor, a list of them, a plain value, or None."""
        return self._resolved(self.raw(name))

    def operands(self) -> list[Any]:
        """The arguments of a call of a Python operator."""
        return [self._resolved(a) for a in self.fx.args]

    def _resolved(self, argument: Any) -> Any:
        if hasattr(argument, "op") and hasattr(argument, "meta"):
            return self._value(argument)
        if isinstance(argument, (list, tuple)):
            return [self._resolved(a) for a in argument]
        return argument

    def tensor(self, name: str, dtype: str | None = None) -> Expr:
        """A tensor or number argument as an expression of the given data type."""
        given = self[name]
        if isinstance(given, Expr):
            own = self.dtype(name)
            return given if dtype in (None, own) else relay.cast(given, dtype)
        if isinstance(given, (bool, int, float)):
            wanted = dtype or self.result_dtype
            return Constant(np.asarray(given, _numpy_name(wanted)))
        self.fail(f"argument {name} must be a tensor or a number, found {type(given).__name__}")

    def shape_of(self, value: Any) -> tuple[Any, ...]:
        """The shape of a call's result. Sizes known at run time only are symbolic; they are equal
        if PyTorch has the same expression for them."""
        return tuple(self._size(n) for n in value.meta["val"].shape)

    def _size(self, size: Any) -> Any:
        if isinstance(size, int):
            return size
        return self._sizes.setdefault(str(size), symbol(str(size)))

    def size_at_run_time(self, size: Any) -> Expr | None:
        """One symbolic size as an int64 vector, taken from an argument or from the shape of an
        argument; None if neither contains it."""
        for given in self._arguments.values():
            for raw in given if isinstance(given, (list, tuple)) else [given]:
                value = getattr(raw, "meta", {}).get("val")
                if hasattr(value, "shape") and size in self.shape_of(raw):
                    at = self.shape_of(raw).index(size)
                    whole = relay.shape_of(self._value(raw), "int64")
                    return relay.strided_slice(whole, [at], [at + 1])
                if value is not None and str(value) == str(size):
                    found = self._value(raw)
                    if isinstance(found, Expr):
                        return relay.reshape(found, (1,))
        return None

    def shape(self, name: str = "self") -> tuple[Any, ...]:
        """The shape of an argument that is a tensor."""
        return self.shape_of(self.raw(name))

    def static(self, name: str = "self") -> tuple[int, ...]:
        """The shape of an argument, which must be static."""
        shape = self.shape(name)
        if not all(isinstance(n, int) for n in shape):
            self.fail(
                f"the shape of {name} must be static, found {shape}; export it with static sizes"
            )
        return tuple(int(n) for n in shape)

    def rank(self, name: str = "self") -> int:
        """The number of dimensions of an argument."""
        return len(self.raw(name).meta["val"].shape)

    def axis(self, name: str = "dim", of: str = "self") -> int:
        """An axis counted from 0."""
        return int(self[name]) % max(self.rank(of), 1)

    def dtype(self, name: str = "self") -> str:
        """The data type of an argument."""
        value = self.raw(name).meta["val"]
        return dtype_name(value.dtype) if hasattr(value, "dtype") else "int64"

    def reads(self, index: int) -> bool:
        """Whether the program uses the result at an index of several results."""
        return any(
            operator_name(u.target) == "getitem" and u.args[1] == index for u in self.fx.users
        )

    @property
    def result(self) -> Any:
        """The result's shape and data type according to PyTorch: a fake tensor."""
        return self.fx.meta["val"]

    @property
    def result_dtype(self) -> str:
        """The data type of the result, or of the first of several."""
        found = self.result
        return dtype_name((found[0] if isinstance(found, (list, tuple)) else found).dtype)

    @property
    def result_shape(self) -> list[Any]:
        """The shape of the result; sizes known at run time only are symbolic: see `shape_of`."""
        return [self._size(n) for n in self.result.shape]


def _numpy_name(dtype: str) -> Any:
    from byoc_lab.relay.ir.ndarray import numpy_dtype

    return numpy_dtype(dtype)


def _bound(node: Any) -> dict[str, Any]:
    """The arguments of a call by name, with defaults."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return {str(i): a for i, a in enumerate(node.args)}
    found = {}
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args):
            found[argument.name] = node.args[i]
        elif argument.name in node.kwargs:
            found[argument.name] = node.kwargs[argument.name]
        elif argument.has_default_value():
            found[argument.name] = argument.default_value
    return found


def pair(values: Any, count: int) -> list[int]:
    """A list of `count` numbers; a single number is repeated."""
    found = [values] if isinstance(values, int) else list(values)
    return [int(n) for n in (found * count if len(found) == 1 else found)]


def flat(values: Sequence[Any] | None) -> list[Any]:
    """A list that may be missing."""
    return [] if values is None else list(values)
