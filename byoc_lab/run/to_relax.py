"""From Relay to Relax: the part of a module that TVM compiles.

Each operator is translated by its definition (`OpDef.relax`); an external function becomes a call
of the code that its back end made, `call_dps_packed(symbol, inputs)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.relax_types import in_dtype_of
from byoc_lab.run.deep import register_deeper
from byoc_lab.run.empty import value_without_data
from byoc_lab.run.symbols import checked_symbol, shown
from byoc_lab.run.tvm_runtime import COMPILING, import_tvm, tensor_type, tuple_type

ENTRY = "main"
SYMBOL = "global_symbol"
BRANCH = "branch_{}"  # name of the function of a branch of an `if`, by its number
# The form in which TVM's messages show an operator; it is replaced by the operator's name.
RELAX_OPERATOR = re.compile(r'ir\.Op\(.*?name="([\w.]+)".*?support_level=\d+\)', re.S)
GROWS = (
    ". byoc_lab.run.evaluate runs it with NumPy; an importer unrolls a loop if the number of its "
    "iterations and its condition are constants (freeze=)"
)
DEPTH = "depth"  # key of the call depth among the values of a function


def to_relax(
    main: Function, functions: Mapping[GlobalVar, Function] | None = None, built: bool = False
) -> Any:
    """A Relax module whose function "main" computes what `main` does, parameters in order.

    `main` is typed and flat (see `inline.flattened`): the functions that it still calls are
    external ones, and the recursive `functions`. built: the module is only compiled, not
    partitioned, so operators may get the translation with the smallest rounding error instead of
    the one that pattern tables match. Raises BuildError that names an operator without translation.
    """
    with COMPILING:
        return _module(main, functions or {}, built)


def _module(main: Function, functions: Mapping[GlobalVar, Function], built: bool) -> Any:
    tvm = import_tvm()
    builder = tvm.relax.BlockBuilder()
    translator = _Translator(tvm, builder, built)
    for gv, function in functions.items():
        translator.declare(gv, function)
    made = {gv: translator.recursive(gv, function) for gv, function in functions.items()}
    translator.function(ENTRY, main.params, main.body)
    module = builder.get()
    for gv, body in made.items():
        module.update_func(translator.declared[gv], module[body].with_attr(SYMBOL, gv.name_hint))
        del module[body]
    return module


def relax_type(ty: Type | None, what: str, advice: str = "") -> Any:
    """Relax's form of a Relay type of known shape. Raises BuildError for any other."""
    if isinstance(ty, TensorType) and ty.is_static:
        return tensor_type(ty.concrete_shape, ty.dtype)
    if isinstance(ty, TupleType):
        return tuple_type([relax_type(f, what, advice) for f in ty.fields])
    raise BuildError(
        f"{what} must be a tensor of known shape or a tuple of such tensors, found {ty}{advice}"
    )


def parameter_name(number: int, name: str) -> str:
    """The name in Relax of a parameter of Relay: unique, and in ASCII."""
    return f"p{number}_{name.encode('unicode_escape').decode('ascii')}"


def relay_name(parameter: str) -> str:
    """The name in Relay of a parameter that `parameter_name` named. Raises BuildError."""
    found = re.fullmatch(r"p[0-9]+_([ -~]*)", parameter)
    try:
        if found:
            return found[1].encode("ascii").decode("unicode_escape")
    except UnicodeDecodeError:
        pass
    raise BuildError(
        f"@main has a parameter {shown(parameter)}: expected p<number>_<name>, as byoc_lab.build "
        f"names them"
    )


