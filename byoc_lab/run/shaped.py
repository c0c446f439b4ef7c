"""A module for inputs of known shapes: every function in it typed anew for the shapes it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byoc_lab.errors import BuildError, TypeInferenceError
from byoc_lab.passes.fold.fold_constant import typed_and_folded
from byoc_lab.relay.analysis.costs import tensor_types
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, If, Op, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import contains, post_order, post_order_new, with_mapped_parts
from byoc_lab.relay.op.tensor.dyn import has_static_form, static_form
from byoc_lab.relay.typing.infer import infer_above, infer_module
from byoc_lab.relay.typing.infer_errors import place
from byoc_lab.run.inline import flattened


def unknown_lengths(main: Function) -> bool:
    """Whether a parameter of a typed function has a size that only its input determines."""
    return bool(_unknown(main))


def _unknown(main: Function) -> list[str]:
    """The parameters of a typed function that have such a length, with their types."""
    return [
        f"{p.name_hint} ({p.checked_type})"
        for p in main.params
        if any(isinstance(n, Unknown) for ty in tensor_types(p.checked_type) for n in ty.shape)
    ]


def shaped(mod: IRModule, types: Sequence[Type]) -> IRModule:
    """A typed module whose parameters of @main have `types`, and all that follows from them.

    Shapes that the module computes of shapes are constants in the result. Raises BuildError for a
    recursive function, whose shapes may differ from call to call, TypeInferenceError where a
    function cannot have the shapes: both branches of an `if` must have types, whichever is taken.
    """
    flat = flattened(mod["main"], mod, keep=lambda function: "Compiler" in function.attrs)
    if flat.functions:
        calls = (n for n in post_order(flat.main) if isinstance(n, Call))
        where = next((place(call) for call in calls if call.op in flat.functions), "")
        raise BuildError(
            f"{where}a function calls itself, and lengths of inputs are unknown: "
            f"{', '.join(_unknown(mod['main']))}. Give them by the importer's shape=, by --shape "
            f"on the command line, or in the types of @main's parameters"
        )
    shaper = _Shaper(mod)
    main = shaper.function(flat.main, types)
    return infer_module(IRModule({"main": main, **shaper.regions}))


def _name_branch(error: TypeInferenceError, body: Expr, node: Expr) -> None:
    """Raise an error that names the branch of the innermost `if` with `node`, if there is one."""
    for choice in post_order(body):
        if not isinstance(choice, If):
            continue
        for name, branch in (("true", choice.true_branch), ("false", choice.false_branch)):
            if contains(branch, [node]) and not contains(choice.cond, [node]):
                names = ", ".join(f"%{v.name_hint}" for v in free_vars(choice.cond)) or "constants"
                raise TypeInferenceError(
                    f"{place(choice)}the {name} branch of an if cannot have the shapes of these "
                    f"inputs: {error}. A build needs both branches; if the condition, which "
                    f"depends on {names}, is always {str(name == 'false').lower()}, give it when "
                    f"importing (freeze=, or --freeze on the command line); `evaluate` runs only "
                    f"the branch that is taken",
                    node,
                    error.facts,
                ) from error


class _Shaper:
    """Types functions by the types of their arguments.

    regions: the external functions that were met, by name.
    """

    def __init__(self, mod: IRModule):
        self.mod = mod
        self.regions: dict[str, Function] = {}

    def function(self, function: Function, types: Sequence[Type]) -> Function:
        names = [p.name_hint for p in function.params]
        params = [Var(name, ty) for name, ty in zip(names, types, strict=True)]
        memo: dict[Expr, Expr] = dict(zip(function.params, map(infer_above, params), strict=True))
        for node in post_order_new(function.body, memo, lambda n: not isinstance(n, Function)):
            if node in memo:
                continue
            try:
                memo[node] = self._shaped(node, memo)
            except TypeInferenceError as error:
                _name_branch(error, function.body, node)
                raise
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
                f"@{name} is called with tensors of different shapes: give each call a function of "
                "its own"
            )
        made: Expr = Call(op, args, span=call.span).with_type(region.body.checked_type)
        return made
