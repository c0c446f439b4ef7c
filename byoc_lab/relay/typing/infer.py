"""Type inference: every node gets its `checked_type`.

1. Walk each function, operands first. A node whose operands have types is typed immediately; a
missing type is represented by a hole, and the node waits in a queue.
2. Whenever a hole is resolved, retry the nodes that wait for it: relations also work backwards, so
   that `nn.conv2d` determines the type of an untyped weight.
3. Rebuild the nodes with their types, completing missing annotations.

A typed node stays the same object if nothing below it is new, so inference after a small change
costs one walk, not a full inference.

Source: src/relay/transforms/type_infer.cc of TVM 0.16.
"""

from __future__ import annotations

from weakref import WeakSet

from byoc_lab.relay.ir.diagnosis import diagnosed
from byoc_lab.relay.ir.expr import Expr, Function, GlobalVar, Op
from byoc_lab.relay.ir.foreign import refuse_foreign
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.variables import walk_scopes
from byoc_lab.relay.ir.visit import post_order_new
from byoc_lab.relay.typing.adt_kinds import check_kind
from byoc_lab.relay.typing.infer_errors import check_scopes
from byoc_lab.relay.typing.solver import UNTYPED, Solver


def infer_module(
    mod: IRModule, *, declare_globals: bool = False, in_place: bool = False
) -> IRModule:
    """`mod` with every node typed: a copy, or `mod` itself when it is typed already.

    With `in_place`, types are stored in the nodes of `mod`, which takes half the memory: only for
    modules that were just created and that nothing else refers to.

    Raises TypeInferenceError naming the expression, what was found and what was expected, and
    FreeVariableError for a function that has free variables,
    UnknownNameError for a global that the module does not have; with `declare_globals` such a
    global gets the type that its uses imply, which is kept in `declared`.
    """
    refuse_foreign(mod, "type inference")
    with diagnosed(mod):
        return _infer_module(mod, declare_globals, in_place)


# Typed functions that do not refer to their module need no second inference.
_SETTLED: WeakSet[Function] = WeakSet()


def _infer_module(mod: IRModule, declare_globals: bool, in_place: bool) -> IRModule:
    solver = Solver(mod, declare_globals)
    for data in mod.type_definitions.values():
        check_kind(data, mod)
    todo = {gv: func for gv, func in mod.functions.items() if func not in _SETTLED}
    alone = []
    for gv, func in todo.items():
        scopes = walk_scopes(func)
        check_scopes(func, gv.name_hint, scopes)
        if GlobalVar not in map(type, scopes.nodes):
            alone.append(gv)
        del scopes
        solver.walk(func)
        solver.unify(func, solver.types[func], solver.globals[gv.name_hint], f"@{gv.name_hint}")
    solver.finish()
    typed = mod.copy()
    if in_place:
        solver.type_in_place(solver.types)
    else:
        for gv, func in todo.items():
            typed.functions[gv] = solver.rebuilt(func)
    # Another function may determine a dimension; a data type belongs to the module.
    if not mod.type_definitions and not any(ty.has_symbols for ty in solver.types.values()):
        _SETTLED.update(typed.functions[gv] for gv in alone)
    for gv in solver.undeclared:
        typed.declared[gv] = solver.type_of(gv)
    same = all(typed.functions[gv] is func for gv, func in todo.items())
    return mod if same and typed.declared == mod.declared else typed


def infer_expr(expr: Expr, mod: IRModule | None = None) -> Expr:
    """`expr`, which may have free variables, with every node typed."""
    with diagnosed(mod):
        solver = Solver(mod or IRModule(), False)
        solver.walk(expr)
        solver.finish()
        return solver.rebuilt(expr)


def infer_above(expr: Expr) -> Expr:
    """`expr` with its type, if all of its parts are typed; nothing below it is visited."""
    solver = Solver(IRModule(), False)
    for part in expr.parts():
        if not isinstance(part, Op):
            solver.types[part] = part.checked_type
            solver.memo[part] = part
    solver.walk(expr)
    solver.finish()
    return solver.rebuilt(expr)


def infer_in_place(root: Expr, mod: IRModule) -> None:
    """Store types in `root` and the untyped nodes below it; nothing below a typed node is visited.
    Only for nodes that were just created and that nothing else refers to."""
    with diagnosed(mod):
        solver = Solver(mod, False)
        for node in post_order_new(root, {}, lambda node: not node.is_typed):
            if node.is_typed and not isinstance(node, UNTYPED):
                solver.types[node] = node.checked_type
        solver.walk(root)
        solver.finish()
        solver.type_in_place(solver.fresh)
