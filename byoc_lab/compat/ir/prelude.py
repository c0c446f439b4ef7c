"""The standard data types and functions, with TVM's names: lists, options, trees.

Their definitions are the Relay texts in `std/`, which `IRModule.import_from_std` reads; modules get
that method here.

Source: names and types of `tvm.relay.prelude` in TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from byoc_lab.compat.ir.tensor_arrays import StaticTensorArrayOps, static_name
from byoc_lab.compat.names import NO_GRADIENTS
from byoc_lab.errors import UnknownNameError, UnsupportedNameError
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse_file

_STD = Path(__file__).parent / "std"


@cache
def _definitions(file: str) -> IRModule:
    """The types and functions of a file in `std/`. Raises UnknownNameError."""
    path = _STD / file
    if path.parent != _STD or not path.is_file():
        have = ", ".join(sorted(p.name for p in _STD.glob("*.rly")))
        why = f"; {NO_GRADIENTS}" if file == "gradient.rly" else ""
        raise UnknownNameError(f"no file {file!r:.80} is in byoc_lab, only {have}{why}")
    return parse_file(path)


def import_from_std(mod: IRModule, file_to_import: str) -> None:
    """Add the types and functions of a file in `std/` (such as "prelude.rly") to a module, unless
    it has them already. Raises UnknownNameError."""
    found = _definitions(file_to_import)
    if not all(gv.name_hint in mod for gv in found.functions):
        mod.update(found)


IRModule.import_from_std = import_from_std  # type: ignore[attr-defined]


class Prelude:
    """A module (by default a new one) that contains the prelude.

    `mod` is the module, changed in place; each function is an attribute, its global variable:
    `p.map(f, xs)` is a call. The types are in the module: `_, cons, nil =
    p.mod.get_type("List")`.
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
        """Add the prelude to the module, if it lacks it, and set the attributes."""
        import_from_std(self.mod, "prelude.rly")
        for name in Prelude.__annotations__:
            setattr(self, name, self.mod.get_global_var(name))

    def __getattr__(self, name: str) -> NoReturn:
        """Raise UnsupportedNameError: TVM's prelude also has arrays of tensors of any rank."""
        raise UnsupportedNameError(
            f"tvm.relay.prelude.Prelude.{name} is not supported; StaticTensorArrayOps has "
            f"arrays of tensors of a given shape"
        )

    def get_global_var_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> GlobalVar:
        """The function, such as "tensor_array_read", for arrays of tensors of this type, which
        `StaticTensorArrayOps` registers. Raises UnknownNameError."""
        return self.mod.get_global_var(static_name(canonical, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Any]) -> Constructor:
        """The constructor "tensor_constructor" or "tensor_nil" for tensors of this type, which
        `StaticTensorArrayOps` registers. Raises UnknownNameError."""
        wanted = static_name(name, dtype, shape)
        _, *have = self.mod.get_type(static_name("tensor_t", dtype, shape))
        for constructor in have:
            if constructor.name_hint == wanted:
                return constructor
        names = ", ".join(c.name_hint for c in have)
        raise UnknownNameError(f"no constructor {wanted} is in the module, only {names}")


__all__ = ["Prelude", "StaticTensorArrayOps"]
