"""Converts the calls of an exported program, and keeps modules as composite functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, ImporterError, UnsupportedOperatorError
from byoc_lab.importers.expr_normalizer import ExprNormalizer
from byoc_lab.importers.pytorch.converters import converter_of
from byoc_lab.importers.pytorch.node import Node, dtype_name, is_tensor_call, module_stack, place_of
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var


class Kept:
    """One instance of a module class that becomes a composite function.

    path: of the module. name: the composite's. calls: its calls in the program, in order.
    """

    def __init__(self, path: str, name: str):
        self.path, self.name = path, name
        self.calls: list[Any] = []
        self.values: dict[Any, Any] = {}
        self.inputs: dict[tuple[Any, int | None], Var] = {}
        self.arguments: list[Expr] = []


class GraphConverter:
    """Converts calls, and keeps the value of each call for its users.

    keep: composite names by the full names of module classes.
    """

    def __init__(self, keep: Mapping[str, str]):
        self.normalizer = ExprNormalizer()
        self.values: dict[Any, Any] = {}
        self.weights: set[Any] = set()
        self.keep = keep
        self.found: set[str] = set()

    def convert(self, calls: list[Any]) -> None:
        """Convert all calls, in order."""
        owners = self._owners(calls)
        for call in calls:
            kept = owners.get(call)
            with self.normalizer.placed(place_of(call)):
                if kept is None:
                    self.values[call] = self._converted(call, None)
                    continue
                kept.values[call] = self._converted(call, kept)
                if call is kept.calls[-1]:
                    self._close(kept)

    def _owners(self, calls: list[Any]) -> dict[Any, Kept]:
        """The kept module that each call belongs to: the outermost one."""
        instances: dict[str, Kept] = {}
        owners = {}
        for call in calls:
            for key, (path, kind) in module_stack(call).items():
                name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
                if name in self.keep:
                    self.found.add(name)
                    if call not in owners:
                        owners[call] = instances.setdefault(key, Kept(path, self.keep[name]))
                        owners[call].calls.append(call)
        return owners

    def _converted(self, call: Any, kept: Kept | None) -> Any:
        node = Node(call, lambda other: self._value(other, kept, call), self.normalizer)
        if not is_tensor_call(call):
            return self._settled(length(node))
        if node.name == "getitem":
            return node["0"][call.args[1]]
        converter = converter_of(node.name)
        assert converter is not None  # checked by from_pytorch
        try:
            found = self._settled(converter(node))
        except UnsupportedOperatorError:
            raise
        except ByocLabError as error:
            raise UnsupportedOperatorError(f"{node.place}: {error}") from error
        _check_types(node, found)
        return found

    def _settled(self, found: Any) -> Any:
        if isinstance(found, (tuple, list)):
            return [None if f is None else self.normalizer(f) for f in found]
        return self.normalizer(found) if isinstance(found, Expr) else found

    def _value(self, other: Any, kept: Kept | None, user: Any) -> Any:
        """The value of a call at its use by `user`, which may be inside or outside the same kept
        module."""
        if kept is not None and other in kept.values:
            return kept.values[other]
        if other not in self.values:
            raise ImporterError(
                f"{place_of(user)} uses {place_of(other)}, a call in a kept module that has later "
                "calls; the calls of a kept module must be contiguous"
            )
        value = self.values[other]
        if kept is None or other in self.weights:
            return value
        return self._input(kept, other, value)

    def _input(self, kept: Kept, other: Any, value: Any) -> Any:
        """The parameter of the kept module's function that represents an outside value."""
        if isinstance(value, list):
            return [self._parameter(kept, (other, i), v) for i, v in enumerate(value)]
        if isinstance(value, Expr):
            return self._parameter(kept, (other, None), value)
        return value

    def _parameter(self, kept: Kept, key: tuple[Any, int | None], value: Expr) -> Var:
        if key not in kept.inputs:
            name = key[0].name if key[1] is None else f"{key[0].name}_{key[1]}"
            variable = self.normalizer(Var(name, value.checked_type))
            assert isinstance(variable, Var)
            kept.inputs[key] = variable
            kept.arguments.append(value)
        return kept.inputs[key]

    def _close(self, kept: Kept) -> None:
        """Replaces a finished kept module by a call of its function, and assigns the results."""
        inside = set(kept.calls)
        results = [
            call
            for call in kept.calls
            if isinstance(kept.values[call], Expr) and any(u not in inside for u in call.users)
        ]
        if not results:
            raise ImporterError(f"module {kept.path!r} cannot be kept: nothing uses its result")
        bodies = [kept.values[call] for call in results]
        body = bodies[0] if len(bodies) == 1 else Tuple(bodies)
        attributes = {"Composite": kept.name, "PartitionedFromPattern": _operators(kept)}
        function = Function(list(kept.inputs.values()), body, attrs=attributes)
        with self.normalizer.placed(kept.path):
            made = self.normalizer(Call(function, kept.arguments))
            for i, call in enumerate(results):
                single = len(results) == 1
                self.values[call] = made if single else self.normalizer(TupleGetItem(made, i))


LENGTHS = {
    "add": relay.add, "sub": relay.subtract, "mul": relay.multiply, "floordiv": relay.floor_divide,
}  # fmt: skip


def length(node: Node) -> Any:
    """A size that is known at run time only, as an int64 scalar; `relay.Any()` for a value that
    determines only shapes of results."""
    if node.overload == "sym_size":
        axis = relay.const(node.axis(), "int64")
        return relay.take(relay.shape_of(node["self"], "int64"), axis, axis=0)
    if node.name in LENGTHS:
        operands = [relay.const(v, "int64") if isinstance(v, int) else v for v in node.operands()]
        if all(isinstance(o, Expr) for o in operands):
            return LENGTHS[node.name](*operands)
    return AnyDim()


def _check_types(node: Node, found: Any) -> None:
    """Raise an error if the inferred type of a result differs from the type in PyTorch."""
    values = node.result if isinstance(found, list) else [node.result]
    for value, expr in zip(values, found if isinstance(found, list) else [found], strict=False):
        if expr is None:
            continue
        ty = expr.checked_type
        same = len(ty.shape) == len(value.shape) and ty.dtype == dtype_name(value.dtype)
        lengths = zip(ty.shape, value.shape, strict=False)
        if not same or any(
            isinstance(n, int) and isinstance(m, int) and n != m for n, m in lengths
        ):
            node.fail(
                f"Relay has {ty} for it, PyTorch {dtype_name(value.dtype)} of {tuple(value.shape)}"
            )


def _operators(kept: Kept) -> str:
    """The operators of a kept module, in the order in which MergeComposite lists the operators of a
    pattern."""
    names = [Node(c, lambda o: o, lambda e: e).overload for c in kept.calls]
    return "".join(f"{name}_" for name in names if name)
