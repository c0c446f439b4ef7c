"""`Patch`: a difference as data, sufficient to construct the second module from the first.

A patch is the second module with placeholders for subgraphs that the first module already has. A
placeholder is a variable that represents a node of the first module and its operands. It contains
the address of that node, so that a patch can be saved and applied to any structurally equal module.
The address is the node's number in a walk or, for a node whose sharing does not count (a constant,
a projection), the number of a user and the index among the user's parts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from byoc_lab.errors import DiffError, ParseError
from byoc_lab.lab.diffing.common_subgraphs import common_nodes
from byoc_lab.lab.diffing.fingerprint import fingerprint
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.relay.analysis.structural import counts_sharing, definition_key, structural_equal
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Expr, GlobalVar, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json
from byoc_lab.relay.typing.infer import infer_module

_STAND_IN = "node_"  # prefix of placeholder names, which end with an address: "node_7_0"


@dataclass(eq=False)
class Patch:
    """A change that turns the first module into the second.

    module: the functions, types and attributes of the second module, with placeholders. kept:
    unchanged functions: the name in the second module -> the address in the first one. order: the
    names of the functions of the second module. types: the unchanged type definitions. typed:
    whether the second module has types. prefix: the prefix of placeholder names. source: the first
    module, or its fingerprint.
    """

    module: IRModule
    kept: dict[str, str]
    order: list[str]
    types: list[str]
    typed: bool
    prefix: str
    source: IRModule | str

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the first module."""
        return self.source if isinstance(self.source, str) else fingerprint(self.source)

    def apply(self, mod: IRModule) -> IRModule:
        """The second module, made from `mod`. Raises DiffError unless `mod` is structurally equal
        to the first one."""
        self._check(mod)
        known = {v.name_hint: d for v, d in mod.type_definitions.items()}
        definitions = [*(known[n] for n in self.types), *self.module.type_definitions.values()]
        own = {c.identity: c for d in definitions for c in d.constructors}
        globals_ = {n: mod.get_global_var(n) if n in mod else GlobalVar(n) for n in self.order}
        counted = _counted(mod)

        def use(pre: Expr, post: Expr) -> Expr:
            if isinstance(pre, Var) and pre.name_hint.startswith(self.prefix):
                return _at(counted, pre.name_hint.removeprefix(self.prefix))
            if isinstance(pre, GlobalVar):
                return globals_.get(pre.name_hint, pre)
            return own.get(pre.identity, pre) if isinstance(pre, Constructor) else post

        memo: dict[Expr, Expr] = {}
        functions: dict[GlobalVar, Any] = {
            globals_[n]: _at(counted, self.kept[n])
            if n in self.kept
            else rebuild(self.module[n], use, memo=memo)
            for n in self.order
        }
        result = IRModule(functions, {d.header: d for d in definitions}, self.module.attrs)
        return infer_module(result) if self.typed else result

    def _check(self, mod: IRModule) -> None:
        if isinstance(self.source, IRModule):
            equal = mod is self.source or structural_equal(self.source, mod)
        else:
            equal = fingerprint(mod) == self.source
        if not equal:
            raise DiffError(
                "the module is not structurally equal to the first module of the diff; apply the "
                "diff to that module, or diff this module"
            )

    def to_data(self) -> dict[str, Any]:
        """The patch as JSON data. Raises DiffError if the second module has free variables."""
        for gv, function in self.module.functions.items():
            free = [v for v in free_vars(function) if not v.name_hint.startswith(self.prefix)]
            if free:
                names = ", ".join(f"%{v.name_hint}" for v in free)
                raise DiffError(
                    f"@{gv.name_hint} has free variables ({names}), which a file cannot identify; "
                    f"use the diff without saving it"
                )
        return {
            "module": json.loads(write_node_json(self.module)),
            "kept": self.kept,
            "order": self.order,
            "types": self.types,
            "typed": self.typed,
            "prefix": self.prefix,
            "source": self.fingerprint,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Patch:
        """The patch from the data of `to_data`. Raises DiffError for other data."""
        try:
            return Patch(**{**data, "module": read_node_json(json.dumps(data["module"]))})
        except (ParseError, TypeError, KeyError) as error:
            raise DiffError(f"the diff cannot be read: {error}") from error


def patch_of(found: Correspondence) -> Patch:
    """The patch from the first module of a correspondence to the second one."""
    before, after = found.before.mod, found.after.mod
    kept = common_nodes(found)
    definitions = {v.name_hint: d for v, d in before.type_definitions.items()}
    types = [
        v.name_hint
        for v, d in after.type_definitions.items()
        if v.name_hint in definitions
        and definition_key(definitions[v.name_hint]) == definition_key(d)
    ]
    addresses = _addresses(before)
    whole = {gv.name_hint: addresses[kept[f]] for gv, f in after.functions.items() if f in kept}
    prefix = _prefix(after)
    module = IRModule(attrs=after.attrs)
    for v, data in after.type_definitions.items():
        if v.name_hint not in types:
            module.type_definitions[v] = data

    def stands_for(node: Expr) -> str | None:
        mine = kept.get(node)
        return addresses.get(mine) if mine is not None else None

    def use(pre: Expr, post: Expr) -> Expr:
        address = stands_for(pre)
        return post if address is None else Var(prefix + address)

    memo: dict[Expr, Expr] = {}
    for gv, function in after.functions.items():
        if gv.name_hint not in whole:
            new = rebuild(function, use, enter=lambda n: stands_for(n) is None, memo=memo)
            module.put_unchecked(gv.name_hint, new)
    order = [gv.name_hint for gv in after.functions]
    typed = bool(order) and all(f.is_typed for f in after.functions.values())
    return Patch(module, whole, order, types, typed, prefix, before)


def _prefix(mod: IRModule) -> str:
    """A prefix for placeholder names that no variable of the module starts with."""
    prefix = _STAND_IN
    nodes = post_order(*mod.functions.values())
    names = {n.name_hint for n in nodes if isinstance(n, Var)}
    while any(name.startswith(prefix) for name in names):
        prefix = f"_{prefix}"
    return prefix


def _counted(mod: IRModule) -> list[Expr]:
    """The nodes whose sharing counts, in the same order for structurally equal modules."""
    functions = sorted(mod.functions.items(), key=lambda item: item[0].name_hint)
    return [n for n in post_order(*(f for _, f in functions)) if counts_sharing(n)]


def _addresses(mod: IRModule) -> dict[Expr, str]:
    """The address of each node for `_at`: "7", or "7_0" for the first part of node 7."""
    found: dict[Expr, str] = {}
    for n, node in enumerate(_counted(mod)):
        found[node] = str(n)
        for k, part in enumerate(node.parts()):
            if not counts_sharing(part):
                found.setdefault(part, f"{n}_{k}")
    return found


def _at(counted: list[Expr], address: str) -> Expr:
    n, _, part = address.partition("_")
    return counted[int(n)].parts()[int(part)] if part else counted[int(n)]
