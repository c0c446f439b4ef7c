"""Tensor arrays, as TensorFlow's are in Relay: lists of a data type that holds a tensor or nothing.

    write = prelude.get_global_var("tensor_array_write", "float32")

Here are those with one type for tensors of rank 0 to 6, tensor_float32_t, and what they have in
common with those of one shape (`static_tensor_arrays`).

Source: names, types and definitions of `tvm.relay.prelude` in TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.adt import (
    Clause,
    Constructor,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from byoc_lab.relay.dims import Any, Dim
from byoc_lab.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Var, const
from byoc_lab.relay.op.namespace import function
from byoc_lab.relay.types import GlobalTypeVar, TensorType, Type, TypeCall

if TYPE_CHECKING:
    from byoc_lab.relay.prelude import Prelude

Shape = Sequence["Dim"]
MAX_RANK = 6
MAX_JOINED = 4
"""The highest rank whose tensors TVM's dynamic tensor arrays concatenate."""
INDEX = TensorType((), "int32")
_add = function("add")
_concatenate = function("concatenate")
_equal = function("equal")
_expand_dims = function("expand_dims")
_shape_of = function("shape_of")
_subtract = function("subtract")
_take = function("take")


def _indices(shape: Shape | None) -> TensorType:
    return TensorType(shape or [Any()], "int32")


def _length(indices: Expr, shape: Shape | None) -> Expr:
    """How many indices there are."""
    if shape is not None:
        return const(int(shape[0]))  # type: ignore[arg-type]
    return _take(_shape_of(indices), const(0))


def _next(index: Expr) -> Expr:
    return _add(index, const(1))


def opened(value: Expr, constructor: Constructor, held: Var, result: Expr) -> Match:
    """`result`, which uses what `constructor` holds in `value`; other constructors have none."""
    pattern = PatternConstructor(constructor, [PatternVar(held)])
    return Match(value, [Clause(pattern, result)], False)


