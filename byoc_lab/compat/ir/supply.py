"""Unique names and global variables. Source: `tvm.ir.supply` of TVM 0.16."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from byoc_lab.errors import DuplicateNameError
from byoc_lab.relay.ir.expr import GlobalVar
from byoc_lab.relay.ir.module import IRModule

MODULE_PREFIX = "tvmgen_default"


class NameSupply:
    """A supply of unique names. Names begin with `prefix` and `_`, unless `prefix` is empty or a
    method is called with `add_prefix=False`; a `.` becomes `_`."""

    def __init__(self, prefix: str = ""):
        self.prefix = prefix
        self._taken: set[str] = set()

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """`name`, or the first of `name_1`, `name_2`, ... that is not taken."""
        full = self._full(name, add_prefix)
        numbered = (f"{full}_{n}" for n in count(1))
        fresh = full if full not in self._taken else next(n for n in numbered if self._free(n))
        self._taken.add(fresh)
        return fresh

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Reserve a name, even if it is taken already."""
        full = self._full(name, add_prefix)
        self._taken.add(full)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name is taken."""
        return self._full(name, add_prefix) in self._taken

    def _free(self, name: str) -> bool:
        return name not in self._taken

    def _full(self, name: str, add_prefix: bool) -> str:
        text = name.replace(".", "_")
        return f"{self.prefix}_{text}" if add_prefix and self.prefix else text


class GlobalVarSupply:
    """A supply of global variables with fresh names. `value`: a NameSupply, or a module (or
    several), whose function names count as used; by default no name is used.

    Raises DuplicateNameError for modules whose functions share a name.
    """

    def __init__(self, value: NameSupply | IRModule | Sequence[IRModule] | None = None):
        self._by_name: dict[str, GlobalVar] = {}
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        if value is None or isinstance(value, NameSupply):
            return
        for mod in [value] if isinstance(value, IRModule) else value:
            for gv in mod.functions:
                self.reserve_global(gv)
        self.name_supply.prefix = MODULE_PREFIX

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A new variable, called `name` or, if that is used, `name_1`, ..."""
        return self._new(self.name_supply.fresh_name(name, add_prefix))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The variable of that name, the same one each time."""
        full = self.name_supply.reserve_name(name, add_prefix)
        return self._by_name.get(full) or self._new(full)

    def reserve_global(self, var: GlobalVar, allow_conflict: bool = False) -> None:
        """Reserve the name of a variable. Raises DuplicateNameError if another variable has it."""
        if var.name_hint in self._by_name and not allow_conflict:
            raise DuplicateNameError(
                f"a global variable @{var.name_hint} already exists; fresh_global(name) creates "
                "one with an unused name"
            )
        self.name_supply.reserve_name(var.name_hint, add_prefix=False)
        self._by_name[var.name_hint] = var

    def _new(self, name: str) -> GlobalVar:
        self._by_name[name] = GlobalVar(name)
        return self._by_name[name]


__all__ = ["GlobalVarSupply", "NameSupply"]
