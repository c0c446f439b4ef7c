"""Specializes a module for inputs of known shapes: every function is typed again for the shapes of
its arguments."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.errors import BuildError, TypeInferenceError
from byoc_lab.passes.fold.fold_constant import typed_and_folded
from byoc_lab.relay.analysis.costs import tensor_types
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Op, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order, post_order_new, with_mapped_parts
from byoc_lab.relay.op.tensor.dyn import has_static_form, static_form
from byoc_lab.relay.typing.infer import infer_above, infer_module
from byoc_lab.relay.typing.infer_errors import place
from byoc_lab.run.inline import flattened


def has_unknown_sizes(main: Function) -> bool:
    """Whether a parameter of a typed function has a size that only its input determines."""
    return bool(_unknown(main))


def _unknown(main: Function) -> list[str]:
    """The parameters of a typed function with an unknown dimension, with their types."""
    return [
        f"{p.name_hint} ({p.checked_type})"
        for p in main.params
        if any(isinstance(n, Unknown) for ty in tensor_types(p.checked_type) for n in ty.shape)
    ]


def shaped(mod: IRModule, types: Sequence[Type]) -> IRModule:
    """A typed module in which the parameters of @main have `types`, and all other types follow from
    them.

    Shapes that the module computes from shapes become constants. Raises BuildError for a recursive
    function, because shapes may differ from call to call. Raises TypeInferenceError if a function
    does not accept the shapes: both branches of an `if` must have types, unless the shapes
    determine its condition.
    """
    flat = flattened(mod["main"], mod, keep=lambda function: "Compiler" in function.attrs)
    if flat.functions:
        calls = (n for n in post_order(flat.main) if isinstance(n, Call))
        where = next((place(call) for call in calls if call.op in flat.functions), "")
        raise BuildError(
            f"{where}a function calls itself, and sizes of inputs are unknown: "
            f"{', '.join(_unknown(mod['main']))}. Give them by the importer's shape=, by --shape "
            f"on the command line, or in the types of @main's parameters"
        )
    shaper = _Shaper(mod)
    main = shaper.function(flat.main, types)
    return infer_module(IRModule({"main": main, **shaper.regions}))


def _branch_error(choice: If, name: str, error: TypeInferenceError) -> TypeInferenceError:
    """The error for a branch that does not accept its shapes, if the condition is known at run time
    only."""
    names = ", ".join(f"%{v.name_hint}" for v in free_vars(choice.cond)) or "constants"
    made = TypeInferenceError(
        f"{place(choice)}the {name} branch of an if cannot have the shapes of these inputs: "
        f"{error}. A build needs both branches; if the condition, which depends on {names}, is "
        f"always {str(name == 'false').lower()}, give it when importing (freeze=, or --freeze on "
        f"the command line); `evaluate` runs only the branch that is taken",
        error.node,
        error.facts,
    )
    made.__cause__ = error
    return made


def _taken(node: Expr, memo: Mapping[Expr, Expr]) -> Expr | None:
    """The branch that an `if` takes, if the shapes determine its condition; else None."""
    condition = memo.get(node.cond) if isinstance(node, If) else None
    if not isinstance(node, If) or not isinstance(condition, Constant):
        return None
    return node.true_branch if condition.numpy() else node.false_branch


def _first_error(
    node: Expr, failed: Mapping[Expr, TypeInferenceError]
) -> TypeInferenceError | None:
    """The error of the first operand that has one; the error names the branch if the operand is a
    branch."""
    if isinstance(node, If) and node.cond not in failed:
        for name, branch in (("true", node.true_branch), ("false", node.false_branch)):
            if branch in failed:
                return _branch_error(node, name, failed[branch])
    return next((failed[part] for part in node.parts() if part in failed), None)


class _Shaper:
    """Types functions by the types of their arguments.

    regions: the external functions found so far, by name.
    """

    def __init__(self, mod: IRModule):
        self.mod = mod
        self.regions: dict[str, Function] = {}

    def function(self, function: Function, types: Sequence[Type]) -> Function:
        names = [p.name_hint for p in function.params]
        params = [Var(name, ty) for name, ty in zip(names, types, strict=True)]
        memo: dict[Expr, Expr] = dict(zip(function.params, map(infer_above, params), strict=True))
        failed: dict[Expr, TypeInferenceError] = {}
        done: ChainMap[Expr, Any] = ChainMap(memo, failed)
        for node in post_order_new(function.body, done, lambda n: not isinstance(n, Function)):
            if node in done:
                continue
            taken = _taken(node, memo)
            error = failed.get(taken) if taken is not None else _first_error(node, failed)
            if error is not None:
                failed[node] = error
                continue
            try:
                memo[node] = self._shaped(node, memo) if taken is None else memo[taken]
            except TypeInferenceError as found:
                failed[node] = found
        if function.body in failed:
            raise failed[function.body]
        params = [p for p in map(memo.get, function.params) if isinstance(p, Var)]
        made = infer_above(Function(params, memo[function.body], None, (), function.attrs))
        assert isinstance(made, Function)
        return made

    def _shaped(self, node: Expr, memo: Mapping[Expr, Expr]) -> Expr:
        if isinstance(node, (Op, GlobalVar, Function)):
            return node
        if isinstance(node, Call) and isinstance(node.op, (GlobalVar, Function)):
            return self._call(node, node.op, [memo[a] for a in node.args])
        made = with_mapped_parts(node, memo)
        if has_static_form(made):
            made = static_form(made) or made
        return typed_and_folded(made)

    def _call(self, call: Call, op: GlobalVar | Function, args: list[Expr]) -> Expr:
        types = [a.checked_type for a in args]
        if isinstance(op, Function):
            return infer_above(Call(self.function(op, types), args, span=call.span))
        name = op.name_hint
        if name not in self.regions:
            self.regions[name] = self.function(self.mod[op], types)
        region = self.regions[name]
        if [p.checked_type for p in region.params] != types:
            raise BuildError(
                f"@{name} is called with tensors of different shapes: define a separate function "
                "for each call"
            )
        made: Expr = Call(op, args, span=call.span).with_type(region.body.checked_type)
        return made
