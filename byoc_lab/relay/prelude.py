"""The standard data types and functions, with TVM's names: lists, options, trees.

Their definitions are the Relay texts in `std/`, which `IRModule.import_from_std` reads.

Source: names and types of `tvm.relay.prelude` in TVM 0.16.
"""

from __future__ import annotations

from byoc_lab.relay.ir.expr import GlobalVar
from byoc_lab.relay.ir.module import IRModule


class Prelude:
    """A module (by default a new one) with the prelude in it.

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
        self.mod.import_from_std("prelude.rly")
        for name in Prelude.__annotations__:
            setattr(self, name, self.mod.get_global_var(name))


__all__ = ["Prelude"]
