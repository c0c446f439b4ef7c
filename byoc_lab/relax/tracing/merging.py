"""`merged`: a replay of MergeCompositeFunctions that also reports the composites it joins, and the
reasons.

TVM's pass is written in C++ and reports neither. A replay is shown only if its result equals TVM's.
Source: src/relax/transform/merge_composite_functions.cc of TVM 0.27.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relax.ir.calls import CODEGEN, COMPOSITE
from byoc_lab.relax.tracing.outlining import (
    Group,
    Outlined,
    dataflow_bindings,
    has_attr,
    outlined,
    substituted,
    variables_of,
)
from byoc_lab.run.relax_values import is_tensor_type
from byoc_lab.run.tvm_runtime import import_tvm

MAIN = "main"  # the function whose composites TVM merges


@dataclass(frozen=True)
class Decision:
    """Whether a call of a composite joins the region of the composite that produces one of its
    operands.

    call: the variable of the call. producer: the operand that the other composite computes.
    blocking: an operand that is computed outside that region but depends on it, which prevents the
    merge; None if the composites are merged, or belong to two back ends.
    """

    call: Any
    producer: Any
    joined: bool
    blocking: Any = None


def merged(mod: Any) -> tuple[Outlined, list[Decision]]:
    """The result of MergeCompositeFunctions, and the decisions that led to it."""
    tvm = import_tvm()
    regions = _Regions(mod)
    made = outlined(mod, regions.groups(), lift_constants=True)
    annotated = _annotated(mod, made)
    with tvm.transform.PassContext():  # without the instruments of the caller
        made.mod = tvm.relax.transform.DeadCodeElimination([MAIN])(annotated)
    return made, regions.decisions


def composite_of(mod: Any, value: Any) -> str:
    """The name of the composite that a value calls; "" for other values."""
    callee = getattr(value, "op", None)
    if not isinstance(callee, import_tvm().ir.GlobalVar):
        return ""
    function = mod[callee]
    return str(function.attrs[COMPOSITE]) if has_attr(function, COMPOSITE) else ""


def what_is(value: Any, mod: Any) -> str:
    """Describes a value, such as by its operator or composite. mod: contains the composites."""
    relax = import_tvm().relax
    if isinstance(value, relax.TupleGetItem):
        return f"item {value.index} of a tuple"
    operator = str(getattr(getattr(value, "op", None), "name", ""))
    kind = "a tuple" if isinstance(value, relax.Tuple) else "another variable"
    return composite_of(mod, value) or operator.removeprefix("relax.") or kind


@dataclass(eq=False)
class _Region:
    """Values that one function will compute, or a value outside regions.

    members, needs: bit sets of the regions merged into this one, and of all regions that these
    depend on.
    """

    back_end: str
    members: int
    needs: int = 0
    into: _Region | None = None

    @property
    def root(self) -> _Region:
        found = self
        while found.into is not None:
            found = found.into
        return found

    def need(self, other: _Region) -> None:
        mine, theirs = self.root, other.root
        if mine is not theirs:
            mine.needs |= theirs.members | theirs.needs

    def join(self, other: _Region) -> None:
        mine, theirs = self.root, other.root
        if mine is not theirs:
            theirs.into = mine
            mine.members |= theirs.members
            mine.needs |= theirs.needs


class _Regions:
    """The regions of a module's main function, by the values that they contain."""

    def __init__(self, mod: Any):
        self.mod, self.relax = mod, import_tvm().relax
        self.function = mod[MAIN]
        self.decisions: list[Decision] = []
        self._usage = _Usage(self.function)
        self._of: dict[Any, _Region] = {}
        self._count = 0
        for parameter in self.function.params:
            self._of[parameter] = self._new()
        for block in self.function.body.blocks:
            for binding in block.bindings:
                self._of[binding.var] = self._visit(binding.value, binding.var)

    def groups(self) -> dict[Any, Group]:
        """The groups, by the variables that they contain."""
        made: dict[_Region, Group] = {}
        found = {}
        for _, binding in dataflow_bindings(self.function):
            region = self._of[binding.var].root
            if region.back_end:
                group = made.setdefault(region, Group({CODEGEN: region.back_end}))
                found[binding.var] = group
        return found

    def _new(self, back_end: str = "", needs: Sequence[_Region] = ()) -> _Region:
        made = _Region(back_end, 1 << self._count)
        self._count += 1
        for needed in needs:
            made.need(needed)
        return made

    def _visit(self, value: Any, variable: Any = None) -> _Region:
        """Assign a value to a region. variable: the variable to which it is bound."""
        if value not in self._of:
            relax = self.relax
            if isinstance(value, relax.Call):
                found = self._call(value, variable)
            elif isinstance(value, relax.Tuple):
                found = self._tuple(value)
            elif isinstance(value, relax.TupleGetItem):
                found = self._item(value)
            else:
                found = self._new()
            self._of[value] = found
        return self._of[value]

    def _call(self, call: Any, variable: Any) -> _Region:
        args = [arg for arg in call.args if not isinstance(arg, import_tvm().ir.GlobalVar)]
        given = [self._visit(arg) for arg in args]
        back_end = composite_of(self.mod, call).partition(".")[0]
        joined = [
            region
            for arg, region in zip(args, given, strict=True)
            if back_end and region.back_end and self._joins(variable, back_end, arg, args)
        ]
        made = joined[0] if joined else self._new(back_end)
        for other in joined[1:]:
            made.join(other)
        for arg, region in zip(args, given, strict=True):
            fields = arg.fields if isinstance(arg, self.relax.Tuple) else ()
            for needed in map(self._visit, fields) if fields else (region,):
                made.need(needed)
        return made

    def _joins(self, variable: Any, back_end: str, arg: Any, args: Sequence[Any]) -> bool:
        """Whether the call of a composite joins the region of an argument."""
        region = self._of[arg].root
        blocking = next((a for a in args if self._of[a].root.needs & region.members), None)
        joined = region.back_end == back_end and blocking is None
        why = None if region.back_end != back_end else blocking
        self.decisions.append(Decision(variable, arg, joined, why))
        return joined

    def _tuple(self, value: Any) -> _Region:
        if not _is_flat(value):
            return self._new()
        fields = [self._visit(field) for field in value.fields]
        regions = {field.root for field in fields}
        if len(regions) == 1 and self._usage.is_split(value):
            (region,) = regions
            if region.back_end:
                return region
        return self._new(needs=fields)

    def _item(self, value: Any) -> _Region:
        whole = value.tuple_value
        if not _is_flat(whole):
            return self._new()
        region = self._visit(whole).root
        if region.back_end and self._usage.is_split(whole):
            return region
        return self._new(needs=[region])


