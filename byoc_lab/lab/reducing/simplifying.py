"""Single changes that simplify a module: function calls, parameters, constants, attributes and
shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from byoc_lab.lab.reducing.edits import COMPOSITE, Replaced, composites, edited
from byoc_lab.lab.reducing.measures import chosen_attributes, extents
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.variables import bound_by
from byoc_lab.relay.ir.visit import contains, post_order, rebuild, users

Change = tuple[str, Callable[[], IRModule | None]]
"""A change in words, and the function that makes it."""

MAX_AXES = 64
"""Maximum number of axes of all parameters and constants up to which axes are shrunk one by one."""
MAX_PAIRED_AXES = 24
"""Maximum number of axes up to which they are shrunk in pairs."""


def all_lets_inlined(mod: IRModule) -> Replaced:
    """Replace all lets by their values, except recursive functions."""
    lets: dict[Expr, Expr | None] = {}
    for node in composites(mod):
        if isinstance(node, Let) and not _is_recursive(node):
            lets[node], lets[node.var] = node.body, node.value
    return lets


def _is_recursive(let: Let) -> bool:
    return isinstance(let.value, Function) and contains(let.value, [let.var])


def inline_each(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Replace one let by its value, or one function call by the function's body."""
    often = {gv: users(func.body) for gv, func in mod.functions.items()}
    for node in composites(mod):
        if isinstance(node, Let):
            if _is_recursive(node):
                continue
            replaced: dict[Expr, Expr | None] = {node: node.body, node.var: node.value}
        elif not isinstance(node, Call):
            continue
        elif isinstance(node.op, Function) and len(node.op.params) == len(node.args):
            if sum(len(u.get(node.op, ())) for u in often.values()) > 1:
                continue
            replaced = {node: node.op.body, **dict(zip(node.op.params, node.args, strict=True))}
        elif isinstance(node.op, GlobalVar) and node.op in mod.functions:
            func = mod.functions[node.op]
            if len(func.params) != len(node.args):
                continue
            replaced = {node: _copied(func, node)}
        else:
            continue
        yield f"inline {node.summary()}", _edit(mod, replaced, keep)


def _copied(func: Function, call: Call) -> Expr:
    """The body of a function, copied with fresh variables for one call."""
    own: dict[Expr, Expr] = dict(zip(func.params, call.args, strict=True))
    for node in post_order(func.body):
        for v in bound_by(node):
            own.setdefault(v, Var(v.name_hint, v.type_annotation))
    body: Expr = rebuild(func.body, lambda pre, post: post, memo=own)
    return body


def _edit(mod: IRModule, replaced: Replaced, keep: bool) -> Callable[[], IRModule]:
    return lambda: edited(mod, replaced, keep=keep)