class _Translator:
    def __init__(self, tvm: Any, builder: Any, built: bool):
        self.tvm, self.built = tvm, built
        self.relax = tvm.relax
        self.builder = builder
        self.branch_count = 0
        self.branches_of: dict[If, list[tuple[Any, list[Var]]]] = {}
        self.declared: dict[GlobalVar, Any] = {}
        self.known: dict[Expr, Any] = {}  # values of calls that no input can change

    def declare(self, gv: GlobalVar, function: Function) -> None:
        """Make a recursive function known, so that its own body can call it."""
        params = list(self._params(function.params, deep=True).values())
        result = relax_type(
            function.body.checked_type, "the result of a function that calls itself", GROWS
        )
        # Without this attribute, the builder would merge functions with equal parameters and
        # attributes.
        empty = self.relax.Function.create_empty(params, result).with_attr(SYMBOL, gv.name_hint)
        self.declared[gv] = self.builder.add_func(empty, gv.name_hint)

    def recursive(self, gv: GlobalVar, function: Function) -> Any:
        """Add the body of a declared function as a new function; returns its global variable."""
        if any(isinstance(n, Call) and n.op is gv for n in _evaluated(function.body)):
            raise BuildError(f"a function calls itself for all inputs: {function}")
        return self.function(f"{gv.name_hint}_body", function.params, function.body, deep=True)

    def _params(self, params: Sequence[Var], deep: bool) -> dict[Any, Any]:
        made: dict[Any, Any] = {DEPTH: self.relax.Var(DEPTH, tensor_type((), "int64"))}
        made = made if deep else {}
        for n, p in enumerate(params):
            which = ", which a recursive function changes," if deep else ""
            what = f"{_place(p) if deep else ''}%{p.name_hint}{which}"
            ty = relax_type(p.checked_type, what, GROWS if deep else "")
            made[p] = self.relax.Var(parameter_name(n, p.name_hint), ty)
        return made

    def function(self, name: str, params: Sequence[Var], body: Expr, deep: bool = False) -> Any:
        """Add a Relax function; returns its global variable.

        deep: whether it is part of a recursion, so that its first parameter is the call depth.
        """
        self._add_branches(body, deep)  # the builder cannot begin a function inside another one
        return self._flat_function(name, params, body, deep)

    def _add_branches(self, body: Expr, deep: bool) -> None:
        """Make a function of each branch of every `if` in a body, inner branches first."""
        todo = [(node, False) for node in _ifs(body)]
        while todo:
            node, ready = todo.pop()
            if node in self.branches_of:
                continue
            if ready:
                self.branches_of[node] = self._branches(node, deep)
                continue
            todo.append((node, True))
            inner = (*_ifs(node.true_branch), *_ifs(node.false_branch))
            todo += [(n, False) for n in inner if n not in self.branches_of]

    def _flat_function(self, name: str, params: Sequence[Var], body: Expr, deep: bool) -> Any:
        """Add a Relax function of a body whose branches have been added."""
        made, nodes = self._params(params, deep), _evaluated(body)
        with self.builder.function(name, list(made.values())):
            # TVM fuses only inside dataflow blocks, which cannot contain branches.
            if any(isinstance(node, If) for node in nodes):
                result = self._emit_all(nodes, made, self.builder.emit)
            else:
                with self.builder.dataflow():
                    value = self._emit_all(nodes, made, self.builder.emit)
                    result = self.builder.emit_output(value)
            return self.builder.emit_func_output(result)

    def _emit_all(self, nodes: list[Expr], made: dict[Any, Any], emit: Callable[..., Any]) -> Any:
        values: dict[Any, Any] = dict(made)
        if DEPTH in values and any(isinstance(n, (If, GlobalVar)) for n in nodes):
            values[DEPTH] = emit(self._deeper(values[DEPTH]))
        for node in nodes:
            if node in values or isinstance(node, (Op, GlobalVar)):
                continue
            values[node] = self._translate(node, values, emit)
        last = values[nodes[-1]]
        return emit(last) if isinstance(nodes[-1], (Var, Constant, Tuple)) else last

    def _translate(self, node: Expr, values: dict[Any, Any], emit: Callable[..., Any]) -> Any:
        if isinstance(node, Constant):
            return self._literal(node.numpy())
        if isinstance(node, Tuple):
            return self.relax.Tuple([values[f] for f in node.fields])
        if isinstance(node, TupleGetItem):
            return emit(self.relax.TupleGetItem(values[node.tuple_value], node.index))
        if isinstance(node, Call) and isinstance(node.op, Op):
            return emit(self._operator(node, node.op, values))
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            if node.op in self.declared:
                return emit(self._recursion(node, self.declared[node.op], values))
            return emit(self._external(node, node.op, values))
        if isinstance(node, If):
            return emit(self._if(node, values))
        if isinstance(node, Var):
            raise BuildError(f"%{node.name_hint} has no value: it is not a parameter of @main")
        raise BuildError(
            f"{_place(node)}{describe(node)} has no translation to Relax. byoc_lab.run.evaluate "
            f"runs it with NumPy"
        )

    def _literal(self, value: Any) -> Any:
        """An array, or a tuple of arrays, as a constant."""
        if isinstance(value, tuple):
            return self.relax.Tuple(list(map(self._literal, value)))
        return self.relax.const(value, value.dtype.name)

    def _operator(self, node: Call, op: Op, values: dict[Any, Any]) -> Any:
        value = value_without_data(node, op, self.known)
        if value is not None:
            self.known[node] = value
            return self._literal(value)
        definition = op.definition
        place = _place(node)
        translate = (self.built and definition.built_relax) or definition.relax
        if translate is None:
            reason = definition.why_no("relax")
            raise BuildError(f"{place}{op.name} has no translation to Relax: {reason}")
        attrs = definition.attributes(node.attrs)
        try:
            args = [values[a] for a in node.args]
            result = self.builder.normalize(translate(self.relax.op, attrs, *args))
            return in_dtype_of(self.relax.op, result, node.checked_type)
        except BuildError as error:
            raise BuildError(f"{place}{error}") from error
        except (RuntimeError, ValueError, TypeError) as error:
            said = RELAX_OPERATOR.sub(r"\1", str(error))
            raise BuildError(f"{place}Relax refuses {op.name}: {said}") from error

    def _external(self, node: Call, callee: GlobalVar, values: dict[Any, Any]) -> Any:
        ty = node.checked_type
        symbol = checked_symbol(callee.name_hint)
        what = f"the result of @{symbol}"
        fields = list(ty.fields) if isinstance(ty, TupleType) else [ty]
        if any(isinstance(f, TupleType) for f in fields):
            raise BuildError(f"{what} must be a tensor or a tuple of tensors, found {ty}")
        types = [relax_type(f, what) for f in fields]
        args = self.relax.Tuple([values[a] for a in node.args])
        call = self.relax.op.call_dps_packed(symbol, args, types)
        if isinstance(ty, TupleType) and len(fields) == 1:
            # With one output, call_dps_packed returns a tensor; Relay's type is a tuple of one.
            return self.relax.Tuple([self.builder.emit(call)])
        return call

    def _deeper(self, depth: Any) -> Any:
        """The depth plus one, from the function that checks the limit. Its result is used, so that
        passes do not remove the call."""
        return self.relax.op.call_pure_packed(
            register_deeper(), depth, ty_args=tensor_type((), "int64")
        )

    def _recursion(self, node: Call, callee: Any, values: dict[Any, Any]) -> Any:
        depth = values.get(DEPTH, self.relax.const(0, "int64"))
        return self.relax.Call(callee, [depth, *(values[a] for a in node.args)])

    def _branches(self, node: If, deep: bool) -> list[tuple[Any, list[Var]]]:
        """A function for each branch. Its parameters are the free variables of the branch; other
        operands are computed inside."""
        made = []
        for branch in (node.true_branch, node.false_branch):
            self.branch_count += 1
            params = free_vars(branch)
            name = BRANCH.format(self.branch_count)
            made.append((self._flat_function(name, params, branch, deep), params))
        return made

    def _if(self, node: If, values: dict[Any, Any]) -> Any:
        depth = [values[DEPTH]] if DEPTH in values else []
        calls = [
            self.relax.Call(callee, [*depth, *(values[p] for p in params)])
            for callee, params in self.branches_of[node]
        ]
        return self.relax.If(values[node.cond], *calls)


def _place(node: Expr) -> str:
    """The source location of a node, as the prefix of a message."""
    return f"{node.span}: " if node.span else ""


def _ifs(body: Expr) -> list[If]:
    return [node for node in _evaluated(body) if isinstance(node, If)]


def _evaluated(root: Expr) -> list[Expr]:
    """The nodes that are always computed with `root` (not nodes inside branches), operands
    first."""
    order: dict[Expr, None] = {}
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order[node] = None
        elif node not in order:
            stack.append((node, True))
            parts = () if isinstance(node, Function) else node.parts()
            needed = (node.cond,) if isinstance(node, If) else parts
            stack += [(p, False) for p in reversed(needed) if p not in order]
    return list(order)
