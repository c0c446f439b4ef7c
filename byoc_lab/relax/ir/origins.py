"""For each operator call of a partitioned module, the original call before partitioning."""

from __future__ import annotations

from collections import ChainMap, defaultdict, deque
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relax.ir.calls import CODEGEN, COMPOSITE, OperatorCall, host_functions, operator_calls
from byoc_lab.run.relax_values import name_of, tensor_of
from byoc_lab.run.tvm_runtime import import_tvm

Key = int
"""Equal for values that are computed alike from the same parameters and constants."""
Scope = MutableMapping[Any, Key]


@dataclass(frozen=True)
class Origin:
    """The original call of a call in a partitioned module.

    call: in the module before partitioning, if known. name: in the text, such as "%lv", or "%lv in
    @region" if only the region has it. position: in the input module of FuseOpsByPattern, otherwise
    in the partitioned module. prepared: whether a pass before the partitioning created it.
    """

    call: Any
    name: str
    position: int
    prepared: bool = False


class Origins:
    """The origins of the calls of a partitioned module.

    mod: the initial module. given: the module after the passes that precede the partitioning. cut:
    the module after all passes. A call in an outlined function and its origin compute the same
    value from the same parameters and constants; several such calls are paired one to one.
    """

    def __init__(self, mod: Any, given: Any, cut: Any):
        keys: dict[Hashable, Key] = {}
        self._own, self._positions = _by_variable(mod), dict[Any, int]()
        self._sites: dict[str, list[list[tuple[OperatorCall | None, int]]]] = defaultdict(list)
        walks, before = list(_walks(cut, keys)), list(_walks(given, keys))
        host = {call.bound for walk in walks for call, _, site in walk.calls if site is None}
        left: dict[Key, deque[OperatorCall]] = defaultdict(deque)
        for n, (call, key, site) in enumerate(c for walk in before for c in walk.calls):
            if site is None:
                self._positions[call.bound] = n
                if call.bound not in host:
                    left[key].append(call)
        inside = []
        for walk in walks:
            sites: list[list[tuple[OperatorCall | None, int]]] = [[] for _ in walk.symbols]
            for symbol, calls in zip(walk.symbols, sites, strict=True):
                self._sites[symbol].append(calls)
            inside += [(c, key, None if at is None else sites[at]) for c, key, at in walk.calls]
        for n, (call, key, found) in enumerate(inside):
            if found is None:
                self._positions.setdefault(call.bound, n)
            else:
                found.append((left[key].popleft() if left[key] else None, n))

    def inside(self, symbol: str, calls: Sequence[OperatorCall]) -> list[list[Origin]]:
        """The origins of the operator calls in an outlined function, for each call of the function
        in the module."""
        return [
            [
                Origin(call.call, f"%{call.variable} in @{symbol}", n) if made is None
                else self.of(made)
                for call, (made, n) in zip(calls, found, strict=True)
            ]
            for found in self._sites[symbol]
        ]  # fmt: skip

    def of(self, call: OperatorCall) -> Origin:
        """The origin of a call outside outlined functions."""
        position = self._positions.get(call.bound, len(self._positions))
        own = self._own.get(call.bound)
        if own is not None and own.name == call.name:
            return Origin(own.call, f"%{own.variable}", position)
        return Origin(call.call, f"%{call.variable}", position, prepared=True)


def _by_variable(mod: Any) -> dict[Any, OperatorCall]:
    calls = (call for function in host_functions(mod) for call in operator_calls(function))
    return {call.bound: call for call in calls if call.bound is not None}


def _walks(mod: Any, keys: dict[Hashable, Key]) -> Iterator[_Walk]:
    for gv, function in mod.functions.items():
        if isinstance(function, import_tvm().relax.Function) and not _is_outlined(function):
            yield _Walk(mod, str(gv.name_hint), function, keys)


def _is_outlined(function: Any) -> bool:
    return bool(function.attrs) and (CODEGEN in function.attrs or COMPOSITE in function.attrs)


