"""Differences of modules and of their global functions, except inside function bodies."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.diffing.flow import types_differ
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.lab.diffing.records import Change, attributes_text
from byoc_lab.relay.analysis.structural import definition_key
from byoc_lab.relay.ir.expr import Function


def module_changes(found: Correspondence) -> Iterator[Change]:
    """Changed attributes and type definitions."""
    before, after = found.before.mod, found.after.mod
    if before.attrs != after.attrs:
        text = f"of the module: {attributes_text(before.attrs, after.attrs)}"
        yield Change("attribute", text, None, None, "module")
    mine, theirs = (
        {v.name_hint: d for v, d in m.type_definitions.items()} for m in (before, after)
    )
    for name in sorted({*mine, *theirs}):
        noun, text = "type definition", f"type {name}"
        if name not in theirs:
            yield Change("removed", text, None, None, noun)
        elif name not in mine:
            yield Change("added", text, None, None, noun)
        elif definition_key(mine[name]) != definition_key(theirs[name]):
            yield Change("type", f"definition of {text}", None, None, noun)


def function_changes(found: Correspondence, occupied: set[str]) -> Iterator[Change]:
    """Global functions added, removed or renamed, their parameters and attributes.

    occupied: the functions of both modules that other changes already explain, because nodes moved
    into or out of them.
    """
    before, after = found.before.mod, found.after.mod
    source = {g: f for f, g in found.functions.items()}
    names = {gv.name_hint: f for gv, f in after.functions.items()}
    for name, function in sorted(names.items(), key=lambda item: source.get(item[0], item[0])):
        if name in source:
            yield from _pair_changes(found, source[name], name)
        elif name not in occupied:
            yield Change("added", f"function @{name}", None, function, "function")
    for gv, function in sorted(before.functions.items(), key=lambda item: item[0].name_hint):
        if gv.name_hint not in found.functions and gv.name_hint not in occupied:
            yield Change("removed", f"function @{gv.name_hint}", function, None, "function")


def _pair_changes(found: Correspondence, old: str, new: str) -> Iterator[Change]:
    f, g = found.before.mod[old], found.after.mod[new]
    if old != new:
        yield Change("renamed", f"@{old} renamed to @{new}", f, g, "function")
    yield from literal_changes(found, f, g, f"@{new}", old != new)


def literal_changes(
    found: Correspondence, f: Function, g: Function, name: str, renamed: bool = False
) -> Iterator[Change]:
    """The differences of two functions outside their bodies."""
    for p in f.params:
        if p not in found.to_after:
            yield Change("removed", f"parameter %{p.name_hint} of {name}", p, None, "parameter")
    for q in g.params:
        if q not in found.to_before:
            yield Change("added", f"parameter %{q.name_hint} of {name}", None, q, "parameter")
    kept = [found.to_after[p] for p in f.params if p in found.to_after]
    if kept != [q for q in g.params if q in found.to_before]:
        yield Change("operands", f"order of the parameters of {name}", f, g, "function")
    attrs = f.attrs
    if renamed and "global_symbol" in attrs and "global_symbol" in g.attrs:
        attrs = f.with_attr("global_symbol", g.attrs["global_symbol"]).attrs
    if attrs != g.attrs:
        yield Change("attribute", f"{name}: {attributes_text(attrs, g.attrs)}", f, g, "function")
    inferred = f.ret_type is not None and g.ret_type is not None
    if f.ret_type != g.ret_type and not (inferred and types_differ(f.body, g.body)):
        text = f"result of {name}: {f.ret_type} to {g.ret_type}"
        yield Change("type", text, f, g, "function")
    if len(f.type_params) != len(g.type_params):
        yield Change("type", f"type parameters of {name}", f, g, "function")
    if f.device != g.device:
        yield Change("attribute", f"device of {name}", f, g, "function")
