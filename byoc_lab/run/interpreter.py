"""The traversal shared by all evaluations of Relay: each node of a scope gets its value, in the
order of Relay's interpreter.

Subclasses define the kinds of values: arrays, tuples and data of them (`reference.py`), or values
known before a program runs (`inline.py`). Nothing recurses over the graph: a rule that needs the
value of another scope yields that scope, and `relay.rules.run` keeps the stack of suspended rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NoReturn

from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
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
from byoc_lab.relay.ir.types import Type
from byoc_lab.run.lifetimes import Lifetimes, count_down
from byoc_lab.run.values import ConstructorValue

Value = Any
Steps = Generator[Any, Any, Value]  # run by `relay.rules.run`
ABSENT = object()


class ScopeFrame:
    """The values of the nodes of one scope; `outer` is the frame of the enclosing scope.

    types: the types bound to the type parameters of the enclosing functions.
    """

    __slots__ = ("outer", "types", "values")

    def __init__(self, outer: ScopeFrame | None = None, types: Mapping[Type, Type] | None = None):
        self.outer = outer
        self.types: dict[Type, Type] = {**(outer.types if outer else {}), **(types or {})}
        self.values: dict[Expr, Value] = {}

    def find(self, node: Expr) -> Value:
        """The value of a node here or in an outer frame, or ABSENT."""
        frame: ScopeFrame | None = self
        while frame is not None:
            if node in frame.values:
                return frame.values[node]
            frame = frame.outer
        return ABSENT


@dataclass(frozen=True, eq=False, repr=False)
class Closure:
    """A function as a value, with the frame of its free variables. name: of a global function."""

    function: Function
    frame: ScopeFrame
    name: GlobalVar | None = None


class Observer(ABC):
    """Observes every value, and may replace it."""

    @abstractmethod
    def on_value(self, node: Expr, value: Value) -> Value:
        """The value to use for a node, or for a parameter of a called function."""


@dataclass(frozen=True)
class _Bind:
    """A pending step: give the variable of a let its value."""

    let: Let


class Interpreter(ABC):
    """Evaluates scopes. A subclass defines the abstract rules.

    A rule takes a node whose parts have values, and returns the node's value, or a generator that
    computes it.
    """

    error: type[ByocLabError]
    """The class of the exception raised for a node without a value."""

    def __init__(self, mod: IRModule | None = None):
        self.mod = mod or IRModule()
        self.globals: dict[GlobalVar, Closure] = {}
        self.observer: Observer | None = None
        self.lifetimes: Lifetimes | None = None
        """Determines when values are released; None keeps all values of a frame as long as the
        frame."""

    def scope(self, root: Expr, frame: ScopeFrame) -> Steps:
        """The value of `root`; the values of the nodes below it are stored in `frame`."""
        stack: list[Any] = [root]
        uses = self.lifetimes.of(root) if self.lifetimes is not None else {}
        while stack:
            node = stack.pop()
            if node is None:  # marks that the parts of the next node have values
                node = stack.pop()
                found = self.RULES[type(node)](self, node, frame)
                value = (yield found) if isinstance(found, GeneratorType) else found
                if self.observer is not None:
                    value = self.observer.on_value(node, value)
                frame.values[node] = value
                found = value = None
                used = (node.body,) if isinstance(node, Let) else evaluated_first(node)
                count_down(uses, used, frame.values)
            elif isinstance(node, _Bind):
                self.bind(node.let.var, frame.find(node.let.value), frame)
                count_down(uses, (node.let.value,), frame.values)
            elif frame.find(node) is ABSENT:
                if type(node) not in self.RULES:
                    self.fail(node, f"{describe(node)} cannot be evaluated")
                parts = evaluated_first(node)
                if isinstance(node, Let):
                    parts = (node.value, _Bind(node), node.body)
                stack += (node, None, *reversed(parts))
        return frame.find(root)

    def bind(self, variable: Var, value: Value, frame: ScopeFrame) -> None:
        """Give a variable its value."""
        if self.observer is not None:
            value = self.observer.on_value(variable, value)
        frame.values[variable] = value

    def fail(self, node: Expr, reason: str) -> NoReturn:
        """Raise this interpreter's error, with the source location of `node`."""
        raise self.error(f"{node.span}: {reason}" if node.span else reason)

    # Rules

    def itself(self, node: Expr, frame: ScopeFrame) -> Value:
        """The rule for a callee that evaluates to itself."""
        return node

    @abstractmethod
    def variable(self, node: Var, frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def constant(self, node: Constant, frame: ScopeFrame) -> Value: ...

    def global_variable(self, node: GlobalVar, frame: ScopeFrame) -> Value:
        if node not in self.mod:
            self.fail(node, f"@{node.name_hint} is called but not defined in the module")
        if node not in self.globals:
            self.globals[node] = self.closure(self.mod[node], ScopeFrame(), node)
        return self.globals[node]

    def function(self, node: Function, frame: ScopeFrame) -> Value:
        return self.closure(node, frame)

    def closure(
        self, function: Function, frame: ScopeFrame, name: GlobalVar | None = None
    ) -> Closure:
        return Closure(function, frame, name)

    def let(self, node: Let, frame: ScopeFrame) -> Value:
        return frame.find(node.body)

    @abstractmethod
    def tuple_(self, node: Tuple, frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def projection(self, node: TupleGetItem, whole: Value, frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def if_(self, node: If, frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def ref_create(self, node: RefCreate, frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def ref_read(self, node: RefRead, ref: Value) -> Value: ...

    @abstractmethod
    def ref_write(self, node: RefWrite, ref: Value, value: Value) -> Value: ...

    # Calls

    def call(self, node: Call, callee: Value, args: list[Value], frame: ScopeFrame) -> Value:
        if isinstance(callee, Op):
            return self.operator(node, callee, args, frame)
        if isinstance(callee, Constructor):
            return ConstructorValue(callee, tuple(args))
        if isinstance(callee, Closure):
            return self.enter(node, callee, args, frame)
        return self.other_call(node, callee, args, frame)

    @abstractmethod
    def operator(self, node: Call, op: Op, args: list[Value], frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def enter(self, node: Call, callee: Closure, args: list[Value], frame: ScopeFrame) -> Value: ...

    @abstractmethod
    def other_call(self, node: Call, callee: Value, args: list[Value], frame: ScopeFrame) -> Value:
        """A call whose callee is neither an operator, a constructor nor a function."""

    # Matches

    def match(self, node: Match, value: Value, frame: ScopeFrame) -> Steps:
        for clause in node.clauses:
            inner = self.clause_frame(frame)
            found = self.matches(clause.lhs, value, inner, node)
            if isinstance(found, list):
                return (yield self.undecided_match(node, value, found, frame))
            if found:
                return (yield self.scope(clause.rhs, inner))
        self.fail(node, f"no clause of {describe(node)} matches the value {value!r}")

    def clause_frame(self, frame: ScopeFrame) -> ScopeFrame:
        """The frame for the values of a clause of a match in `frame`."""
        return frame

    def is_undecided(self, value: Value) -> bool:
        """Whether the constructor that created `value` is unknown."""
        return False

    def undecided_match(
        self, node: Match, value: Value, path: list[int], frame: ScopeFrame
    ) -> Value:
        """The result of a match that depends on an undecided part of its value, at `path`."""
        self.fail(node, f"{describe(node)} needs a data value, found the undecided {value!r}")

    def fields(self, value: Value) -> tuple[Value, ...]:
        """The fields of a tuple."""
        fields: tuple[Value, ...] = value
        return fields

    def not_data(self, node: Match, value: Value) -> NoReturn:
        """Raise the error for a constructor pattern and a value that is not an algebraic data
        value."""
        self.fail(node, f"{describe(node)} needs a data value, found {value!r}")

    def matches(
        self, pattern: Pattern, value: Value, frame: ScopeFrame, node: Match
    ) -> bool | list[int]:
        """Whether a pattern matches a value; binds its variables in `frame`. If a part of the value
        is undecided: the path to that part, as field numbers."""
        if isinstance(pattern, PatternVar):
            self.bind(pattern.var, value, frame)
            return True
        if not isinstance(pattern, (PatternConstructor, PatternTuple)):
            return True
        if self.is_undecided(value):
            return []
        if isinstance(pattern, PatternTuple):
            parts = self.fields(value)
        elif not isinstance(value, ConstructorValue):
            self.not_data(node, value)
        elif pattern.constructor.identity != value.constructor.identity:
            return False
        else:
            parts = value.fields
        for n, (below, part) in enumerate(zip(pattern.patterns, parts, strict=True)):
            found = self.matches(below, part, frame, node)
            if isinstance(found, list):
                return [n, *found]
            if not found:
                return False
        return True

    RULES: Mapping[type, Callable[[Any, Any, ScopeFrame], Value]] = {
        Var: lambda self, node, frame: self.variable(node, frame),
        Constant: lambda self, node, frame: self.constant(node, frame),
        Op: itself,
        Constructor: itself,
        GlobalVar: global_variable,
        Function: function,
        Let: let,
        Tuple: lambda self, node, frame: self.tuple_(node, frame),
        TupleGetItem: lambda self, node, frame: self.projection(
            node, frame.find(node.tuple_value), frame
        ),
        If: lambda self, node, frame: self.if_(node, frame),
        Match: lambda self, node, frame: self.match(node, frame.find(node.data), frame),
        RefCreate: lambda self, node, frame: self.ref_create(node, frame),
        RefRead: lambda self, node, frame: self.ref_read(node, frame.find(node.ref)),
        RefWrite: lambda self, node, frame: self.ref_write(
            node, frame.find(node.ref), frame.find(node.value)
        ),
        Call: lambda self, node, frame: self.call(
            node, frame.find(node.op), [frame.find(a) for a in node.args], frame
        ),
    }


def evaluated_first(node: Expr) -> tuple[Any, ...]:
    """The parts of a node that are evaluated before it in its own scope, in order."""
    if isinstance(node, Function):
        return ()
    if isinstance(node, If):
        return (node.cond,)
    if isinstance(node, Match):
        return (node.data,)
    if isinstance(node, Let):
        return (node.value, node.body)
    return node.parts()