class _Walk:
    """The operator calls of a function in order, including calls in the outlined functions that it
    calls.

    calls: each with its key, and the number of the enclosing call of an outlined function. symbols:
    the outlined functions, by these numbers.
    """

    def __init__(self, mod: Any, name: str, function: Any, keys: dict[Hashable, Key]):
        self.calls: list[tuple[OperatorCall, Key, int | None]] = []
        self.symbols: list[str] = []
        self._mod, self._keys = mod, keys
        self._tvm = import_tvm()
        self._relax = self._tvm.relax
        self._site: int | None = None
        self._fields: dict[Key, list[Key]] = {}  # fields of tuples
        self._local: dict[Any, tuple[Any, Scope]] = {}  # {variable: local function}
        scope = {p: self._key("param", name, n, name_of(p)) for n, p in enumerate(function.params)}
        self._value(function.body, scope, None, False)

    def _key(self, *parts: Hashable) -> Key:
        return self._keys.setdefault(parts, len(self._keys))

    def _value(self, value: Any, scope: Scope, bound: Any, dataflow: bool) -> Key:
        relax = self._relax
        if isinstance(value, relax.SeqExpr):
            inner = ChainMap({}, scope)
            for block in value.blocks:
                matched = isinstance(block, relax.DataflowBlock)
                for binding in block.bindings:
                    if isinstance(binding.value, relax.Function):
                        self._local[binding.var] = (binding.value, inner)
                    else:
                        made = self._value(binding.value, inner, binding.var, matched)
                        inner[binding.var] = made
            return self._value(value.body, inner, bound, dataflow)
        if isinstance(value, relax.If):
            branches = (value.true_branch, value.false_branch)
            results = [self._value(branch, scope, bound, False) for branch in branches]
            return self._key("if", self._operand(value.cond, scope), *results)
        if isinstance(value, relax.Call):
            return self._call(value, scope, bound, dataflow)
        return self._operand(value, scope)

    def _call(self, call: Any, scope: Scope, bound: Any, dataflow: bool) -> Key:
        args = [self._operand(arg, scope) for arg in call.args]
        if isinstance(call.op, self._tvm.ir.Op):
            made = self._key("call", str(call.op.name), self._digest(call.attrs), *args)
            self.calls.append((OperatorCall(call, bound, dataflow), made, self._site))
            return made
        if call.op in self._local:
            function, outer = self._local.pop(call.op)  # a recursion is followed once
            made = self._inlined(function, args, outer, bound, dataflow)
            self._local[call.op] = (function, outer)
            return made
        if isinstance(call.op, self._tvm.ir.GlobalVar) and self._site is None:
            function = self._mod[call.op]
            if isinstance(function, self._relax.Function) and _is_outlined(function):
                self._site = len(self.symbols)
                self.symbols.append(str(call.op.name_hint))
                made = self._inlined(function, args, {}, bound, dataflow)
                self._site = None
                return made
        return self._key("call", self._operand(call.op, scope), *args)

    def _inlined(
        self, function: Any, args: list[Key], outer: Scope, bound: Any, dataflow: bool
    ) -> Key:
        params = dict(zip(function.params, args, strict=True))
        return self._value(function.body, ChainMap(params, outer), bound, dataflow)

    def _operand(self, value: Any, scope: Scope) -> Key:
        relax = self._relax
        if isinstance(value, relax.Var):
            return scope[value] if value in scope else self._key("variable", value)
        if isinstance(value, relax.Tuple):
            fields = [self._operand(field, scope) for field in value.fields]
            made = self._key("tuple", *fields)
            self._fields[made] = fields
            return made
        if isinstance(value, relax.TupleGetItem):
            whole = self._operand(value.tuple_value, scope)
            fields = self._fields.get(whole, [])
            return fields[value.index] if fields else self._key("item", whole, int(value.index))
        if isinstance(value, self._tvm.ir.GlobalVar):
            return self._key("function", str(value.name_hint))
        tensor = tensor_of(value)
        return self._key("constant", tensor) if tensor is not None else self._digest(value)

    def _digest(self, value: Any) -> Key:
        """The key of a shape, number, text or attributes; names of sizes do not matter."""
        import tvm_ffi

        return self._key("other", tvm_ffi.structural_hash(value, map_free_vars=True))
