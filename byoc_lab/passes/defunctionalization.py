"""Defunctionalization: programs whose functions take functions become first order.

A function that is an argument becomes a value of a data type, with one constructor for each such
function and a field for each variable that it uses from outside. Of the function that takes it a
copy is made, for these types, in which what was a call of the parameter is a call of a function
`apply`, which matches the constructor and calls what it stands for:

    @map(fn (%x) { add(%x, 1) }, %xs)   ->   @mapFuncType(1, %xs)
    def @applyFuncType(%x: DefuncFuncType[], %y) { match (%x) { 1 => (fn (%x) {...})(%y) } }

Functions must not return functions, be fields of data or be named by a let.

Source: src/relay/transforms/defunctionalization.cc of TVM 0.16, which gives one name to what it
makes for different types, makes a constructor for every mention of a function, and leaves alone
what is inside of an argument of a function that takes functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.hook import report_function, rewriting
from byoc_lab.passes.rewrite import RewriteRule, rewrite
from byoc_lab.relay.adt import (
    Clause,
    Constructor,
    Match,
    PatternConstructor,
    PatternVar,
    TypeData,
)
from byoc_lab.relay.analysis import free_type_vars, free_vars
from byoc_lab.relay.expr import Call, Constant, Expr, Function, GlobalVar, Op, Var
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.types import FuncType, GlobalTypeVar, Type, TypeCall, parts_of, replace
from byoc_lab.relay.visit import applied, post_order, rebuild, substitute


def Defunctionalization(func: Function, mod: IRModule) -> Function:
    """`func`, of the typed module `mod`, made first order; what it needs is added to `mod`.

    Raises PassError for a polymorphic function, one that takes or returns functions, and for what
    is not supported (see above). What is new has no types yet.
    """
    if func.type_params:
        raise PassError(f"Defunctionalization needs a function without type parameters: {func}")
    for p in func.params:
        if _mentions_function(p.checked_type):
            raise PassError(
                f"Defunctionalization needs a function that takes no functions, but "
                f"%{p.name_hint} is of type {p.checked_type}"
            )
    if func.ret_type is not None and _mentions_function(func.ret_type):
        raise PassError(
            f"Defunctionalization needs a function that returns no functions, found {func.ret_type}"
        )
    program = _Program(mod)
    with rewriting(func):
        made = program.first_order(func, {})
    program.finish()
    return made


@dataclass
class _Encoding:
    """Functions of one type as values of a data type, and the function that calls them."""

    type: FuncType
    header: GlobalTypeVar
    apply: GlobalVar
    clauses: list[Clause] = field(default_factory=list)
    known: dict[str | Expr, Constructor] = field(default_factory=dict)

    def free_name(self, number: int) -> str:
        """The first number from this on that no constructor is called."""
        taken = {c.name_hint for c in self.known.values()}
        return next(str(n) for n in count(number) if str(n) not in taken)

    def definition(self) -> TypeData:
        return TypeData(self.header, [], list(self.known.values()))

    def apply_function(self) -> Function:
        x = Var("x", TypeCall(self.header, []))
        ys = [Var("y", t) for t in self.type.arg_types]
        clauses = [Clause(c.lhs, Call(c.rhs, ys)) for c in self.clauses]
        return Function([x, *ys], Match(x, clauses), self.type.ret_type)


class _Program:
    def __init__(self, mod: IRModule):
        self.mod = mod
        self.constructors = 0
        self.encodings: dict[Type, _Encoding] = {}
        self.originals: dict[Type, FuncType] = {}  # what the values of a data type stand for
        self.copies: dict[tuple[str, Type], GlobalVar] = {}
        self.names: set[str] = set()
        self.todo: list[tuple[GlobalVar, Function]] = []

    def finish(self) -> None:
        """Add the copies, the data types and the functions that apply their values."""
        while self.todo:
            gv, func = self.todo.pop(0)
            params: dict[Expr, Expr] = {p: self._encoded_parameter(p) for p in func.params}
            with rewriting(func, gv.name_hint):
                self._add(gv, self.first_order(func, params), "it takes functions as values")
        for encoding in self.encodings.values():
            self.mod[encoding.header] = encoding.definition()
            self._add(encoding.apply, encoding.apply_function(), "it calls what values stand for")

    def _add(self, gv: GlobalVar, func: Function, reason: str) -> None:
        self.mod[gv] = func
        report_function("add function", reason, gv.name_hint, None, func)

    def first_order(self, func: Function, params: dict[Expr, Expr]) -> Function:
        """`func` with its calls of, and with, functions replaced. `params`: other parameters."""

        def call(pre: Any, post: Any) -> Expr | None:
            if not isinstance(post, Call):
                return None
            if isinstance(post.op, GlobalVar):
                return self._call_of_global(post)
            return self._call_of_value(post) if isinstance(post.op, Var) else None

        rules = [RewriteRule("make first order", "functions are values of a data type now", call)]
        return rewrite(_reduced(func), rules, memo=dict(params))

    def _encoded_parameter(self, param: Var) -> Var:
        ty = param.type_annotation
        if isinstance(ty, FuncType):
            return Var(param.name_hint, TypeCall(self._encoding(ty).header, []))
        if ty is not None and _mentions_function(ty):
            raise PassError(f"functions inside of data are not supported: %{param.name_hint}: {ty}")
        return param

    def _call_of_value(self, call: Call) -> Call:
        original = self.originals.get(call.op.type_annotation)  # type: ignore[attr-defined]
        if original is None:
            raise PassError(
                f"only parameters are supported as variables that are called; %"
                f"{call.op.name_hint} is none"  # type: ignore[attr-defined]
            )
        return Call(self._encoding(original).apply, [call.op, *call.args])

    def _call_of_global(self, call: Call) -> Call | None:
        gv: Any = call.op
        func = self.mod[gv]
        if len(func.type_params) != len(call.type_args):
            raise PassError(
                f"@{gv.name_hint} has {len(func.type_params)} type parameters, its call gives "
                f"{len(call.type_args)}: infer types first (relay.transform.InferType())"
            )
        types: dict[Type, Type] = dict(zip(func.type_params, call.type_args, strict=True))
        signature: Any = func.checked_type
        takes = [replace(t, types) for t in signature.arg_types]
        gives = replace(signature.ret_type, types)
        if any(free_type_vars(t, self.mod) for t in (*takes, gives)):
            raise PassError(f"@{gv.name_hint} is called with types that are not known")
        if _mentions_function(gives):
            raise PassError(f"@{gv.name_hint} returns functions, which is not supported: {gives}")
        if not any(_mentions_function(t) for t in takes):
            return None
        args = [self._encoded(a, t) for a, t in zip(call.args, takes, strict=True)]
        copy = (gv.name_hint, FuncType(takes, gives))
        if copy not in self.copies:
            self.copies[copy] = GlobalVar(self._free_name(gv.name_hint))
            self.todo.append((self.copies[copy], _specialized(func, types)))
        return Call(self.copies[copy], args)

    def _encoded(self, arg: Expr, ty: Type) -> Expr:
        """An argument of type `ty`: a function as a value."""
        if not _mentions_function(ty):
            return arg
        if not isinstance(ty, FuncType):
            raise PassError(f"functions inside of data are not supported, found {ty}")
        if isinstance(arg, Var):
            return arg  # a parameter, of the data type already
        if not isinstance(arg, (GlobalVar, Function)):
            raise PassError(
                f"an argument that is a function must be a variable, a global function or a "
                f"literal, found {arg.in_words()}"
            )
        encoding = self._encoding(ty)
        outside = free_vars(arg)
        key = arg.name_hint if isinstance(arg, GlobalVar) else arg
        if key not in encoding.known:
            fields = [v.type_annotation or v.checked_type for v in outside]
            # As in TVM: global functions are counted from 0, literals from 1.
            name = encoding.free_name(self.constructors + isinstance(arg, Function))
            self.constructors += 1
            constructor = Constructor(name, fields, encoding.header)
            inside = {v: Var(v.name_hint, v.type_annotation) for v in outside}
            pattern = PatternConstructor(constructor, [PatternVar(v) for v in inside.values()])
            encoding.clauses.append(Clause(pattern, substitute(arg, inside)))
            encoding.known[key] = constructor
        return Call(encoding.known[key], outside)

    def _encoding(self, ty: FuncType) -> _Encoding:
        if ty not in self.encodings:
            header = GlobalTypeVar(self._free_name("Defunc"))
            self.encodings[ty] = _Encoding(ty, header, GlobalVar(self._free_name("apply")))
            self.originals[TypeCall(header, [])] = ty
        return self.encodings[ty]

    def _free_name(self, start: str) -> str:
        """`start` and TVM's ending, numbered where that is taken."""
        candidates = (f"{start}FuncType{n or ''}" for n in count())
        types = {t.name_hint for t in self.mod.type_definitions}
        taken = self.names | types
        name = next(n for n in candidates if n not in taken and n not in self.mod)
        self.names.add(name)
        return name


