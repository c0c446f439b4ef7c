"""PartialEvaluate: a program is run as far as it is known, and what is left is written down.

    let %f = fn (%y) { exp(%y) };              let %f = fn (%y) { let %x_0 = exp(%y); %x_0 };
    %0 = (%x, %f(%x));                    ->   let %x_1 = exp(%x);
    %0.1                                       let %x_2 = (%x, %x_1);
                                               %x_1

Calls of known functions become their bodies, branches and matches on known values one of their
sides, reads of known references what was written; operators on constants are computed. Every
value that is made gets a name, used or not: DeadCodeElimination takes away what is not needed.

A recursion is followed while it comes to older or smaller values (see `Fuel`), and
MOST_CALLS calls at most; what is left are calls. Functions of other compilers and Primitive ones
are not looked into, and calls of operators without arguments (`zeros`) stay.

Source: src/relay/transforms/partial_eval.cc of TVM 0.16, which refuses shared nodes; here they
get names first (ToANormalForm). Of closures it compares the arguments alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import count
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import ModulePass, PassContext, is_optimizable
from byoc_lab.passes.fold_constant import evaluated
from byoc_lab.passes.hook import report, rewriting
from byoc_lab.passes.let_list import LetList
from byoc_lab.passes.partial_values import (
    Cell,
    Closure,
    Data,
    Env,
    Fuel,
    Known,
    Store,
    Value,
    type_arguments,
)
from byoc_lab.passes.to_a_normal_form import Normaliser
from byoc_lab.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from byoc_lab.relay.analysis import bound_vars, free_vars
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
    Var,
)
from byoc_lab.relay.features import Feature, detect_feature
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.rules import run
from byoc_lab.relay.span import unless_tvm
from byoc_lab.relay.types import Type, TypeVar
from byoc_lab.relay.visit import substitute

MOST_CALLS = 10_000  # followed in one global function

Steps = Generator[Any, Any, Any]  # see `relay/rules.py`: yields the steps whose result it needs


class PartialEvaluate(ModulePass):
    """Run each function as far as it is known. What is new in the result has no types yet."""

    opt_level = 1

    @property
    def name(self) -> str:
        return "PartialEval"

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        named = infer_module(mod).copy()
        for gv, func in mod.functions.items():
            if is_optimizable(func) and Feature.fGraph in detect_feature(func):
                with rewriting(func, gv.name_hint):
                    named.functions[gv] = Normaliser(func).run()
        named = infer_module(named)
        out = mod.copy()
        for gv, func in mod.functions.items():
            if is_optimizable(func):
                with rewriting(func, gv.name_hint):
                    new = _Evaluation(named).function(gv)
                    report("evaluate", "what is known is computed now", func, new)
                    out.functions[gv] = new
        return out


class _Evaluation:
    """One global function, evaluated. Its rules give, by way of `run`, a Value."""

    def __init__(self, mod: IRModule):
        self.mod = mod
        self.names, self.clock = count(), count()
        self.store = Store()
        self.fuel: dict[Function, Fuel] = {}
        self.calls = 0
        self.globals: dict[str, Value] = {}
        self.rules: dict[type[Expr], Any] = {
            Call: self._call,
            Function: self._function,
            If: self._if,
            Match: self._match,
            RefCreate: self._ref_create,
            RefRead: self._ref_read,
            RefWrite: self._ref_write,
            Tuple: self._tuple,
            TupleGetItem: self._tuple_get_item,
        }

    def function(self, gv: GlobalVar) -> Function:
        made: Function = run(self._residual(Closure(self.mod[gv], Env())))
        return made

    def _value(self, known: Known, name: Expr) -> Value:
        return Value(known, name, next(self.clock))

    # Each kind of expression ----------------------------------------------------------------------

    def _evaluate(self, expr: Expr, env: Env, lets: LetList) -> Steps:
        while isinstance(expr, Let):
            if isinstance(expr.value, Function):
                name = Var(expr.var.name_hint, env.type(expr.var.type_annotation))
                yield self._function(expr.value, env, lets, expr.var, name)
            else:
                env.values[expr.var] = yield self._evaluate(expr.value, env, lets)
            expr = expr.body
        if type(expr) in self.rules:
            return (yield self.rules[type(expr)](expr, env, lets))
        return self._leaf(expr, env, lets)

    def _leaf(self, expr: Expr, env: Env, lets: LetList) -> Value:
        if isinstance(expr, Constant):
            return self._value(expr, lets.name(expr))
        if isinstance(expr, (Op, Constructor)):
            return self._value(expr, expr)
        if isinstance(expr, GlobalVar):
            if expr.name_hint not in self.globals:
                func = self.mod[expr]
                known = Closure(func, Env()) if _is_open(func) else None
                self.globals[expr.name_hint] = self._value(known, expr)
            return self.globals[expr.name_hint]
        found = env.find(expr) if isinstance(expr, Var) else None
        if found is None:
            raise PassError(f"PartialEvaluate needs closed functions, found {expr.in_words()}")
        return found

    def _tuple(self, expr: Tuple, env: Env, lets: LetList) -> Steps:
        fields = yield self._all(expr.fields, env, lets)
        return self._value(tuple(fields), lets.name(Tuple([f.name for f in fields], expr.span)))

    def _all(self, exprs: Sequence[Expr], env: Env, lets: LetList) -> Steps:
        values = []
        for expr in exprs:
            values.append((yield self._evaluate(expr, env, lets)))
        return values

    def _tuple_get_item(self, expr: TupleGetItem, env: Env, lets: LetList) -> Steps:
        whole = yield self._evaluate(expr.tuple_value, env, lets)
        if isinstance(whole.known, tuple):
            return whole.known[expr.index]
        return self._value(None, lets.name(TupleGetItem(whole.name, expr.index, expr.span)))

    def _if(self, expr: If, env: Env, lets: LetList) -> Steps:
        condition = yield self._evaluate(expr.cond, env, lets)
        if isinstance(condition.known, Constant):
            branch = expr.true_branch if condition.known.numpy() else expr.false_branch
            return (yield self._evaluate(branch, env, lets))
        one = yield self._apart(expr.true_branch, env)
        other = yield self._apart(expr.false_branch, env)
        self.store.forget()
        return self._value(None, lets.name(If(condition.name, one, other, expr.span)))

    def _apart(self, expr: Expr, env: Env) -> Steps:
        """What is left of code that may run or not."""
        lets = LetList(self.names)
        with self.store.apart():
            result = yield self._evaluate(expr, env, lets)
        return lets.close(result.name)

    # References -----------------------------------------------------------------------------------

    def _ref_create(self, expr: RefCreate, env: Env, lets: LetList) -> Steps:
        value = yield self._evaluate(expr.value, env, lets)
        cell = Cell()
        self.store.write(cell, value)
        return self._value(cell, lets.name(RefCreate(value.name, expr.span)))

    def _ref_read(self, expr: RefRead, env: Env, lets: LetList) -> Steps:
        ref = yield self._evaluate(expr.ref, env, lets)
        found = self.store.read(ref.known) if isinstance(ref.known, Cell) else None
        return found or self._value(None, lets.name(RefRead(ref.name, expr.span)))

    def _ref_write(self, expr: RefWrite, env: Env, lets: LetList) -> Steps:
        ref, value = yield self._all((expr.ref, expr.value), env, lets)
        if isinstance(ref.known, Cell):
            self.store.write(ref.known, value)
        else:
            self.store.forget()
        return self._value((), lets.name(RefWrite(ref.name, value.name, expr.span)))

    # Functions ------------------------------------------------------------------------------------

    def _function(
        self,
        func: Function,
        env: Env,
        lets: LetList,
        var: Var | None = None,
        name: Var | None = None,
    ) -> Steps:
        """A literal function, called `name` in the result; `var` is what it calls itself."""
        name = lets.fresh() if name is None else name
        outside = [env.find(v) for v in free_vars(func) if v is not var]
        closure = Closure(func, env, tuple(v for v in outside if v is not None))
        value = self._value(closure if _is_open(func) else None, name)
        if var is not None:
            env.values[var] = value
        residual = (yield self._residual(closure)) if _is_open(func) else _copy(func, env)
        lets.bind(name, residual)
        return value

    def _residual(self, closure: Closure) -> Steps:
        """The function again, its body evaluated for arguments of which nothing is known."""
        func, env = closure.function, closure.env
        old: Any = func.type_params
        variables = [TypeVar(t.name_hint, t.kind) for t in old]
        types = type_arguments(func.type_params, variables)
        inside = Env(env, types)
        params = [Var(p.name_hint, inside.type(p.type_annotation), p.span) for p in func.params]
        lets = LetList(self.names)
        with self.store.apart():
            result = yield self._body(closure, [self._value(None, p) for p in params], types, lets)
        return Function(
            params, lets.close(result.name), inside.type(func.ret_type), variables, func.attrs,
            func.span,
        )  # fmt: skip

    def _body(
        self, closure: Closure, args: Sequence[Value], types: dict[Type, Type], lets: LetList
    ) -> Steps:
        """What the body of a function gives for these arguments."""
        func, fuel = closure.function, Fuel.of(closure, args)
        before = self.fuel.get(func)
        self.fuel[func] = fuel if before is None else before.meet(fuel)
        env = Env(closure.env, types)
        env.values.update(zip(func.params, args, strict=True))
        result = yield self._evaluate(func.body, env, lets)
        if before is None:
            del self.fuel[func]
        else:
            self.fuel[func] = before
        return result

    def _call(self, call: Call, env: Env, lets: LetList) -> Steps:
        callee = yield self._evaluate(call.op, env, lets)
        args = yield self._all(call.args, env, lets)
        types = [env.type(t) for t in call.type_args]
        known = callee.known
        if isinstance(known, Closure) and self._goes_on(known, args):
            given = type_arguments(known.function.type_params, types)
            return (yield self._body(known, args, given, lets))
        left = Call(callee.name, [a.name for a in args], call.attrs, types, unless_tvm(call.span))
        if isinstance(known, Constructor):
            return self._value(Data(known, tuple(args)), lets.name(left))
        if isinstance(known, Op):
            return self._operator(known, left, args, lets)
        self.store.forget()
        return self._value(None, lets.name(left))

    def _goes_on(self, closure: Closure, args: Sequence[Value]) -> bool:
        """Whether to follow a call: one that is not inside another, or has come further."""
        before = self.fuel.get(closure.function)
        if self.calls == MOST_CALLS or (before and before.meet(Fuel.of(closure, args)) == before):
            return False
        self.calls += 1
        return True

    def _operator(self, op: Op, call: Call, args: Sequence[Value], lets: LetList) -> Value:
        given = [c for c in map(_constant, args) if c is not None]
        found = evaluated(op, call.attrs, given) if len(given) == len(args) else None
        return self._value(None, lets.name(call)) if found is None else self._made(found, lets)

    def _made(self, found: Expr, lets: LetList) -> Value:
        """A constant, or tuple of constants, as a value."""
        if isinstance(found, Tuple):
            fields = tuple(self._made(f, lets) for f in found.fields)
            return self._value(fields, lets.name(Tuple([f.name for f in fields])))
        assert isinstance(found, Constant)
        return self._value(found, lets.name(found))

    # Matches --------------------------------------------------------------------------------------

    def _match(self, match: Match, env: Env, lets: LetList) -> Steps:
        data = yield self._evaluate(match.data, env, lets)
        for clause in match.clauses:
            fits = _fits(clause.lhs, data, env)
            if fits:
                return (yield self._evaluate(clause.rhs, env, lets))
            if fits is None:
                break
        clauses = []
        for clause in match.clauses:
            new = {v: Var(v.name_hint, env.type(v.type_annotation)) for v in clause.lhs.vars}
            env.values.update({v: self._value(None, n) for v, n in new.items()})
            rhs = yield self._apart(clause.rhs, env)
            clauses.append(Clause(clause.lhs.with_vars(new), rhs, clause.span))
        self.store.forget()
        return self._value(None, lets.name(Match(data.name, clauses, match.complete, match.span)))


def _fits(pattern: Pattern, value: Value, env: Env) -> bool | None:
    """Whether a value is of that form, None when that is not known; it gives variables values."""
    if isinstance(pattern, PatternVar):
        env.values[pattern.var] = value
        return True
    if isinstance(pattern, PatternConstructor):
        if not isinstance(value.known, Data):
            return None
        if value.known.constructor.identity != pattern.constructor.identity:
            return False
        fields = value.known.fields
    elif isinstance(pattern, PatternTuple):
        if not isinstance(value.known, tuple):
            return None
        fields = value.known
    else:
        return True
    found = [_fits(p, v, env) for p, v in zip(pattern.patterns, fields, strict=True)]
    if False in found:
        return False
    return None if None in found else True


def _is_open(func: Function) -> bool:
    """Whether a function may be looked into."""
    return is_optimizable(func) and not func.attrs.get("Primitive")


def _copy(func: Function, env: Env) -> Function:
    """A function as it is, with variables of its own and what those from outside stand for."""
    names: dict[Var, Expr] = {}
    for var in bound_vars(func):
        names[var] = Var(var.name_hint, env.type(var.type_annotation), var.span)
    for var in free_vars(func):
        found = env.find(var)
        if found is None:
            raise PassError(f"PartialEvaluate needs closed functions, found {var.in_words()}")
        names[var] = found.name
    copied = substitute(func, names)
    assert isinstance(copied, Function)
    return copied


def _constant(value: Value) -> Expr | None:
    """The constant, or tuple of constants, that a value is."""
    if isinstance(value.known, Constant):
        return value.known
    if isinstance(value.known, tuple):
        fields = [_constant(f) for f in value.known]
        return Tuple([f for f in fields if f is not None]) if None not in fields else None
    return None