def callee_alone(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Replace @main by a function that it calls."""
    main = next((gv for gv in mod.functions if gv.name_hint == "main"), None)
    for gv, func in mod.functions.items():
        if main is not None and gv is not main:
            alone = mod.with_functions({**mod.functions, main: func})
            yield f"@{gv.name_hint} in the place of @main", _edit(alone, {}, False)


def drop_each(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Drop unused functions and parameters, attributes of functions and of the module, and type
    definitions."""
    if keep:
        for gv in mod.functions:
            rest = {g: f for g, f in mod.functions.items() if g is not gv}
            if rest:
                yield f"drop @{gv.name_hint}", partial(mod.with_functions, rest)
        for gv, func in mod.functions.items():
            inside = set(post_order(func.body))
            for p in func.params:
                if p not in inside:
                    params = [q for q in func.params if q is not p]
                    new = {**mod.functions, gv: func.replace(params=params)}
                    yield f"drop %{p.name_hint}", partial(mod.with_functions, new)
    for gv, func in mod.functions.items():
        for key in func.attrs:
            new = {**mod.functions, gv: func.without_attr(key)}
            yield f"drop {key} of @{gv.name_hint}", partial(mod.with_functions, new)
        for node in post_order(func.body):
            if isinstance(node, Function):
                for key in node.attrs:
                    replaced: Replaced = {node: node.without_attr(key)}
                    yield f"drop {key} of {node.summary()}", _edit(mod, replaced, keep)
    if mod.attrs:
        yield "drop the attributes of the module", lambda: _without_attrs(mod)
    for header in mod.type_definitions:
        yield f"drop type {header}", partial(_without_type, mod, header)


def _without_attrs(mod: IRModule) -> IRModule:
    out = mod.copy()
    out.attrs = DictAttrs({})
    return out


def _without_type(mod: IRModule, header: Any) -> IRModule:
    out = mod.copy()
    del out.type_definitions[header]
    return out


def merge_parameters(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Replace a parameter by a different parameter of the same type."""
    for gv, func in mod.functions.items():
        if gv.name_hint != "main" and len(mod.functions) > 1:
            continue
        first: dict[Type, Var] = {}
        every: dict[Expr, Expr | None] = {}
        for p in func.params:
            other = first.setdefault(p.checked_type, p)
            if other is not p:
                every[p] = other
        if len(every) > 1:
            yield "one parameter for each type", _edit(mod, every, keep)
        for n, p in enumerate(func.params):
            for q in func.params[:n]:
                if q.checked_type == p.checked_type:
                    yield f"use %{q.name_hint} for {p.summary()}", _edit(mod, {p: q}, keep)


def simpler_constants(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Replace constants by parameters, scalars, zeros and ones."""
    found = _constants(mod)
    tensors = [c for c in found if c.data.shape]
    if len(tensors) > 1:
        yield "constants by parameters", _edit(mod, dict.fromkeys(tensors), keep)
    for c in found:
        if c.data.shape:
            yield f"{c.summary()} by a parameter", _edit(mod, {c: None}, keep)
            if c.data.numpy().size:
                scalar = Constant(c.numpy().reshape(-1)[0])
                yield f"{c.summary()} by a scalar", _edit(mod, {c: scalar}, keep)
        for name, make in (("zeros", np.zeros_like), ("ones", np.ones_like)):
            values = make(c.numpy())
            if not np.array_equal(values, c.numpy()):
                yield f"{c.summary()} by {name}", _edit(mod, {c: Constant(values)}, keep)


def _constants(mod: IRModule) -> list[Constant]:
    nodes = (n for f in mod.functions.values() for n in post_order(f.body))
    return list(dict.fromkeys(n for n in nodes if isinstance(n, Constant)))


def default_attributes(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Reset attributes of calls to their defaults: all of a module, then one by one."""
    chosen = {n: names for n in composites(mod) if isinstance(n, Call) and n.op_name
              and (names := chosen_attributes(n))}  # fmt: skip
    if len(chosen) > 1:
        every: dict[Expr, Expr | None] = {n: _with_defaults(n, s) for n, s in chosen.items()}
        yield "attributes by their defaults", _edit(mod, every, keep)
    for call, names in chosen.items():
        if len(names) > 1:
            step = f"attributes of {call.summary()} by their defaults"
            yield step, _edit(mod, {call: _with_defaults(call, names)}, keep)
        for name in names:
            step = f"{name} of {call.summary()} by its default"
            yield step, _edit(mod, {call: _with_defaults(call, [name])}, keep)


def _with_defaults(call: Call, names: list[str]) -> Call:
    fields = call.attrs.schema.by_name
    attrs = call.attrs.replace(**{n: fields[n].default for n in names})
    return Call(call.op, call.args, attrs, call.type_args, call.span)


def plain_values(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Replace a function used as a value, such as an operand, by a parameter of its result type."""
    for node in composites(mod):
        for part in node.parts():
            func = mod.functions.get(part) if isinstance(part, GlobalVar) else part
            if isinstance(func, Function) and not (isinstance(node, Call) and part is node.op):
                name = part.name_hint if isinstance(part, GlobalVar) else "p0"
                replaced: Replaced = {part: Var(name, func.body.checked_type)}
                yield f"{part.summary()} by a parameter", _edit(mod, replaced, keep)


def fewer_fields(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Remove one field from tuples that are operands, for example of concatenate."""
    projected = {n.tuple_value for n in composites(mod) if isinstance(n, TupleGetItem)}
    bodies = {func.body for func in mod.functions.values()}
    for node in composites(mod):
        if isinstance(node, Tuple) and len(node) > 1 and not {node} & (projected | bodies):
            for n in range(len(node)):
                fields = [f for m, f in enumerate(node.fields) if m != n]
                yield f"drop field {n} of a tuple", _edit(mod, {node: Tuple(fields)}, keep)


def smaller_shapes(mod: IRModule, keep: bool) -> Iterator[Change]:
    """Reduce dimension sizes: all equal sizes together, with equal attributes; then single axes."""
    leaves = _leaves(mod)
    sizes = sorted({n for leaf in leaves for n in extents(leaf.checked_type) if n > 1})
    for new in (1, 2):
        every = {n: new for n in sizes if n > new}
        if len(every) > 1:
            for attrs in (True, False):
                yield f"dimensions of size {new}", _resize(mod, every, attrs, keep)
    for old in reversed(sizes):
        for new in _smaller(old):
            for attrs in (True, False):
                step = f"dimensions of size {new} for {old}"
                yield step, _resize(mod, {old: new}, attrs, keep)
    axes = [
        (leaf, n, size)
        for leaf in leaves
        if isinstance(leaf.checked_type, TensorType)
        for n, size in enumerate(leaf.checked_type.shape)
        if isinstance(size, int) and size > 1
    ]
    groups = [[axis] for axis in axes] if len(axes) <= MAX_AXES else []
    if len(axes) <= MAX_PAIRED_AXES:
        groups += [[a, b] for a, b in combinations(axes, 2) if a[2] == b[2]]
    for group in groups:
        named = " and ".join(f"{n} of {leaf.summary()}" for leaf, n, _ in group)
        for new in _smaller(int(group[0][2])):
            chosen: dict[Expr, Expr | None] = {}
            for leaf, n, _ in group:
                chosen[leaf] = _with_axis(chosen.get(leaf) or leaf, n, new)
            yield f"dimension {named} of size {new}", _edit(mod, _free_types(mod, chosen), keep)


def _smaller(size: int) -> list[int]:
    """Smaller sizes to try, the smallest first."""
    found = [1, 2, 3]
    while found[-1] * 2 < size:
        found.append(found[-1] * 2 if found[-1] != 3 else 4)
    return list(dict.fromkeys(n for n in (*found, size // 2, size - 1) if 0 < n < size))


def _leaves(mod: IRModule) -> list[Expr]:
    params = [p for func in mod.functions.values() for p in func.params]
    return [*dict.fromkeys(params), *_constants(mod)]


def _with_axis(leaf: Expr, axis: int, new: int) -> Expr:
    if isinstance(leaf, Constant):
        return Constant(np.take(leaf.numpy(), range(new), axis=axis))
    assert isinstance(leaf, Var)
    ty: Any = leaf.type_annotation
    shape = [new if n == axis else size for n, size in enumerate(ty.shape)]
    return Var(leaf.name_hint, TensorType(shape, ty.dtype))


def _resize(
    mod: IRModule, sizes: Mapping[int, int], attrs: bool, keep: bool
) -> Callable[[], IRModule | None]:
    def make() -> IRModule | None:
        replaced: dict[Expr, Expr | None] = {}
        for leaf in _leaves(mod):
            if any(n in sizes for n in extents(leaf.checked_type)):
                replaced[leaf] = _resized(leaf, sizes)
        if attrs:
            calls: dict[Expr, Expr | None] = {}
            for n in composites(mod):
                if isinstance(n, Call) and (new := _with_attributes(n, sizes)) is not None:
                    calls[n] = new
            if not calls:
                return None  # `attrs=False` gives the same module
            replaced |= calls
        return edited(mod, _free_types(mod, replaced), keep=keep)

    return make


def _free_types(mod: IRModule, replaced: dict[Expr, Expr | None]) -> dict[Expr, Expr | None]:
    """Adds fresh untyped variables for the variables inside nodes; inference finds their types."""
    for node in composites(mod):
        for v in _bound(node):
            replaced.setdefault(v, Var(v.name_hint))
    return replaced


def _bound(node: Expr) -> tuple[Var, ...]:
    if isinstance(node, Call) and isinstance(node.op, Function):
        return node.op.params
    return bound_by(node) if isinstance(node, COMPOSITE) else ()


def _resized(leaf: Expr, sizes: Mapping[int, int]) -> Expr:
    if isinstance(leaf, Constant):
        array = leaf.numpy()
        return Constant(array[tuple(slice(sizes.get(n, n)) for n in array.shape)])
    assert isinstance(leaf, Var)
    return Var(leaf.name_hint, _resized_type(leaf.checked_type, sizes))


def _resized_type(ty: Type, sizes: Mapping[int, int]) -> Type:
    if isinstance(ty, TensorType):
        shape = [sizes.get(n, n) if isinstance(n, int) else n for n in ty.shape]
        return TensorType(shape, ty.dtype)
    if isinstance(ty, TupleType):
        return TupleType([_resized_type(field, sizes) for field in ty.fields])
    return ty


def _with_attributes(call: Call, sizes: Mapping[int, int]) -> Call | None:
    """A call whose attributes have the new sizes; None if no attribute has an old size."""
    if call.attrs is None or call.attrs.schema is None:
        return None
    changed = {
        name: new
        for name, value in call.attrs.items()
        if "axis" not in name and (new := _resized_value(value, sizes)) is not value
    }
    if not changed:
        return None
    return Call(call.op, call.args, call.attrs.replace(**changed), call.type_args, call.span)


def _resized_value(value: Any, sizes: Mapping[int, int]) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return sizes.get(int(value), value)
    if isinstance(value, tuple):
        new = tuple(_resized_value(v, sizes) for v in value)
        return value if all(a is b for a, b in zip(value, new, strict=True)) else new
    return value


CHANGES = (
    callee_alone,
    inline_each,
    drop_each,
    plain_values,
    merge_parameters,
    fewer_fields,
    simpler_constants,
    default_attributes,
    smaller_shapes,
)
"""Kinds of changes: each gives the changes of a module, the larger ones first."""

__all__ = ["CHANGES", "Change", "all_lets_inlined"]
