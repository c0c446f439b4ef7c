"""The NumPy executor: evaluates a module at any stage of any pipeline, unchanged.

All other results are compared with it, so it is simple rather than fast: it runs one operator after
the other, each with the NumPy reference in its definition. Annotations are identities; external
functions are called like other functions. Nothing here recurses over the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, EvaluationError, InputError, kind_of
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.attrs import dtype as dtype_kind
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
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
    TupleWrapper,
    Var,
    describe,
)
from byoc_lab.relay.ir.foreign import adopted, refuse_foreign
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import run
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.run.inputs import WIDENED, bind_inputs, widened
from byoc_lab.run.interpreter import (
    Closure,
    Interpreter,
    Observer,
    ScopeFrame,
    Steps,
    evaluated_first,
)
from byoc_lab.run.lifetimes import Lifetimes
from byoc_lab.run.values import ConstructorValue, RefValue

MAX_CALL_DEPTH = 100_000


@dataclass(frozen=True)
class Result:
    """The result of a run.

    value: an array, a (nested) tuple, a value of an algebraic data type (a `ConstructorValue`), a
    reference (a `RefValue`), or a function (a `FunctionValue`).
    values: with keep=True, the value of every evaluated node, also inside called functions; for a
    node that was evaluated several times, the last value.
    """

    value: Any
    values: dict[Expr, Any] = field(default_factory=dict, repr=False)

    @property
    def outputs(self) -> tuple[np.ndarray, ...]:
        """The arrays of `value`, with tuples and constructor fields flattened."""
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

    inputs: arrays by parameter name, or in the order of the parameters; any value that NumPy
    converts to an array; ConstructorValues and RefValues for parameters of data and reference
    types.
    dtype: "float64" computes float32, float16 and bfloat16 tensors in float64; None keeps all
    dtypes. keep: whether to keep the value of every node.

    Raises InputError for an input that is missing, unexpected, or of the wrong shape or dtype, and
    EvaluationError for nodes without a value: an operator without NumPy reference, a free variable,
    a function that is declared but not defined.
    """
    if dtype is not None and not (isinstance(dtype, str) and dtype == "float64"):
        raise InputError(f"dtype must be None or 'float64', found {dtype!r:.80}")
    program = adopted(program)
    refuse_foreign(program, "evaluate")
    if not isinstance(program, (IRModule, Expr, TupleWrapper)):
        raise ArgumentError(
            f"evaluate takes a module, a function or an expression, found {kind_of(program)}"
        )
    mod = program if isinstance(program, IRModule) else IRModule()
    main = _main(program)
    wide, kept = dtype == "float64", Keep()
    values = bind_inputs(main, inputs, wide=wide)
    value = Reference(mod, wide, kept if keep else None).run(main, values)
    return Result(value, kept.values)


def _main(program: IRModule | Expr | TupleWrapper) -> Function:
    if isinstance(program, IRModule):
        main: Function = program["main"]
        return main
    expr = program.tuple_value if isinstance(program, TupleWrapper) else program
    return expr if isinstance(expr, Function) else Function(free_vars(expr), expr)


def widened_attrs(attrs: Attrs | None) -> Attrs | None:
    """Attributes with every bfloat16, float16 or float32 dtype replaced by float64."""
    if attrs is None or attrs.schema is None:
        return attrs
    wider = {
        f.name: "float64"
        for f in attrs.schema.fields
        if f.kind is dtype_kind and not f.fixed and attrs[f.name] in WIDENED
    }
    return attrs.replace(**wider) if wider else attrs


@dataclass(frozen=True, eq=False, repr=False)
class FunctionValue(Closure):
    """A function as a value of a run, callable with values for its parameters.

    Raises InputError for a wrong number of arguments, and the errors of `evaluate`.
    """

    mod: IRModule = field(default_factory=IRModule)
    wide: bool = False

    def __call__(self, *args: Any) -> Any:
        values = bind_inputs(self.function, args, wide=self.wide)
        return Reference(self.mod, wide=self.wide).run(self.function, values, self.frame)


