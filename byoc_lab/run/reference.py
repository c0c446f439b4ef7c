"""The NumPy executor: runs a module of any stage of any pipeline, as the text says it.

It is what everything else is compared with, so it is simple rather than quick: one operator after
the other, each by the reference in its definition. Annotations are identities, external functions
are called like any other. Nothing here recurses over the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, EvaluationError, InputError
from byoc_lab.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from byoc_lab.relay.analysis import free_vars
from byoc_lab.relay.attrs import Attrs
from byoc_lab.relay.attrs import dtype as dtype_kind
from byoc_lab.relay.expr import (
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
    TupleWrapper,
    Var,
    describe,
)
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.op.evaluate import evaluate_op
from byoc_lab.run.inputs import WIDENED, bind_inputs, widened
from byoc_lab.run.values import ConstructorValue, RefValue

MAX_CALL_DEPTH = 100_000


@dataclass(frozen=True)
class Result:
    """What a run gave.

    value: an array, a (nested) tuple, what a constructor made (a `ConstructorValue`), a reference
        (a `RefValue`), or a function (a `Closure`).
    values: with keep=True, the value of every node that was evaluated, those inside called
        functions included; of a node that was evaluated several times, the last one.
    """

    value: Any
    values: dict[Expr, Any] = field(default_factory=dict, repr=False)

    @property
    def outputs(self) -> tuple[np.ndarray, ...]:
        """The arrays of `value`, tuples and fields of constructors made flat."""
        flat: list[np.ndarray] = []
        todo = [self.value]
        while todo:
            item = todo.pop()
            if isinstance(item, ConstructorValue):
                item = item.fields
            if isinstance(item, tuple):
                todo += reversed(item)
            else:
                flat.append(item)
        return tuple(flat)


def evaluate(
    program: IRModule | Expr | TupleWrapper,
    inputs: Mapping[str, Any] | Sequence[Any] = (),
    *,
    dtype: str | None = None,
    keep: bool = False,
) -> Result:
    """Run @main of a module, a function, or an expression (its free variables are the inputs).

    inputs: arrays by parameter name, or in the order of the parameters; anything NumPy takes, and
        for parameters of such types ConstructorValues and RefValues.
    dtype: "float64" runs all that is float32, float16 or bfloat16 in float64; None: as it is.
    keep: whether to keep the value of every node.

    Raises InputError for an input that is missing, surplus, or of the wrong shape or dtype, and
    EvaluationError for what has no value: an operator without reference, a free variable, a
    function that is declared but not defined.
    """
    if dtype is not None and not (isinstance(dtype, str) and dtype == "float64"):
        raise InputError(f"dtype must be None or 'float64', found {dtype!r:.80}")
    if not isinstance(program, (IRModule, Expr, TupleWrapper)):
        raise ArgumentError(
            f"evaluate takes a module, a function or an expression, found "
            f"{type(program).__name__} {program!r:.80}"
        )
    mod = program if isinstance(program, IRModule) else IRModule()
    main = _main(program)
    machine = _Machine(mod, wide=dtype == "float64", keep=keep)
    frame = _Frame(None)
    for parameter, value in bind_inputs(main, inputs, wide=machine.wide).items():
        machine.set(frame, parameter, value)
    return Result(machine.run(main.body, frame), machine.kept)


def _main(program: IRModule | Expr | TupleWrapper) -> Function:
    if isinstance(program, IRModule):
        return program["main"]
    expr = program.tuple_value if isinstance(program, TupleWrapper) else program
    return expr if isinstance(expr, Function) else Function(free_vars(expr), expr)


def widened_attrs(attrs: Attrs | None) -> Attrs | None:
    """Attributes in which every dtype that says bfloat16, float16 or float32 says float64."""
    if attrs is None or attrs.schema is None:
        return attrs
    wider = {
        f.name: "float64"
        for f in attrs.schema.fields
        if f.kind is dtype_kind and not f.fixed and attrs[f.name] in WIDENED
    }
    return attrs.replace(**wider) if wider else attrs


class _Frame:
    """The values of one call of a function; `outer` is the frame that the function was made in."""

    __slots__ = ("outer", "values")

    def __init__(self, outer: _Frame | None):
        self.outer = outer
        self.values: dict[Expr, Any] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Closure:
    """A function as a value: with the values of the variables around it, callable with those of
    its parameters. Raises InputError for another number of arguments, and what `evaluate` raises.
    """

    function: Function
    frame: _Frame | None
    machine: _Machine

    def __call__(self, *args: Any) -> Any:
        machine = _Machine(self.machine.mod, self.machine.wide, keep=False)
        frame = _Frame(self.frame)
        for parameter, value in bind_inputs(self.function, args, wide=machine.wide).items():
            machine.set(frame, parameter, value)
        return machine.run(self.function.body, frame)


_ABSENT = object()
_UNIT: tuple[()] = ()


def _find(frame: _Frame | None, node: Expr) -> Any:
    """The value of `node` here or in an outer frame, or _ABSENT."""
    while frame is not None:
        if node in frame.values:
            return frame.values[node]
        frame = frame.outer
    return _ABSENT


class _Machine:
    """Evaluates with a stack of its own: each entry is a node, its frame, and how far it is."""

    def __init__(self, mod: IRModule, wide: bool, keep: bool):
        self.mod = mod
        self.wide = wide
        self.keep = keep
        self.kept: dict[Expr, Any] = {}
        self.depth = 0
        self.stack: list[tuple[Expr, _Frame, Any]] = []

    def run(self, root: Expr, frame: _Frame) -> Any:
        self.stack.append((root, frame, None))
        while self.stack:
            node, frame, stage = self.stack.pop()
            if _find(frame, node) is _ABSENT:
                step = _STEPS.get(type(node))
                if step is None:
                    raise EvaluationError(f"{describe(node)} cannot be evaluated")
                step(self, node, frame, stage)
        return _find(frame, root)

    def set(self, frame: _Frame, node: Expr, value: Any) -> None:
        frame.values[node] = value
        if self.keep:
            self.kept[node] = value

    def later(self, frame: _Frame, node: Expr, stage: Any, *first: Expr) -> None:
        """Come back to `node` at `stage` when `first` have values."""
        self.stack.append((node, frame, stage))
        self.stack += [(part, frame, None) for part in reversed(first)]

    # One step for each kind of node

    def variable(self, node: Var, frame: _Frame, stage: Any) -> None:
        raise EvaluationError(f"%{node.name_hint} has no value: nothing binds it")

    def global_variable(self, node: GlobalVar, frame: _Frame, stage: Any) -> None:
        if node not in self.mod:
            raise EvaluationError(f"@{node.name_hint} is called but not defined in the module")
        self.set(frame, node, Closure(self.mod[node], None, self))

    def constant(self, node: Constant, frame: _Frame, stage: Any) -> None:
        self.set(frame, node, widened(node.numpy()) if self.wide else node.numpy())

    def callee(self, node: Op | Constructor, frame: _Frame, stage: Any) -> None:
        self.set(frame, node, node)

    def function(self, node: Function, frame: _Frame, stage: Any) -> None:
        self.set(frame, node, Closure(node, frame, self))

    def call(self, node: Call, frame: _Frame, stage: Any) -> None:
        if stage is None:
            self.later(frame, node, "called", node.op, *node.args)
            return
        if isinstance(stage, _Frame):
            self.depth -= 1
            body = _find(frame, node.op).function.body
            self.set(frame, node, _find(stage, body))
            return
        callee = _find(frame, node.op)
        args = [_find(frame, a) for a in node.args]
        if isinstance(callee, Op):
            self.set(frame, node, self._operator_value(node, callee, args))
        elif isinstance(callee, Constructor):
            self.set(frame, node, ConstructorValue(callee, tuple(args)))
        elif isinstance(callee, Closure):
            self._enter(node, frame, callee, args)
        else:
            raise EvaluationError(f"{describe(node.op)} is called but is no function")

    def _operator_value(self, node: Call, op: Op, args: list[Any]) -> Any:
        attrs = widened_attrs(node.attrs) if self.wide else node.attrs
        try:
            return evaluate_op(op, attrs, args)
        except EvaluationError as error:
            if node.span is None:
                raise
            raise EvaluationError(f"{node.span}: {error}") from error

    def _enter(self, node: Call, frame: _Frame, closure: Closure, args: list[Any]) -> None:
        function = closure.function
        if len(args) != len(function.params):
            raise EvaluationError(
                f"{describe(function)} takes {len(function.params)} arguments, found {len(args)}"
            )
        self.depth += 1
        if self.depth > MAX_CALL_DEPTH:
            raise EvaluationError(f"calls are nested {MAX_CALL_DEPTH} deep: endless recursion")
        inner = _Frame(closure.frame)
        for parameter, value in zip(function.params, args, strict=True):
            self.set(inner, parameter, value)
        self.stack.append((node, frame, inner))
        self.stack.append((function.body, inner, None))

    def let(self, node: Let, frame: _Frame, stage: Any) -> None:
        if stage is None:
            self.later(frame, node, "bound", node.value)
        elif stage == "bound":
            self.set(frame, node.var, _find(frame, node.value))
            self.later(frame, node, "done", node.body)
        else:
            self.set(frame, node, _find(frame, node.body))

    def branch(self, node: If, frame: _Frame, stage: Any) -> None:
        if stage is None:
            self.later(frame, node, "chosen", node.cond)
            return
        taken = node.true_branch if bool(_find(frame, node.cond)) else node.false_branch
        if stage == "chosen":
            self.later(frame, node, "done", taken)
        else:
            self.set(frame, node, _find(frame, taken))

    def match(self, node: Match, frame: _Frame, stage: Any) -> None:
        if stage is None:
            self.later(frame, node, "known", node.data)
            return
        if isinstance(stage, Clause):
            self.set(frame, node, _find(frame, stage.rhs))
            return
        value = _find(frame, node.data)
        for clause in node.clauses:
            bound: dict[Var, Any] = {}
            if _matches(clause.lhs, value, bound):
                for variable, part in bound.items():
                    self.set(frame, variable, part)
                self.later(frame, node, clause, clause.rhs)
                return
        place = f"{node.span}: " if node.span else ""
        raise EvaluationError(f"{place}no clause of this match takes the value {value!r}")

    def compound(self, node: Expr, frame: _Frame, stage: Any) -> None:
        """Tuples, projections, references: values follow from the values of the parts."""
        if stage is None:
            self.later(frame, node, "ready", *node.parts())
            return
        self.set(frame, node, _combine(node, [_find(frame, p) for p in node.parts()]))


def _combine(node: Expr, parts: list[Any]) -> Any:
    if isinstance(node, Tuple):
        return tuple(parts)
    if isinstance(node, TupleGetItem):
        whole = parts[0]
        if not isinstance(whole, tuple) or not 0 <= node.index < len(whole):
            raise EvaluationError(f"{describe(node)}: there is no field {node.index}")
        return whole[node.index]
    if isinstance(node, RefCreate):
        return RefValue(parts[0])
    if not isinstance(parts[0], RefValue):
        raise EvaluationError(f"{describe(node)}: {describe(node.parts()[0])} is no reference")
    if isinstance(node, RefRead):
        return parts[0].value
    parts[0].value = parts[1]
    return _UNIT


def _matches(pattern: Pattern, value: Any, bound: dict[Var, Any]) -> bool:
    """Whether a pattern takes a value; what its variables stand for is put in `bound`."""
    if isinstance(pattern, PatternVar):
        bound[pattern.var] = value
        return True
    if isinstance(pattern, PatternConstructor):
        if not isinstance(value, ConstructorValue):
            raise EvaluationError(f"the pattern {pattern} needs a data value, found {value!r}")
        if pattern.constructor.identity != value.constructor.identity:
            return False
        fields = value.fields
    elif isinstance(pattern, PatternTuple):
        fields = value
    else:
        return True
    return all(_matches(p, v, bound) for p, v in zip(pattern.patterns, fields, strict=True))


_STEPS: dict[type, Any] = {
    Var: _Machine.variable,
    GlobalVar: _Machine.global_variable,
    Constant: _Machine.constant,
    Op: _Machine.callee,
    Constructor: _Machine.callee,
    Match: _Machine.match,
    Function: _Machine.function,
    Call: _Machine.call,
    Let: _Machine.let,
    If: _Machine.branch,
    Tuple: _Machine.compound,
    TupleGetItem: _Machine.compound,
    RefCreate: _Machine.compound,
    RefRead: _Machine.compound,
    RefWrite: _Machine.compound,
}
