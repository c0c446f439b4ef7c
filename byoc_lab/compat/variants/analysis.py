"""Names of `relay.analysis` that depend on layers above the language, or that only scripts use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from byoc_lab.compat.passes.normal_form.extract_fused_functions import extract_fused_functions  # noqa: F401
from byoc_lab.compat.passes.simplify.simplify_fc_transpose import search_fc_transpose
from byoc_lab.compat.runtime.nd import HostArray
from byoc_lab.errors import PassError, UnknownFunctionError
from byoc_lab.passes.normal_form.to_basic_block_normal_form import find_lifted
from byoc_lab.passes.quantize.fake_quantization_to_integer import list_fake_quantized_op_freqs
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, Tuple, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, parts_of
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

MACS = ("nn.batch_matmul", "nn.conv2d", "nn.conv2d_transpose", "nn.dense")


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Returns True if each value is computed in the block of its users.

    ToBasicBlockNormalForm creates this form. Otherwise raises PassError, like TVM 0.16.
    """
    for value in find_lifted(expr):
        raise PassError(
            f"the expression violates the basic block normal form: {describe(value)} is used in "
            f"several scopes, so it should be bound by a let around them; ToBasicBlockNormalForm "
            f"does that"
        )
    return True


class AnnotatedRegion:
    """A region between `compiler_begin` and `compiler_end`.

    Attributes: id, target, nodes (including annotations), args (its begins) and rets (its ends).
    """

    def __init__(self, region: Region):
        self._region = region

    def __getattr__(self, name: str) -> Any:
        own = {"args": "inputs", "rets": "outputs"}.get(name, name)
        return getattr(self._region, own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnnotatedRegion) and other._region is self._region

    def __hash__(self) -> int:
        return hash(self._region)


class AnnotatedRegionSet:
    """The regions of an expression: `len`, iteration, and `get_region(node)` (or None)."""

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op):
        func = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        self._regions = RegionSet(func)

    def __len__(self) -> int:
        return sum(1 for _ in self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return map(AnnotatedRegion, self._regions)

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        found = self._regions.of(expr)
        return None if found is None else AnnotatedRegion(found)


def get_calibration_data(
    mod: IRModule, data: Mapping[str, Any]
) -> dict[GlobalVar, dict[str, list[HostArray]]]:
    """The input and output values of each external function of a partitioned module.

    data: the inputs of @main by name. {function: {"inputs": [...], "outputs": [...]}}; for a
    function with several calls, the values of its last call. Runs the NumPy reference.
    """
    typed = infer_module(mod)
    values = evaluate(typed, data, keep=True).values
    found: dict[GlobalVar, dict[str, list[HostArray]]] = {}
    for gv, function in typed.functions.items():
        if "Compiler" in function.attrs:
            result = values[function.body]
            outputs = result if isinstance(function.body, Tuple) else (result,)
            found[mod.get_global_var(gv.name_hint)] = {
                "inputs": [HostArray(values[p]) for p in function.params],
                "outputs": [HostArray(v) for v in outputs],
            }
    return found


def get_total_mac_number(expr: Expr) -> int:
    """The number of multiply-accumulates in the convolutions and matrix products of a typed
    expression.

    For a transposed convolution, every result element counts as a full window, as in TVM.
    """
    calls = (n for n in post_order(expr) if isinstance(n, Call) and n.op_name in MACS)
    return sum(map(_multiplications, calls))


def _multiplications(call: Call) -> int:
    data, weight = (a.checked_type for a in call.args)
    result = call.checked_type
    if call.op_name == "nn.conv2d_transpose":
        channels = result.shape[call.attrs.data_layout.index("C")]
        return prod(result.shape) * (prod(weight.shape) // channels)
    assert isinstance(call.op, Op)
    return call.op.definition.flops(call.attrs, [data, weight], result) // 2


def count_layers(expr: Expr | IRModule, valid_ops: list[str]) -> int:
    """The number of calls of `valid_ops` on the longest path from the result.

    As in TVM, the walk is depth-first and visits each node once, so calls above a node on other
    paths do not count.
    """
    depth = deepest = 0
    seen: set[Expr] = set()
    todo: list[Expr | int] = [expr["main"] if isinstance(expr, IRModule) else expr]
    while todo:
        item = todo.pop()
        if isinstance(item, int):  # the depth at which the walk continues
            depth = item
        elif item not in seen:
            seen.add(item)
            if not isinstance(item, Call):
                todo += reversed(item.parts())
                continue
            depth += item.op_name in valid_ops
            deepest = max(deepest, depth)
            for arg in reversed(item.args):
                todo += (depth, arg)
    return deepest


class CallGraph:
    """The call graph of a module's functions; a function is given by GlobalVar or name."""

    def __init__(self, module: IRModule):
        self.module = module
        self._called = {
            gv.name_hint: [n.name_hint for n in post_order(f) if isinstance(n, GlobalVar)]
            for gv, f in module.functions.items()
        }

    def _name(self, var: GlobalVar | str) -> str:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        if name not in self._called:
            raise UnknownFunctionError(
                f"the module has no function @{name}; it has {', '.join(self._called)}"
            )
        return name

    def global_call_count(self, var: GlobalVar | str) -> int:
        """The number of functions that a function calls. Raises UnknownFunctionError."""
        return len(self._called[self._name(var)])

    def ref_count(self, var: GlobalVar | str) -> int:
        """The number of functions that call a function, including itself. Raises
        UnknownFunctionError."""
        name = self._name(var)
        return sum(called.count(name) for called in self._called.values())

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Whether a function calls itself. Raises UnknownFunctionError."""
        name = self._name(var)
        return name in self._called[name]

    def print_var(self, var: GlobalVar | str) -> str:
        """A function's number of references and its calls, as text. Raises UnknownFunctionError."""
        name = self._name(var)
        lines = [f"Call graph node: {name},  #refs = {self.ref_count(name)}"]
        lines += [f"  call site: <{name}> calls {callee}" for callee in self._called[name]]
        return "\n".join([*lines, ""])

    @printable
    def __str__(self) -> str:
        return "\n".join(map(self.print_var, self._called))


def check_constant(expr: Expr) -> bool:
    """Whether an expression is a constant, or a tuple of constants."""
    fields = expr.fields if isinstance(expr, Tuple) else (expr,)
    return all(isinstance(f, Constant) or (f is not expr and check_constant(f)) for f in fields)


def all_dtypes(expr: Expr) -> set[str]:
    """The dtypes of the tensors in a typed expression."""
    found: set[str] = set()
    todo = [n.checked_type for n in post_order(expr) if n.is_typed]
    while todo:
        ty = todo.pop()
        if isinstance(ty, TensorType):
            found.add(ty.dtype)
        todo += parts_of(ty)
    return found


__all__ = [
    "AnnotatedRegion", "AnnotatedRegionSet", "CallGraph", "all_dtypes",
    "check_basic_block_normal_form", "check_constant", "count_layers", "get_calibration_data",
    "get_total_mac_number", "list_fake_quantized_op_freqs", "search_fc_transpose",
]  # fmt: skip