class TensorArrays:
    """What both kinds define alike."""

    def __init__(self, prelude: Prelude, dtype: str):
        self.prelude, self.dtype = prelude, dtype
        self.list, self.cons, self.nil = prelude.mod.get_type("List")

    def get_name(self, canonical: str, extra_shapes: Mapping[str, Shape] | None = None) -> str:
        """The name, for this dtype and shape, of what TVM calls `canonical`."""
        raise NotImplementedError(f"{type(self).__name__} must define get_name()")

    def get_global_var(self, canonical: str) -> GlobalVar:
        """The function of that canonical name. Raises UnknownNameError."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """The type of that canonical name: "tensor_t". Raises UnknownNameError."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """The constructor of that canonical name. Raises UnknownNameError."""
        return constructor_of(self.prelude, self.get_name("tensor_t"), self.get_name(canonical))

    @property
    def tensor_type_var(self) -> GlobalTypeVar:
        """The type that arrays are lists of. Raises UnknownNameError where it is not defined."""
        return self.get_type("tensor_t")

    @property
    def tensor(self) -> TypeCall:
        return self.tensor_type_var()

    @property
    def array(self) -> TypeCall:
        made: TypeCall = self.list(self.tensor)
        return made

    def is_cached(self, name: str) -> bool:
        """Whether the module has a function of that name."""
        return name in self.prelude.mod

    def var(self, name: str) -> GlobalVar:
        known = self.is_cached(name)
        return self.prelude.mod.get_global_var(name) if known else GlobalVar(name)

    def define(self, name: GlobalVar, params: Sequence[Var], body: Expr, result: Type) -> None:
        self.prelude.mod[name] = Function(params, body, result, [])

    def define_tensor_array(self) -> None:
        """tensor_array(n): n tensors, nothing in any."""
        var, n = self.var(self.get_name("tensor_array")), Var("x", INDEX)
        rest = self.cons(self.get_ctor("tensor_nil")(), var(_subtract(n, const(1))))
        self.define(var, [n], If(_equal(n, const(0)), self.nil(), rest), self.array)

    def define_tensor_array_read(self) -> None:
        """tensor_array_read(array, n): the tensor at n."""
        array, n = Var("tensor_array", self.array), Var("x", INDEX)
        var = self.var(self.get_name("tensor_array_read"))
        self.define(var, [array, n], self.prelude.nth(array, n), self.tensor)

    def define_tensor_array_write(self) -> None:
        """tensor_array_write(array, n, v): the array with v at n."""
        array, n, v = Var("tensor_array", self.array), Var("x", INDEX), Var("v", self.tensor)
        var = self.var(self.get_name("tensor_array_write"))
        self.define(var, [array, n, v], self.prelude.update(array, n, v), self.array)

    def define_tensor_array_scatter(
        self, indices_shape: Shape | None = None, force_update: bool = False
    ) -> None:
        """tensor_array_scatter(array, indices, values): the array with values[i] at indices[i].

        indices_shape: of the indices, if known; it is part of the name then.
        """
        extra = None if indices_shape is None else {"indices": indices_shape}
        name = self.get_name("tensor_array_scatter", extra)
        if self.is_cached(name) and not force_update:
            return
        helper = self.var(self.get_name("tensor_array_scatter_helper", extra))
        array, values = Var("ta", self.array), Var("values_", self.array)
        current, limit = Var("current", INDEX), Var("limit", INDEX)
        indices = Var("indices_", _indices(indices_shape))
        value = self.get_global_var("tensor_array_read")(values, current)
        write = self.get_global_var("tensor_array_write")
        written = write(array, _take(indices, current), value)
        more = helper(written, _next(current), limit, indices, values)
        body = If(_equal(current, limit), array, more)
        self.define(helper, [array, current, limit, indices, values], body, self.array)
        array, values = Var("tensor_array", self.array), Var("values", self.array)
        indices = Var("indices", _indices(indices_shape))
        started = helper(array, const(0), _length(indices, indices_shape), indices, values)
        self.define(self.var(name), [array, indices, values], started, self.array)

    def define_split(
        self, value_type: Type, take: GlobalVar, write: GlobalVar, array: Type,
        lengths_shape: Shape | None,
    ) -> None:  # fmt: skip
        """tensor_array_split(array, value, lengths): the array with `value` cut into pieces."""
        helper = self.var(self.get_name("ta_split_helper"))
        into, value = Var("tensor_array", array), Var("value1", value_type)
        offset, current, limit = (Var(f"{n}1", INDEX) for n in ("offset", "current", "limit"))
        lengths = Var("lengths", _indices(lengths_shape))
        length = _take(lengths, current)
        later = helper(into, value, _add(offset, length), _next(current), limit, lengths)
        piece = take(value, offset, _add(_take(lengths, current), offset))
        body = If(_equal(current, limit), into, write(later, current, piece))
        self.define(helper, [into, value, offset, current, limit, lengths], body, array)
        into, value = Var("tensor_array", array), Var("value", value_type)
        lengths = Var("lengths", _indices(lengths_shape))
        many = _length(lengths, lengths_shape)
        started = helper(into, value, const(0), const(0), many, lengths)
        split = self.var(self.get_name("tensor_array_split"))
        self.define(split, [into, value, lengths], started, array)

    def define_concat(self, join: GlobalVar, nothing: Constructor, tensor: TypeCall) -> None:
        """tensor_array_concat(array): the tensors of an array, one after the other."""
        concat = self.var(self.get_name("tensor_array_concat"))
        array, first, rest = Var("tensor_array", self.list(tensor)), Var("hd"), Var("tl")
        joined = Match(
            rest,
            [
                Clause(PatternConstructor(self.nil), first),
                Clause(PatternWildcard(), join(first, concat(rest))),
            ],
            False,
        )
        split = PatternConstructor(self.cons, [PatternVar(first), PatternVar(rest)])
        cases = [Clause(PatternConstructor(self.nil), nothing()), Clause(split, joined)]
        self.define(concat, [array], Match(array, cases, False), tensor)

    def define_unstack(
        self, suffix: str, whole: TensorType, piece: Constructor, axis: int | None, result: Type
    ) -> None:
        """tensor_array_unstack(tensor): an array of what is along the first axis."""
        helper = self.var(self.get_name(f"tensor_array_unstack{suffix}_helper"))
        at, end, tensor = Var("i", INDEX), Var("up", INDEX), Var("t", whole)
        taken = piece(_take(tensor, at, axis=axis))
        more = self.cons(taken, helper(_next(at), end, tensor))
        self.define(helper, [at, end, tensor], If(_equal(at, end), self.nil(), more), result)
        unstack, tensor = (
            self.var(self.get_name(f"tensor_array_unstack{suffix}")),
            Var("tensor", whole),
        )
        self.define(unstack, [tensor], helper(const(0), _length(tensor, None), tensor), result)

    def define_gather(self, result: Type) -> None:
        """tensor_array_gather(array, indices): those of an array, stacked."""
        helper = self.var(self.get_name("tensor_array_gather_helper"))
        array, taken = Var("ta", self.array), Var("accu", self.array)
        current, limit = Var("current", INDEX), Var("limit", INDEX)
        indices = Var("indices_", _indices(None))
        before = _subtract(current, const(1))
        one = self.get_global_var("tensor_array_read")(array, _take(indices, before))
        more = helper(array, self.cons(one, taken), _subtract(current, const(1)), limit, indices)
        stacked = self.get_global_var("tensor_array_stack")(taken)
        body = If(_equal(current, const(0)), stacked, more)
        self.define(helper, [array, taken, current, limit, indices], body, result)
        gather = self.var(self.get_name("tensor_array_gather"))
        array, indices = Var("tensor_array", self.array), Var("indices", _indices(None))
        many = _length(indices, None)
        self.define(
            gather, [array, indices], helper(array, self.nil(), many, many, indices), result
        )


class TensorArrayOps(TensorArrays):
    """Tensor arrays of a dtype, whose tensors may be of any shape up to rank 6."""

    def get_name(self, canonical: str, extra_shapes: Mapping[str, Shape] | None = None) -> str:
        return dynamic_name(canonical, self.dtype)

    def define_tensor_adt(self) -> None:
        """The type of a tensor of some rank, or nothing."""
        var = GlobalTypeVar(self.get_name("tensor_t"))
        made = [Constructor(self.get_name("tensor_nil"), [], var)]
        for rank in range(MAX_RANK + 1):
            held = TensorType([Any()] * rank, self.dtype)
            made.append(Constructor(self.get_name(f"tensor{rank}"), [held], var))
        self.prelude.mod[var] = TypeData(var, [], made)

    def _by_rank(self, value: Expr, results: Mapping[int, tuple[Var, Expr]]) -> Match:
        cases = []
        for rank, (held, result) in results.items():
            pattern = PatternConstructor(self.get_ctor(f"tensor{rank}"), [PatternVar(held)])
            cases.append(Clause(pattern, result))
        return Match(value, cases, False)

    def _put(self, rank: int, value: Expr) -> Call:
        return self.get_ctor(f"tensor{rank}")(value)

    def define_tensor_take(self) -> None:
        """tensor_take(tensor, lower, upper): a range along the first axis."""
        tensor, lower, upper = Var("tensor", self.tensor), Var("lower", INDEX), Var("upper", INDEX)
        results = {}
        for rank in range(1, MAX_RANK + 1):
            held, at = Var(f"t{rank}"), function("arange")(lower, upper, dtype="int32")
            taken = _take(held, at, axis=None if rank == 1 else 0)
            results[rank] = held, self._put(rank, taken)
        var = self.var(self.get_name("tensor_take"))
        self.define(var, [tensor, lower, upper], self._by_rank(tensor, results), self.tensor)

    def define_tensor_expand_dims(self) -> None:
        """tensor_expand_dims(x): with a new first axis."""
        x, results = Var("x", self.tensor), {}
        for rank in range(MAX_RANK):
            held = Var(f"t{rank}")
            results[rank] = held, self._put(rank + 1, _expand_dims(held, 0, 1))
        var = self.var(self.get_name("tensor_expand_dims"))
        self.define(var, [x], self._by_rank(x, results), self.tensor)

    def define_tensor_concat(self) -> None:
        """tensor_concatenate(x, y): one after the other, up to rank 4."""
        x, y, results = Var("x", self.tensor), Var("y", self.tensor), {}
        for rank in range(1, MAX_JOINED + 1):
            first, second = Var(f"t{rank}1"), Var(f"t{rank}2")
            joined = self._put(rank, _concatenate([first, second], axis=0))
            results[rank] = first, self._by_rank(y, {rank: (second, joined)})
        var = self.var(self.get_name("tensor_concatenate"))
        self.define(var, [x, y], self._by_rank(x, results), self.tensor)

    def define_tensor_array_unstack(self, rank: int) -> None:
        """tensor_array_unstack_tensor<rank>(tensor)."""
        whole, piece = TensorType([Any()] * rank, self.dtype), self.get_ctor(f"tensor{rank - 1}")
        axis = None if rank == 1 else 0
        self.define_unstack(f"_tensor{rank}", whole, piece, axis, self.array)

    def define_tensor_array_split(self) -> None:
        """tensor_array_split(array, value, lengths)."""
        write, take = map(self.get_global_var, ("tensor_array_write", "tensor_take"))
        self.define_split(self.tensor, take, write, self.array, None)

    def define_tensor_array_concat(self) -> None:
        """tensor_array_concat(array)."""
        join = self.get_global_var("tensor_concatenate")
        self.define_concat(join, self.get_ctor("tensor_nil"), self.tensor)

    def define_tensor_array_stack(self) -> None:
        """tensor_array_stack(array): the tensors along a new first axis."""
        array = Var("tensor_array", self.array)
        longer, first, rest, whole = (Var(f"x_{n}") for n in range(4))
        join = self.get_global_var("tensor_concatenate")
        steps: list[tuple[Var, Expr]] = [
            (longer, self.prelude.map(self.get_global_var("tensor_expand_dims"), array)),
            (first, self.prelude.hd(longer)),
            (rest, self.prelude.tl(longer)),
            (whole, self.prelude.foldl(join, first, rest)),
        ]
        body: Expr = whole
        for var, value in reversed(steps):
            body = Let(var, value, body)
        self.define(self.var(self.get_name("tensor_array_stack")), [array], body, self.tensor)

    def define_tensor_array_gather(self) -> None:
        """tensor_array_gather(array, indices); `register` leaves it out, as TVM's does."""
        self.define_gather(self.tensor)

    def register(self) -> None:
        """Define the type and the functions of this dtype."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_expand_dims()
        self.define_tensor_concat()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        for rank in range(1, MAX_RANK + 1):
            self.define_tensor_array_unstack(rank)
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()


def dynamic_name(canonical: str, dtype: str) -> str:
    """The name of a function, constructor or type ("tensor_t") for tensors of a dtype."""
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


def constructor_of(prelude: Prelude, type_name: str, name: str) -> Constructor:
    """A constructor of a type of the prelude's module. Raises UnknownNameError."""
    for found in prelude.mod.get_type(type_name):
        if found.name_hint == name:
            return found  # type: ignore[no-any-return]
    raise UnknownNameError(f"type {type_name} has no constructor {name!r}")


__all__ = ["TensorArrayOps", "TensorArrays", "constructor_of", "dynamic_name"]
