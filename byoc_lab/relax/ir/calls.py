"""The operator calls of a Relax module, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.relax.ir.variables import check_variables
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

CODEGEN = "Codegen"  # attribute of a function that a back end compiles
COMPILED = "external_mods"  # the module attribute with the modules that RunCodegen compiled
COMPOSITE = "Composite"  # attribute of a function created from a match
LOWERED = ("call_tir", "call_tir_inplace", "call_dps_packed", "call_pure_packed")
"""Operators that call lowered code."""


@dataclass(frozen=True, eq=False)
class OperatorCall:
    """A call of an operator.

    call: the Relax call. bound: the variable to which it is bound, or None. dataflow: whether it is
    in a dataflow block; passes match patterns only there. composite: the name of the pattern that
    matched it, or None.
    """

    call: Any
    bound: Any
    dataflow: bool
    composite: str | None = None

    @property
    def variable(self) -> str:
        """The name of the variable to which it is bound; "" without one."""
        return "" if self.bound is None else name_of(self.bound)

    @property
    def name(self) -> str:
        """The operator's name, such as "nn.conv2d"."""
        return str(self.call.op.name).removeprefix("relax.")


def operator_calls(function: Any) -> Iterator[OperatorCall]:
    """The operator calls of a Relax function, including calls in branches; calls in a local
    function are repeated for each call of that function."""
    tvm = import_tvm()
    relax = tvm.relax
    local: dict[Any, Any] = {}  # {variable: local function bound to it}
    # Each value is stored with the enclosing local functions: a recursion is followed once.
    todo: list[tuple[Any, Any, bool, tuple[Any, ...]]] = [(function.body, None, False, ())]
    while todo:
        value, bound, dataflow, outer = todo.pop()
        if isinstance(value, relax.SeqExpr):
            inside = []
            for block in value.blocks:
                matched = isinstance(block, relax.DataflowBlock)
                for binding in block.bindings:
                    if isinstance(binding.value, relax.Function):
                        local[binding.var] = binding.value
                    else:
                        inside.append((binding.value, binding.var, matched, outer))
            todo += reversed([*inside, (value.body, bound, dataflow, outer)])
        elif isinstance(value, relax.If):
            branches = (value.false_branch, value.true_branch)
            todo += [(branch, bound, False, outer) for branch in branches]
        elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
            attrs = (local[outer[-1]] if outer else function).attrs or {}
            composite = str(attrs[COMPOSITE]) if COMPOSITE in attrs else None
            yield OperatorCall(value, bound, dataflow, composite)
        elif isinstance(value, relax.Call) and value.op in local and value.op not in outer:
            body = local[value.op].body
            todo.append((body, bound, dataflow, (*outer, value.op)))


def lowered_in(function: Any) -> list[str]:
    """The names of operators in a Relax function that call lowered code."""
    return sorted({c.name for c in operator_calls(function) if c.name in LOWERED})


def region_functions(mod: Any) -> dict[str, Any]:
    """The functions of a Relax module that a back end compiles, by symbol."""
    return {
        symbol: function.with_attr("global_symbol", symbol)
        for symbol, function in functions_of(mod)
        if function.attrs and CODEGEN in function.attrs
    }


def host_functions(mod: Any) -> list[Any]:
    """The Relax functions that are not regions."""
    return [f for _, f in functions_of(mod) if not (f.attrs and CODEGEN in f.attrs)]


def composite_names(mod: Any) -> set[str]:
    """The names of composites: of global functions, and of local functions in regions."""
    tvm = import_tvm()
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tvm.relax.Function) and node.attrs and COMPOSITE in node.attrs:
            found.add(str(node.attrs[COMPOSITE]))

    for _, function in functions_of(mod):
        visit(function)
        if function.attrs and CODEGEN in function.attrs:
            tvm.relax.analysis.post_order_visit(function, visit)
    return found


def called_functions(mod: Any) -> list[str]:
    """The names of the global functions that the functions of the host call, one per call."""
    tvm, found = import_tvm(), list[str]()

    def visit(node: Any) -> None:
        if isinstance(node, tvm.relax.Call) and isinstance(node.op, tvm.ir.GlobalVar):
            found.append(node.op.name_hint)

    for function in host_functions(mod):
        tvm.relax.analysis.post_order_visit(function, visit)
    return found


def region_calls(mod: Any) -> list[str]:
    """The symbols of called regions, one per call in the module."""
    regions = region_functions(mod)
    return [name for name in called_functions(mod) if name in regions]


def is_compiled(mod: Any) -> bool:
    """Whether RunCodegen has compiled regions of a module."""
    return bool(mod.attrs) and COMPILED in mod.attrs


def checked_relax(mod: Any, who: str, *, compiled: bool = False) -> Any:
    """A Relax module with a function "main".

    compiled: also accept a module whose regions RunCodegen has compiled, so that their operators
    are no longer known. Raises ArgumentError for other arguments, and FreeVariableError or
    WellFormedError for variables at which TVM passes fail.
    """
    tvm = import_tvm()
    if isinstance(mod, ForeignModule):  # a module from a trace
        mod = mod.source
    if not isinstance(mod, tvm.ir.IRModule):
        raise ArgumentError(
            f"{who} takes a module of TVM's Relax, found {type(mod).__module__}."
            f"{type(mod).__name__}; functions of this name for Relay are in byoc_lab itself"
        )
    if "main" not in (names := [symbol for symbol, _ in functions_of(mod)]):
        found = f"one with {', '.join(names)}" if names else "one without functions of Relax"
        raise ArgumentError(f'{who} takes a module with a Relax function "main", found {found}')
    if is_compiled(mod) and not compiled:
        raise ArgumentError(
            f"{who} takes a module before RunCodegen, which has compiled the regions of this one, "
            f"so that their operators are gone; give it the module that RunCodegen was given"
        )
    check_variables(mod, who)
    return mod


def functions_of(mod: Any) -> Iterator[tuple[str, Any]]:
    """The Relax functions of a module, with their names."""
    function = import_tvm().relax.Function
    for gv, found in mod.functions.items():
        if isinstance(found, function):
            yield gv.name_hint, found
