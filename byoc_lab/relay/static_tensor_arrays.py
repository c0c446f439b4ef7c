"""Tensor arrays of one shape: a type for each, static_tensor_float32_2_3_t, and its functions.

    ops = StaticTensorArrayOps(prelude, "float32", (2, 3))
    ops.register()
    write = prelude.get_global_var_static("tensor_array_write", "float32", (2, 3))

Source: names, types and definitions of `tvm.relay.prelude` in TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from byoc_lab.relay.adt import Constructor, TypeData
from byoc_lab.relay.dims import Any, Dim, Unknown
from byoc_lab.relay.expr import GlobalVar, Var
from byoc_lab.relay.op.namespace import function
from byoc_lab.relay.tensor_arrays import INDEX, Shape, TensorArrays, opened
from byoc_lab.relay.types import GlobalTypeVar, TensorType

if TYPE_CHECKING:
    from byoc_lab.relay.prelude import Prelude

_concatenate = function("concatenate")
_expand_dims = function("expand_dims")
_take = function("take")


def static_name(
    canonical: str, dtype: str, shape: Shape, batch_dim: int | None = None,
    extra_shapes: Mapping[str, Shape] | None = None,
) -> str:  # fmt: skip
    """The name of a function, constructor or type ("tensor_t") for tensors of a shape."""
    dims = _dims(shape)
    for name, extra in (extra_shapes or {}).items():
        dims += f"_{name}_{_dims(extra)}"
    dims = dims or "scalar"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{dims}_t"
    if batch_dim == 1 and canonical not in ("tensor_constructor", "tensor_nil"):
        return f"{canonical}_{dtype}_batch{batch_dim}_{dims}"
    return f"{canonical}_{dtype}_{dims}"


def _dims(shape: Shape) -> str:
    return "_".join("any" if isinstance(d, Unknown) else str(d) for d in shape)


class StaticTensorArrayOps(TensorArrays):
    """Tensor arrays of one shape; `batch_dim=1` says that what is stacked is one tensor."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Shape, batch_dim: int | None = None):
        super().__init__(prelude, dtype)
        self.shape, self.batch_dim = tuple(shape), batch_dim

    def get_name(self, canonical: str, extra_shapes: Mapping[str, Shape] | None = None) -> str:
        return static_name(canonical, self.dtype, self.shape, self.batch_dim, extra_shapes)

    def define_tensor_adt(self) -> None:
        """The type of a tensor of this shape, or nothing; left as it is when it is there."""
        mod, name = self.prelude.mod, self.get_name("tensor_t")
        if all(var.name_hint != name for var in mod.get_global_type_vars()):
            var, held = GlobalTypeVar(name), [TensorType(self.shape, self.dtype)]
            nothing = Constructor(self.get_name("tensor_nil"), [], var)
            full = Constructor(self.get_name("tensor_constructor"), held, var)
            mod[var] = TypeData(var, [], [nothing, full])

    def _of(self, *shape: Dim) -> StaticTensorArrayOps:
        """The same for another shape, its type defined."""
        made = StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)
        made.define_tensor_adt()
        return made

    @property
    def _stacked(self) -> StaticTensorArrayOps:
        return self._of(1 if self.batch_dim == 1 else Any(), *self.shape)

    def define_tensor_take(self) -> None:
        """tensor_take(tensor, lower, upper): a range along the first axis; none for scalars."""
        name = self.get_name("tensor_take")
        if not self.shape or self.is_cached(name):
            return
        out = self._of(Any(), *self.shape[1:])
        tensor, held = Var("tensor", self.tensor), Var("t")
        lower, upper = Var("lower", INDEX), Var("upper", INDEX)
        taken = _take(held, function("arange")(lower, upper, dtype="int32"), axis=0)
        made = out.get_ctor("tensor_constructor")(taken)
        body = opened(tensor, self.get_ctor("tensor_constructor"), held, made)
        self.define(GlobalVar(name), [tensor, lower, upper], body, out.tensor)

    def define_tensor_concatenate(self) -> None:
        """tensor_concatenate(x, y): one after the other; none for scalars."""
        name = self.get_name("tensor_concatenate")
        if not self.shape or self.is_cached(name):
            return
        out, constructor = self._of(Any(), *self.shape[1:]), self.get_ctor("tensor_constructor")
        x, y, first, second = Var("x", self.tensor), Var("y", self.tensor), Var("t1"), Var("t2")
        made = out.get_ctor("tensor_constructor")(_concatenate([first, second], axis=0))
        body = opened(x, constructor, first, opened(y, constructor, second, made))
        self.define(GlobalVar(name), [x, y], body, out.tensor)

    def define_tensor_expand_dims(self) -> None:
        """tensor_expand_dims(x): with a new first axis, of unknown length: stack joins them."""
        out, x, held = self._stacked, Var("x", self.tensor), Var("t")
        made = out.get_ctor("tensor_constructor")(_expand_dims(held, 0, 1))
        body = opened(x, self.get_ctor("tensor_constructor"), held, made)
        self.define(self.var(self.get_name("tensor_expand_dims")), [x], body, out.tensor)

    def define_tensor_array_unstack(self) -> None:
        """tensor_array_unstack(tensor): none for scalars."""
        if self.shape:
            whole, out = TensorType(self.shape, self.dtype), self._of(*self.shape[1:])
            self.define_unstack("", whole, out.get_ctor("tensor_constructor"), 0, out.array)

    def define_tensor_array_split(
        self, value_shape: Shape | None = None, lengths_shape: Shape | None = None,
        force_update: bool = False,
    ) -> None:  # fmt: skip
        """tensor_array_split(array, value, lengths); none for scalars.

        value_shape, lengths_shape: those of the value and the lengths, if known.
        """
        if not self.shape or (
            self.is_cached(self.get_name("tensor_array_split")) and not force_update
        ):
            return
        out = self._of(Any(), *self.shape[1:])
        out.define_tensor_array_write()
        value = self if value_shape is None else self._of(*value_shape)
        value.define_tensor_take()
        self.define_split(
            value.tensor, value.get_global_var("tensor_take"),
            out.get_global_var("tensor_array_write"), out.array, lengths_shape,
        )  # fmt: skip

    def define_tensor_array_concat(self) -> None:
        """tensor_array_concat(array); none for scalars."""
        if not self.shape or self.is_cached(self.get_name("tensor_array_concat")):
            return
        out = self._of(Any(), *self.shape[1:])
        out.define_tensor_concatenate()
        join = out.get_global_var("tensor_concatenate")
        self.define_concat(join, out.get_ctor("tensor_nil"), out.tensor)

    def define_tensor_array_stack(self) -> None:
        """tensor_array_stack(array): the tensors along a new first axis."""
        out, array = self._stacked, Var("tensor_array", self.array)
        out.define_tensor_concatenate()
        longer = self.prelude.map(self.get_global_var("tensor_expand_dims"), array)
        first = self.prelude.hd(longer)
        if self.batch_dim == 1:
            body = self.prelude.id(first)
        else:
            join = out.get_global_var("tensor_concatenate")
            body = self.prelude.foldl(join, first, self.prelude.tl(longer))
        self.define(self.var(self.get_name("tensor_array_stack")), [array], body, out.tensor)

    def define_tensor_array_gather(self) -> None:
        """tensor_array_gather(array, indices)."""
        self.define_gather(self._stacked.tensor)

    def define_tensor_get_data(self) -> None:
        """tensor_get_data(tensor): what it holds."""
        tensor, held = Var("tensor", self.tensor), Var("t")
        body = opened(tensor, self.get_ctor("tensor_constructor"), held, held)
        var = self.var(self.get_name("tensor_get_data"))
        self.define(var, [tensor], body, TensorType(self.shape, self.dtype))

    def register(self) -> None:
        """Define the type and all functions of this shape."""
        self.define_tensor_adt()
        self.define_tensor_take()
        self.define_tensor_concatenate()
        self.define_tensor_expand_dims()
        self.define_tensor_array()
        self.define_tensor_array_read()
        self.define_tensor_array_write()
        self.define_tensor_array_unstack()
        self.define_tensor_array_scatter()
        self.define_tensor_array_split()
        self.define_tensor_array_concat()
        self.define_tensor_array_stack()
        self.define_tensor_array_gather()
        self.define_tensor_get_data()


__all__ = ["StaticTensorArrayOps", "static_name"]