def _is_flat(value: Any) -> bool:
    """Whether a value is a tuple of tensors, with at least one."""
    fields = getattr(value.ty, "fields", None) or ()
    return bool(fields) and all(map(is_tensor_type, fields))


class _Usage:
    """The users of the variables of a function."""

    def __init__(self, function: Any):
        self.relax = import_tvm().relax
        self._values: dict[Any, Any] = {}
        self._variables: dict[Any, list[Any]] = defaultdict(list)  # {value: variables bound to it}
        self._users: dict[Any, list[Any]] = defaultdict(list)
        self._results = set(variables_of(function.body.body))
        for block in function.body.blocks:
            for binding in block.bindings:
                self._values[binding.var] = binding.value
                self._variables[binding.value].append(binding.var)
                for used in variables_of(binding.value):
                    self._users[used].append(binding.var)

    def is_split(self, value: Any) -> bool:
        """Whether a tuple, under any of its variables, is only used by taking its items."""
        if isinstance(value, self.relax.Var):
            todo = [value]
        elif len(self._variables[value]) == 1:
            todo = list(self._variables[value])
        else:
            return False
        seen: set[Any] = set()
        any_item = False
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self._results:
                return False
            if isinstance(self._values.get(name), self.relax.Var):
                todo.append(self._values[name])
            for user in self._users[name]:
                used = self._values[user]
                if isinstance(used, self.relax.TupleGetItem):
                    any_item = True
                elif isinstance(used, self.relax.Var):
                    todo.append(user)
                else:
                    return False
        return any_item


def _annotated(before: Any, made: Outlined) -> Any:
    """The module whose outlined functions are regions: they get the names of their back ends, and
    copies of the composites that they call. before: the module with these composites."""
    tvm = import_tvm()
    groups = made.groups.get(MAIN, ())
    symbols = list(dict.fromkeys(group.symbol for group in groups))
    old = {symbol: made.mod.get_global_var(symbol) for symbol in symbols}
    rest = {gv: f for gv, f in made.mod.functions.items() if str(gv.name_hint) not in old}
    builder = tvm.relax.BlockBuilder(tvm.IRModule(rest, made.mod.attrs, made.mod.global_infos))
    callees: dict[Any, Any] = {}
    for gv in old.values():
        function = made.mod[gv]
        symbol = f"{gv.name_hint}_{function.attrs[CODEGEN]}"
        region = _region(builder, before, function).with_attr("global_symbol", symbol)
        callees[gv] = builder.add_func(region.without_attr("Primitive"), symbol)
    for group in groups:
        group.symbol = str(callees[old[group.symbol]].name_hint)
    main = made.mod.get_global_var(MAIN)
    builder.update_func(main, _calling(builder, made.mod[main], callees))
    return builder.get()


def _region(builder: Any, before: Any, function: Any) -> Any:
    """A function with copies of the composites that it calls, outside dataflow blocks."""
    relax = import_tvm().relax
    copies: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    builder.begin_scope(list(function.params))
    builder._begin_binding_block()
    for block in function.body.blocks:
        for binding in block.bindings:
            value = substituted(binding.value, places)
            if composite_of(before, value):
                composite = before[value.op]
                if composite not in copies:
                    copied = relax.utils.copy_with_new_vars(composite)
                    copies[composite] = copied.without_attr("Primitive")
                value = relax.Call(copies[composite], value.args)
            places[binding.var] = builder.emit(builder.normalize(value))
    blocks = [builder._end_block()]
    body = builder.normalize(relax.SeqExpr(blocks, substituted(function.body.body, places)))
    builder.end_scope()
    return _with_body(function, body)


def _calling(builder: Any, function: Any, callees: Mapping[Any, Any]) -> Any:
    """A function with some of its callees replaced."""
    relax = import_tvm().relax
    builder.begin_scope(list(function.params))
    blocks = []
    for block in function.body.blocks:
        flow = isinstance(block, relax.DataflowBlock)
        (builder._begin_dataflow_block if flow else builder._begin_binding_block)()
        for binding in block.bindings:
            callee = callees.get(getattr(binding.value, "op", None))
            if callee is not None:
                value = builder.normalize(relax.Call(callee, binding.value.args))
                binding = relax.VarBinding(binding.var, value)
            builder.emit_normalized(binding)
        blocks.append(builder._end_block())
    body = builder.normalize(relax.SeqExpr(blocks, function.body.body))
    builder.end_scope()
    return _with_body(function, body)


def _with_body(function: Any, body: Any) -> Any:
    relax = import_tvm().relax
    ret = function.ret_ty
    return relax.Function(function.params, body, ret, function.is_pure, function.attrs)