def _mentions_function(ty: Type) -> bool:
    return isinstance(ty, FuncType) or any(map(_mentions_function, parts_of(ty)))


def _reduced(func: Function) -> Function:
    """`func` with literals that are called replaced by their bodies, until there are none."""

    def reduce(pre: Any, post: Any) -> Expr | None:
        if not isinstance(post, Call) or not isinstance(post.op, Function):
            return None
        return applied(post)

    rules = [RewriteRule("reduce", "a literal is called where it stands", reduce)]
    while any(isinstance(n, Call) and isinstance(n.op, Function) for n in post_order(func)):
        func = rewrite(func, rules)
    return func


def _specialized(func: Function, types: dict[Type, Type]) -> Function:
    """A copy of `func` for these `types` in place of its type parameters, nothing typed yet."""

    def copy(pre: Any, post: Any) -> Expr:
        if isinstance(post, Var):
            ty = post.type_annotation
            return Var(post.name_hint, None if ty is None else replace(ty, types), post.span)
        if isinstance(post, Function):
            left = () if pre is func else post.type_params
            result = None if post.ret_type is None else replace(post.ret_type, types)
            return post.replace(ret_type=result, type_params=left)
        if isinstance(post, Call):
            type_args = [replace(t, types) for t in post.type_args]
            return Call(post.op, post.args, post.attrs, type_args, post.span)
        if isinstance(post, (Constant, Constructor, GlobalVar, Op)):
            return post
        return post.with_parts(post.parts())

    return rebuild(func, copy)
