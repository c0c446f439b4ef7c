"""A function as one flat graph of operator calls, the input of compilers of whole functions.

The program is evaluated before it runs, as far as its values are known. Functions (also closures),
references and data are values of this evaluation and do not occur in the result; tensors stay
expressions. For an `if` on a tensor, both branches are evaluated and their results merged into one
value. If a call occurs again while it is being inlined, with the same known values, it is a
recursion on tensors. Its function remains a function: the tensors that it uses from outside become
further parameters, and the tensors that it leaves in references become further results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NoReturn

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import run
from byoc_lab.relay.ir.types import TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.abstract_values import (
    Cell,
    Choice,
    Copy,
    Merge,
    Store,
    cannot_build,
    fields_of,
    is_computed,
    part_at,
    with_part_at,
)
from byoc_lab.run.framed import frame_of_call, result_type, tuple_of, with_parts
from byoc_lab.run.interpreter import Closure, Interpreter, ScopeFrame, Steps, Value
from byoc_lab.run.values import ConstructorValue

MAX_DEPTH = 500  # limit of nested inlined calls: programs with known data need fewer
Keep = Callable[[Function], bool]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Flat:
    """`main` and the recursive functions that it calls, each flat."""

    main: Function
    functions: dict[GlobalVar, Function]


def flattened(function: Function, mod: IRModule | None = None, keep: Keep | None = None) -> Flat:
    """`function` without `let`, references, data and functions as values; it calls operators,
    functions for which `keep` is true, and separate recursive functions.

    mod: defines the global functions. Types are preserved; recursion needs a typed function. Raises
    BuildError if a value is known at run time only: data or functions among the inputs or outputs,
    and data that grows with a recursion on tensors.
    """
    recursive: set[Key] = set()
    while True:
        try:
            return _Inliner(mod, keep or _none, recursive, function).run(function)
        except _RecursionFound as found:
            recursive.add(found.key)


def inlined(function: Function, mod: IRModule | None = None, keep: Keep | None = None) -> Function:
    """As `flattened`, for a function without recursion; raises BuildError for a recursive one."""
    flat = flattened(function, mod, keep)
    if flat.functions:
        names = ", ".join(f"@{gv.name_hint}" for gv in flat.functions)
        raise BuildError(
            f"{names} is recursive, with a depth that depends on tensors: only byoc_lab.build "
            f"and byoc_lab.run.evaluate support that"
        )
    return flat.main


def _none(function: Function) -> bool:
    return False


class _RecursionFound(Exception):
    def __init__(self, key: Key):
        self.key = key


class _Inliner(Interpreter):
    """Evaluates with abstract values (`abstract_values.py`)."""

    error = BuildError

    def __init__(self, mod: IRModule | None, keep: Keep, recursive: set[Key], root: Function):
        super().__init__(mod)
        self.keep = keep
        self.recursive = recursive
        self.recursive_functions = {key[0][1] for key in recursive}
        self.active: Counter[Function] = Counter()
        self.active_keys: set[Key | None] = set()
        self.depth = 0
        self.made: dict[Key, tuple[GlobalVar, Type]] = {}
        self.functions: dict[GlobalVar, Function] = {}
        self.store: Store = {}
        # Without references, a node has the same value each time it is evaluated.
        functions = [root, *(mod.functions.values() if mod else ())]
        self.pure = not any(isinstance(n, RefCreate) for n in post_order(*functions))

    def run(self, function: Function) -> Flat:
        frame = ScopeFrame()
        frame.values.update((p, p) for p in function.params)
        value = run(self.scope(function.body, frame))
        main = function.replace(body=self.computed(value, function, "the result of "))
        main = main.with_type(function.checked_type) if function.is_typed else main
        return Flat(main, self.functions)

    def computed(self, value: Value, where: Expr, what: str = "an argument of ") -> Expr:
        """A value as an expression."""
        if is_computed(value):
            return value
        if isinstance(value, tuple):
            return tuple_of([self.computed(v, where, what) for v in value])
        kinds = {
            Cell: "a reference",
            ConstructorValue: "data",
            Choice: "chosen by an `if`, and not a tensor",
        }
        raise cannot_build(
            where,
            f"{what}{describe(where)} is {kinds.get(type(value), 'a function')}, which only TVM's "
            f"Relay has when a program runs",
        )

    def fail(self, node: Expr, reason: str) -> NoReturn:
        raise cannot_build(node, reason)

    # Values

    def leaf(self, node: Expr, frame: ScopeFrame) -> Value:
        """A variable or constant of the flat graph."""
        return node

    variable = constant = leaf

    def tuple_(self, node: Tuple, frame: ScopeFrame) -> Value:
        fields = [frame.find(f) for f in node.fields]
        computed = all(map(is_computed, fields))
        return with_parts(node, fields, frame) if computed else tuple(fields)

    def ref_create(self, node: RefCreate, frame: ScopeFrame) -> Value:
        cell = Cell()
        self.store[cell] = frame.find(node.value)
        return cell

    def projection(self, node: TupleGetItem, whole: Value, frame: ScopeFrame) -> Value:
        if isinstance(whole, Choice):
            return self.branch(whole, lambda v: self.projection(node, v, frame))
        return whole[node.index] if isinstance(whole, tuple) else with_parts(node, [whole], frame)

    def ref_read(self, node: RefRead, ref: Value) -> Value:
        if isinstance(ref, Choice):
            return self.branch(ref, lambda cell: self.ref_read(node, cell))
        return self.store[_cell(node, ref)]

    def ref_write(self, node: RefWrite, ref: Value, value: Value) -> Value:
        if isinstance(ref, Choice):
            return self.branch(ref, lambda cell: self.ref_write(node, cell, value))
        self.store[_cell(node, ref)] = value
        return tuple_of([])

    # Branches

    def if_(self, node: If, frame: ScopeFrame) -> Steps:
        cond = self.computed(frame.find(node.cond), node, "the condition of ")

        def follow(part: Expr) -> Steps:
            return self.scope(part, frame if self.pure else ScopeFrame(frame))

        either = Choice(cond, node.true_branch, node.false_branch)
        return (yield self.branch(either, follow, node))

    def branch(self, either: Choice, follow: Callable[[Any], Any], node: If | None = None) -> Steps:
        """The results of `follow` for both sides of a choice, and the contents of references after
        it, each merged into one value."""
        before, ends = self.store, []
        for side in (either.one, either.other):
            self.store = dict(before)
            found = follow(side)
            value = (yield found) if isinstance(found, GeneratorType) else found
            ends.append((value, self.store))
        (one, store), (other, other_store) = ends
        if node and is_computed(one) and is_computed(other) and not before:
            self.store = {**other_store, **store}
            parts = [either.cond, one, other]
            same = all(a is b for a, b in zip(parts, node.parts(), strict=True))
            made = node if same else node.with_parts(parts)
            return made if made.is_typed or not one.is_typed else made.with_type(one.checked_type)
        cells = [c for c in before if store[c] is not other_store[c]]
        ones = (one, *(store[c] for c in cells))
        others = (other, *(other_store[c] for c in cells))
        value, *contents = yield self.merged(either.cond, ones, others)
        self.store = {**other_store, **store, **dict(zip(cells, contents, strict=True))}
        return value

    def merged(self, cond: Expr, ones: tuple[Value, ...], others: tuple[Value, ...]) -> Steps:
        """Merge two values into one; differing parts become fields of a single `if`."""
        pairs: list[tuple[Expr, Expr]] = []

        def collect(one: Expr, other: Expr) -> Expr:
            pairs.append((one, other))
            return one

        yield Merge(cond, collect).of(ones, others)
        results: Iterator[Expr] = iter(())
        if pairs:
            sides = zip(*pairs, strict=True)
            true, false = (side[0] if len(side) == 1 else tuple_of(side) for side in sides)
            both = If(cond, true, false)
            both = both.with_type(true.checked_type) if true.is_typed else both
            results = iter([both] if len(pairs) == 1 else fields_of(both))
        return (yield Merge(cond, lambda one, other: next(results)).of(ones, others))

    def clause_frame(self, frame: ScopeFrame) -> ScopeFrame:
        return ScopeFrame(frame)

    def is_undecided(self, value: Value) -> bool:
        return isinstance(value, Choice)

    def undecided_match(
        self, node: Match, value: Value, path: list[int], frame: ScopeFrame
    ) -> Value:
        def follow(side: Value) -> Steps:
            return self.match(node, with_part_at(value, path, side), frame)

        return self.branch(part_at(value, path), follow)

    def fields(self, value: Value) -> tuple[Value, ...]:
        return fields_of(value)

    def not_data(self, node: Match, value: Value) -> NoReturn:
        self.fail(node, f"the data that {describe(node)} matches is known at run time only")

    # Calls

    def operator(self, node: Call, op: Op, args: list[Value], frame: ScopeFrame) -> Value:
        return with_parts(node, [op, *(self.computed(a, node) for a in args)], frame)

    def enter(self, node: Call, callee: Closure, args: list[Value], frame: ScopeFrame) -> Value:
        if self.keep(callee.function):
            op = callee.name or callee.function
            return with_parts(node, [op, *(self.computed(a, node) for a in args)], frame)
        return self.follow(node, callee, args, frame)

    def other_call(self, node: Call, callee: Value, args: list[Value], frame: ScopeFrame) -> Value:
        if isinstance(callee, Choice):
            return self.branch(callee, lambda side: self.call(node, side, args, frame))
        self.fail(node, f"the function that {describe(node)} calls is known at run time only")

    def follow(self, node: Call, callee: Closure, args: list[Value], frame: ScopeFrame) -> Steps:
        function, key = callee.function, None
        if function in self.recursive_functions or self.active[function]:
            copy = Copy(lambda leaf: leaf, self.store)
            yield copy.of((callee, *args))
            key = tuple(copy.key[1:])
            if key in self.recursive:
                return (yield self.recursion(node, callee, args, key, frame))
            if key in self.active_keys:
                raise _RecursionFound(key)
        if self.depth == MAX_DEPTH:
            raise cannot_build(
                node,
                f"calls are {MAX_DEPTH} deep at {describe(node)}: data or functions grow with a "
                f"recursion whose depth depends on tensors",
            )
        self.active[function] += 1
        self.active_keys.add(key)
        self.depth += 1
        value = yield self.scope(function.body, frame_of_call(node, callee, args, frame))
        self.active[function] -= 1
        self.active_keys.discard(key)
        self.depth -= 1
        return value

    def recursion(
        self, node: Call, callee: Closure, args: list[Value], key: Key, frame: ScopeFrame
    ) -> Steps:
        """A call of the recursive function for `key`, which is created at the first call."""
        leaves: list[Expr] = []

        def note(leaf: Expr) -> Expr:
            leaves.append(leaf)
            return leaf

        outside = Copy(note, self.store)
        yield outside.of((callee, *args))
        cells = [c for c, _ in outside.cells if is_computed(self.store[c])]
        if key not in self.made:
            gv = GlobalVar(f"recursive_{len(self.made) + 1}")
            types = [result_type(node, frame), *(self.store[c].checked_type for c in cells)]
            self.made[key] = gv, (TupleType(types) if cells else types[0])
            self.functions[gv] = yield self.define(node, callee, args, frame)
        gv, ty = self.made[key]
        call = Call(gv, leaves, span=node.span).with_type(ty)
        if not cells:
            return call
        result, *contents = fields_of(call)
        self.store.update(zip(cells, contents, strict=True))
        return result

    def define(self, node: Call, callee: Closure, args: list[Value], frame: ScopeFrame) -> Steps:
        """Define the recursive function: its parameters are the expressions in the call's
        arguments, its results those of the call, followed by the final contents of the
        references."""
        params: list[Var] = []
        names = {a: p for p, a in zip(callee.function.params, args, strict=True) if is_computed(a)}

        def parameter(leaf: Expr) -> Var:
            ty, named = leaf.checked_type, names.get(leaf, leaf)
            name = named.name_hint if isinstance(named, Var) else f"x{len(params)}"
            params.append(Var(name, ty).with_type(ty, span=node.span))
            return params[-1]

        inside = Copy(parameter, self.store)
        own, *own_args = yield inside.of((callee, *args))
        saved, self.store = self.store, inside.made_store
        start = dict(self.store)
        value = yield self.scope(own.function.body, frame_of_call(node, own, own_args, frame))
        body = self.computed(value, node, "the result of a recursion, ")
        cells = [c for _, c in inside.cells]
        for cell in cells:
            if not is_computed(start[cell]) and self.store[cell] is not start[cell]:
                raise cannot_build(node, "a recursion changes a reference to a function or to data")
        contents = [self.store[c] for c in cells if is_computed(start[c])]
        contents = [self.computed(c, node, "a reference in ") for c in contents]
        self.store = saved
        return Function(params, tuple_of([body, *contents]) if contents else body)


def _cell(node: Expr, ref: Value) -> Cell:
    if not isinstance(ref, Cell):
        raise cannot_build(node, f"the reference of {describe(node)} is known at run time only")
    return ref