class Keep(Observer):
    """Keeps the value of every node; the last value if a node is evaluated several times."""

    def __init__(self) -> None:
        self.values: dict[Expr, Any] = {}

    def on_value(self, node: Expr, value: Any) -> Any:
        self.values[node] = value
        return value


_UNIT: tuple[()] = ()


class Reference(Interpreter):
    """Evaluates with NumPy arrays, each operator by the reference in its definition.

    wide: compute float32, float16 and bfloat16 tensors in float64.
    """

    error = EvaluationError

    def __init__(self, mod: IRModule, wide: bool = False, observer: Observer | None = None):
        super().__init__(mod)
        self.wide = wide
        self.observer = observer
        self.lifetimes = Lifetimes(evaluated_first)
        self.depth = 0

    def run(
        self, function: Function, values: Mapping[Var, Any], outer: ScopeFrame | None = None
    ) -> Any:
        """The result of `function` for these values of its parameters."""
        frame = ScopeFrame(outer)
        for parameter, value in values.items():
            self.bind(parameter, value, frame)
        return run(self.scope(function.body, frame))

    def closure(
        self, function: Function, frame: ScopeFrame, name: GlobalVar | None = None
    ) -> FunctionValue:
        return FunctionValue(function, frame, name, self.mod, self.wide)

    def variable(self, node: Var, frame: ScopeFrame) -> Any:
        self.fail(node, f"%{node.name_hint} has no value: nothing binds it")

    def constant(self, node: Constant, frame: ScopeFrame) -> Any:
        return widened(node.numpy()) if self.wide else node.numpy()

    def operator(self, node: Call, op: Op, args: list[Any], frame: ScopeFrame) -> Any:
        attrs = widened_attrs(node.attrs) if self.wide else node.attrs
        try:
            return evaluate_op(op, attrs, args)
        except EvaluationError as error:
            if node.span is None:
                raise
            raise EvaluationError(f"{node.span}: {error}") from error

    def enter(self, node: Call, callee: Closure, args: list[Any], frame: ScopeFrame) -> Steps:
        function = callee.function
        if len(args) != len(function.params):
            expected = len(function.params)
            self.fail(node, f"{describe(function)} takes {expected} arguments, found {len(args)}")
        self.depth += 1
        if self.depth > MAX_CALL_DEPTH:
            self.fail(node, f"calls are nested {MAX_CALL_DEPTH} deep: endless recursion")
        inner = ScopeFrame(callee.frame)
        for parameter, value in zip(function.params, args, strict=True):
            self.bind(parameter, value, inner)
        value = yield self.scope(function.body, inner)
        self.depth -= 1
        return value

    def other_call(self, node: Call, callee: Any, args: list[Any], frame: ScopeFrame) -> Any:
        self.fail(node, f"{describe(node.op)} is called but is not a function")

    def if_(self, node: If, frame: ScopeFrame) -> Steps:
        taken = node.true_branch if bool(frame.find(node.cond)) else node.false_branch
        return (yield self.scope(taken, frame))

    def tuple_(self, node: Tuple, frame: ScopeFrame) -> Any:
        return tuple(frame.find(f) for f in node.fields)

    def projection(self, node: TupleGetItem, whole: Any, frame: ScopeFrame) -> Any:
        if not isinstance(whole, tuple) or not 0 <= node.index < len(whole):
            self.fail(node, f"{describe(node)}: field {node.index} does not exist")
        return whole[node.index]

    def ref_create(self, node: RefCreate, frame: ScopeFrame) -> Any:
        return RefValue(frame.find(node.value))

    def ref_read(self, node: RefRead, ref: Any) -> Any:
        return self._reference(node, ref).value

    def ref_write(self, node: RefWrite, ref: Any, value: Any) -> Any:
        self._reference(node, ref).value = value
        return _UNIT

    def _reference(self, node: RefRead | RefWrite, ref: Any) -> RefValue:
        if not isinstance(ref, RefValue):
            self.fail(node, f"{describe(node)}: {describe(node.ref)} is not a reference")
        return ref
