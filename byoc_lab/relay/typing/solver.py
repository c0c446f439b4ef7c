"""One inference of types: `Solver` walks functions, and fills in what it finds.

It derives the types in three steps (`infer.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import TypeInferenceError, UnknownNameError
from byoc_lab.relay.ir.adt import Constructor, Match
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
    Span,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.types import FuncType, IncompleteType, RefType, TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.typing.infer_adt import DataTypeRules, is_of_anything
from byoc_lab.relay.typing.infer_calls import CallRules
from byoc_lab.relay.typing.infer_errors import fail as _fail
from byoc_lab.relay.typing.infer_errors import place as _place
from byoc_lab.relay.typing.unify import Conflict, Unifier

BOOL = TensorType((), "bool")
UNTYPED = (Op, GlobalVar, Constructor)  # a global's type belongs to the module


class _Types(dict[Expr, Type]):
    """Types by node; an operator has no type except as the callee of a call."""

    def __missing__(self, node: Expr) -> Type:
        if isinstance(node, Op):
            _fail(node, f"operator {node.name} is used as a value; only a call of it has a type")
        raise KeyError(node)


@dataclass(frozen=True, slots=True)
class _Midway:
    """A mark on the stack of a walk: the first parts of `node` are typed, the other parts are not
    yet."""

    node: Let | Match | Call


class Solver(CallRules, DataTypeRules):
    """One inference: the types found so far, and the attempts that wait for more types."""

    def __init__(self, mod: IRModule, declare_globals: bool):
        self.mod = mod
        self.unifier = Unifier()
        self.types = _Types()
        # Nodes whose inferred type may differ from their checked_type.
        self.fresh: set[Expr] = set()
        self.attempts: list[tuple[Sequence[Type], Callable[[], bool]]] = []
        self.waiting: dict[Type, set[int]] = {}  # hole -> positions in `attempts`
        self.open_calls = []
        self.declare_globals = declare_globals
        self.undeclared: list[GlobalVar] = []
        self.declared = mod.declared
        self.memo: dict[Expr, Expr] = {}
        # Call of a generic function -> its type arguments.
        self.instances: dict[Expr, list[Type]] = {}
        self.equal_types: dict[Type, Type] = {}
        self.type_args: dict[tuple[Type, ...], tuple[Type, ...]] = {}  # equal types are one object
        self.globals: dict[str, Type] = {}
        for gv, func in mod.functions.items():
            self.globals[gv.name_hint] = self._signature(func)

    def _signature(self, func: Function) -> Type:
        if func._checked_type is not None:
            return func._checked_type
        params = [self.of_variable(p) for p in func.params]
        return FuncType(params, func.ret_type or IncompleteType(), func.type_params)

    def of_variable(self, v: Var) -> Type:
        if v not in self.types:
            self.types[v] = v.type_annotation or IncompleteType()
            self.check_stated(v, v.type_annotation)
            if v._checked_type is None or v._checked_type != v.type_annotation:
                self.fresh.add(v)
        return self.types[v]

    # 1. Walk -------------------------------------------------------------------------------------

    def walk(self, root: Expr) -> None:
        # As in `post_order`: a node is pushed again, with None on top of it, to be typed after its
        # parts.
        types = self.types
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if node is None:
                node = stack.pop()
                if node not in types:
                    types[node] = self._visit(node)
            elif isinstance(node, _Midway):
                self._midway(node.node)
            elif node not in types and not isinstance(node, Op):
                stack += (node, None)
                stack += reversed(self._below(node))

    def _below(self, node: Expr) -> Sequence[Any]:
        """The nodes to visit before `node`, with marks for the steps between them."""
        if isinstance(node, Let):
            self.of_variable(node.var)  # its type must be known before the body is visited
            return node.value, _Midway(node), node.body
        if isinstance(node, Match):
            return node.data, _Midway(node), *(c.rhs for c in node.clauses)
        if isinstance(node, Call) and isinstance(node.op, Function):
            # Arguments first: they determine the parameter types of a function literal before its
            # body is visited.
            return *node.args, _Midway(node), node.op
        return node.parts()

    def _midway(self, node: Let | Match | Call) -> None:
        """Derive the types of a node's other parts from its first parts."""
        if isinstance(node, Call):
            self._type_parameters(node)
        elif isinstance(node, Let):
            self.unify(node, self.types[node.value], self.of_variable(node.var), "its value")
        else:
            for clause in node.clauses:
                self.type_pattern(node, clause.lhs, self.types[node.data])

    def _type_parameters(self, call: Call) -> None:
        assert isinstance(call.op, Function)
        # `_apply` counts the arguments.
        for param, arg in zip(call.op.params, call.args, strict=False):
            known = self.types[arg]
            if _is_open(param.type_annotation) and not known.has_holes:
                self.types.setdefault(param, known)
                self.fresh.add(param)

    def _visit(self, node: Expr) -> Type:
        present = node._checked_type
        if isinstance(node, Var):
            return self.of_variable(node)
        if isinstance(node, GlobalVar):
            return self._of_global(node)
        if isinstance(node, Constructor):
            return self.constructor_type(node)
        if isinstance(node, Constant):
            if present is not None:
                return present
            self.fresh.add(node)
            return self.shared(TensorType(node.data.shape, node.data.dtype))
        if present is not None and not any(p in self.fresh for p in node.parts()):
            return present
        self.fresh.add(node)
        return _VISIT[type(node)](self, node)

    def _of_global(self, gv: GlobalVar) -> Type:
        ty = self.globals.get(gv.name_hint) or self.declared.get(gv)
        if ty is None:
            if not self.declare_globals:
                have = ", ".join(f"@{n}" for n in self.globals) or "none"
                raise UnknownNameError(
                    f"{_place(gv)}the module has no function @{gv.name_hint}; it has {have}"
                )
            ty = IncompleteType()
            self.undeclared.append(gv)
        self.fresh.add(gv)  # its users are typed again, because the function may have changed
        return ty

    def _function(self, func: Function) -> Type:
        params = [self.of_variable(p) for p in func.params]
        body = self.types[func.body]
        if func.ret_type is not None:
            self.check_stated(func, func.ret_type)
            self.unify(func, body, func.ret_type, "the function's result")
            body = func.ret_type
        return FuncType(params, body, func.type_params)

    def _let(self, node: Let) -> Type:
        return self.types[node.body]

    def _if(self, node: If) -> Type:
        what, at = "the condition of if", node.cond.span
        self.unify(node, self.types[node.cond], BOOL, what, at, found_first=True)
        true, false = self.types[node.true_branch], self.types[node.false_branch]
        return self.unify(node, false, true, "the else branch of if")

    def _tuple(self, node: Tuple) -> Type:
        return self.shared(TupleType([self.types[f] for f in node.fields]))

    def shared(self, ty: Type) -> Type:
        """The shared object for equal types."""
        return self.equal_types.setdefault(ty, ty)

    def _projection(self, node: TupleGetItem) -> Type:
        result = IncompleteType()

        def project() -> bool:
            whole = self.unifier.head(self.types[node.tuple_value])
            if isinstance(whole, IncompleteType):
                return False
            if not isinstance(whole, TupleType):
                _fail(node, f".{node.index} needs a tuple, found {self.unifier.resolve(whole)}")
            if not 0 <= node.index < len(whole.fields):
                _fail(node, f".{node.index} is outside a tuple of {len(whole.fields)} fields")
            self.unify(node, result, whole.fields[node.index], "the projection")
            return True

        self.now_or_later([self.types[node.tuple_value]], project)
        return self.unifier.resolve(result)

    def _ref_create(self, node: RefCreate) -> Type:
        return RefType(self.types[node.value])

    def _ref_read(self, node: RefRead) -> Type:
        inner = IncompleteType()
        self.unify(node, self.types[node.ref], RefType(inner), "ref_read")
        return self.unifier.resolve(inner)

    def _ref_write(self, node: RefWrite) -> Type:
        wanted = RefType(self.types[node.value])
        self.unify(node, self.types[node.ref], wanted, "ref_write")
        return TupleType(())

    # 2. Solve ------------------------------------------------------------------------------------

    def now_or_later(self, types: Sequence[Type], attempt: Callable[[], bool]) -> None:
        """Call `attempt` now, and if it fails, again whenever a hole in `types` is resolved, until
        it succeeds."""
        if not attempt():
            self.attempts.append((types, attempt))
            self._wait(len(self.attempts) - 1)

    def _wait(self, number: int) -> None:
        for ty in self.attempts[number][0]:
            for hole in self.unifier.holes(ty):
                self.waiting.setdefault(hole, set()).add(number)

    def finish(self) -> None:
        """Retry the attempts that wait for resolved holes, until nothing changes."""
        filled = self.unifier.filled
        while filled or self.guess():
            ready = set().union(*(self.waiting.pop(hole, ()) for hole in filled))
            filled.clear()
            for number in sorted(ready):
                if not self.attempts[number][1]():
                    self._wait(number)
        # The attempts refer to the solver: the reference cycle would keep the whole inference in
        # memory.
        self.attempts.clear()
        self.waiting.clear()

    def unify(
        self,
        node: Expr,
        found: Type,
        wanted: Type,
        what: str,
        at: Span | None = None,
        found_first: bool = False,
    ) -> Type:
        """Unify two types. `found_first`: whether TVM's error names the found type before the
        expected type."""
        try:
            return self.unifier.unify(found, wanted)
        except Conflict as error:
            types = (error.expected, error.found)
            types = types[::-1] if found_first else types
            _fail(node, f"{what}: {error}", error, at, {"kind": "mismatch", "types": types})
        except TypeInferenceError as error:
            _fail(node, f"{what}: {error}", error, at)

    # 3. Rebuild ----------------------------------------------------------------------------------

    def type_of(self, node: Expr) -> Type:
        ty = self.unifier.resolve(self.types[node])
        if ty.has_holes and not is_of_anything(ty):
            _fail(
                node,
                f"the type of {describe(node)} cannot be inferred (only {ty} is known); "
                f"annotate it, or a variable that it uses",
                facts={"kind": "underconstrained"},
            )
        return ty

    def rebuilt(self, root: Expr) -> Any:
        if root not in self.fresh and not self.unifier.found_lengths:
            return root  # users of a new node are new, too
        return rebuild(root, self._attach, memo=self.memo)

    def type_in_place(self, nodes: Iterable[Expr]) -> None:
        for node in nodes:
            if not isinstance(node, UNTYPED):
                for name, value in self._found(node).items():
                    set_field(node, name, value)

    def _attach(self, node: Any, post: Expr) -> Expr:
        if isinstance(node, UNTYPED):
            return post
        if post is node and node not in self.fresh and not self.unifier.found_lengths:
            return node
        found = self._found(node)
        return post.with_type(found.pop("_checked_type"), **found)

    def _found(self, node: Any) -> dict[str, Any]:
        """The fields of a node that inference completes, beginning with its type."""
        ty = self.type_of(node)
        found: dict[str, Any] = {"_checked_type": ty}
        if isinstance(node, Var) and (_is_open(node.type_annotation) or ty != self.types[node]):
            found["type_annotation"] = ty
        elif isinstance(node, Call) and isinstance(node.op, Op):
            types = tuple([self.unifier.resolve(self.types[a]) for a in node.args])
            found["type_args"] = self.type_args.setdefault(types, types)
        elif node in self.instances:
            found["type_args"] = tuple(self.unifier.resolve(t) for t in self.instances[node])
        elif isinstance(node, Function) and (node.ret_type is None or node.ret_type.has_symbols):
            assert isinstance(ty, FuncType)
            found["ret_type"] = ty.ret_type
        return found


def _is_open(annotation: Type | None) -> bool:
    """Whether a variable's annotation is missing or incomplete."""
    return annotation is None or annotation.has_holes


_VISIT: dict[type, Callable[..., Type]] = {
    Call: Solver.call_type,
    Function: Solver._function,
    Let: Solver._let,
    If: Solver._if,
    Tuple: Solver._tuple,
    TupleGetItem: Solver._projection,
    RefCreate: Solver._ref_create,
    RefRead: Solver._ref_read,
    RefWrite: Solver._ref_write,
    Match: Solver.match_type,
}
