"""The standard data types and functions, with TVM's names: lists, options, trees.

Their definitions are the Relay texts in `std/`, which `IRModule.import_from_std` reads.

Source: names and types of `tvm.relay.prelude` in TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.adt import Constructor
from byoc_lab.relay.analysis import free_vars
from byoc_lab.relay.dims import Any, Dim
from byoc_lab.relay.expr import Expr, Function, GlobalVar
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.static_tensor_arrays import StaticTensorArrayOps, static_name
from byoc_lab.relay.tensor_arrays import Shape, TensorArrayOps, constructor_of, dynamic_name
from byoc_lab.relay.types import GlobalTypeVar, TypeCall

# Those that TVM has tensor arrays of in every prelude.
TENSOR_DTYPES = (
    "float32", "float16", "float64", "int32", "uint8", "int8", "int16", "uint16", "int64",
)  # fmt: skip


class Prelude:
    """A module (by default a new one) with the prelude in it.

    `mod` is the module, changed in place; each function is an attribute, its global variable:
    `p.map(f, xs)` is a call. The types are had of the module: `_, cons, nil =
    p.mod.get_type("List")`. The functions of tensor arrays are had of `get_global_var` and so on;
    those of a dtype are defined when one, or their type, is asked for (`mod["tensor_nil_int8"]`
    asks, too), those of a shape by
    `StaticTensorArrayOps`.
    """

    id: GlobalVar
    compose: GlobalVar
    flip: GlobalVar
    hd: GlobalVar
    tl: GlobalVar
    nth: GlobalVar
    update: GlobalVar
    map: GlobalVar
    foldl: GlobalVar
    foldr: GlobalVar
    foldr1: GlobalVar
    concat: GlobalVar
    filter: GlobalVar
    zip: GlobalVar
    rev: GlobalVar
    map_accuml: GlobalVar
    map_accumr: GlobalVar
    unfoldl: GlobalVar
    unfoldr: GlobalVar
    sum: GlobalVar
    length: GlobalVar
    tmap: GlobalVar
    size: GlobalVar
    iterate: GlobalVar

    def __init__(self, mod: IRModule | None = None):
        self.mod = IRModule() if mod is None else mod
        self.load_prelude()

    def load_prelude(self) -> None:
        """Bring the prelude into the module, if it is not there, and its functions here."""
        self.mod.import_from_std("prelude.rly")
        for name in Prelude.__annotations__:
            setattr(self, name, self.mod.get_global_var(name))
        self.mod.define_by(self._define_named)

    def get_name(self, canonical: str, dtype: str) -> str:
        """The name that a function, constructor or type of tensor arrays has for a dtype."""
        return dynamic_name(canonical, dtype)

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """A function of tensor arrays: "tensor_array_read". Raises UnknownNameError."""
        self._define(dtype)
        return self.mod.get_global_var(dynamic_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> GlobalTypeVar:
        """The type of tensor arrays: "tensor_t". Raises UnknownNameError."""
        self._define(dtype)
        return self.mod.get_global_type_var(dynamic_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """A constructor of the type of that name. Raises UnknownNameError."""
        self._define(dtype)
        return constructor_of(self, ty_name, dynamic_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """A constructor of tensor arrays: "tensor2". Raises UnknownNameError."""
        return self.get_ctor(dynamic_name("tensor_t", dtype), canonical, dtype)

    def _define_named(self, name: str) -> None:
        for dtype in TENSOR_DTYPES:
            of_arrays = name.startswith("tensor_") and name.endswith(f"_{dtype}")
            if of_arrays or name == dynamic_name("tensor_t", dtype):
                self._define(dtype)

    def _define(self, dtype: str) -> None:
        if dynamic_name("tensor_array", dtype) not in self.mod:
            TensorArrayOps(self, dtype).register()

    def get_name_static(
        self, canonical: str, dtype: str, shape: Shape, batch_dim: int | None = None
    ) -> str:
        """The name that a function, constructor or type of tensor arrays has for a shape."""
        return static_name(canonical, dtype, shape, batch_dim)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Shape, batch_dim: int | None = None
    ) -> GlobalVar:
        """A function for a shape that is registered. Raises UnknownNameError."""
        return self.mod.get_global_var(static_name(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Shape) -> GlobalTypeVar:
        """The type for a shape that is registered: "tensor_t". Raises UnknownNameError."""
        return self.mod.get_global_type_var(static_name(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Shape) -> Constructor:
        """A constructor of a type for a shape that is registered. Raises UnknownNameError."""
        type_name = static_name(ty_name, dtype, shape)
        return constructor_of(self, type_name, static_name(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Shape) -> Constructor:
        """A constructor for a shape: "tensor_constructor", "tensor_nil"."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)


def get_tensor_array_shape(expr: Expr, dtype: str, prelude: Prelude) -> tuple[Dim, ...] | None:
    """The shape of the tensors in a tensor array; None when they are of any shape.

    As in TVM, `expr` becomes @main of the prelude's module. Raises TypeInferenceError when it is
    no tensor array.
    """
    prelude.mod["main"] = Function(free_vars(expr), expr)
    ty = infer_module(prelude.mod)["main"].body.checked_type
    if not isinstance(ty, TypeCall) or not isinstance(ty.args[0], TypeCall):
        raise TypeInferenceError(f"a tensor array is a List of tensors, found {ty}")
    dims = str(ty.args[0].func).removeprefix(f"static_tensor_{dtype}_").removesuffix("_t")
    if dims == dynamic_name("tensor_t", dtype).removesuffix("_t"):
        return None
    if dims == "scalar":
        return ()
    return tuple(Any() if dim == "any" else int(dim) for dim in dims.split("_"))


__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]
