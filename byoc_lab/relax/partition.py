"""Partitions a Relax module: moves operators that DNNL supports into functions for DNNL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.backends.dnnl.activations import INSIDE
from byoc_lab.backends.dnnl.operators import why_not
from byoc_lab.errors import ByocLabError
from byoc_lab.relax.ir import batch
from byoc_lab.relax.ir.calls import checked_relax, composite_names, is_compiled
from byoc_lab.relax.ir.types import is_tensor
from byoc_lab.relax.operators import OPERATORS
from byoc_lab.relax.passes import MERGES, applied
from byoc_lab.relax.patterns.checks import ReasonedCheck
from byoc_lab.relax.registration import TARGET, register_codegen
from byoc_lab.relax.to_relay import BATCHED, call_to_relay
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.tvm_runtime import import_tvm

WHO = "partition_for_dnnl"
RESHAPES = ("relax.reshape", "relax.broadcast_to")


def patterns() -> list[tuple[Any, ...]]:
    """The entries for FuseOpsByPattern: (name, pattern, annotations, check) for each single
    operator.

    MergeCompositeFunctions merges connected operators into one function, and the code generator
    decides which of them to fuse; so no pattern for a chain is needed.
    """
    tvm = import_tvm()
    dpl, table = tvm.relax.dpl, list[tuple[Any, ...]]()
    check = SupportedByDnnl()
    for name in OPERATORS:
        listed = [dpl.wildcard() for _ in range(tvm.ir.Op.get(f"relax.{name}").num_inputs)]
        pattern = dpl.is_op(f"relax.{name}")(*listed, varg_default_wildcard=True)
        table.append((f"{TARGET}.{name.removeprefix('nn.')}", pattern, {}, check))
    return table


class SupportedByDnnl(ReasonedCheck):
    """The check of every pattern: whether DNNL supports the matched call."""

    def why_not(self, context: Any) -> str | None:
        return why_not_relax(context.matched_expr)


def why_not_relax(call: Any) -> str | None:
    """The reason that DNNL does not support a call of a Relax operator; None if it does."""
    try:
        typed = call_to_relay(call)
    except ByocLabError as error:
        return str(error)
    batches = {p for p in typed.params if p.name_hint.startswith(BATCHED)}
    mixed = batch.why_not_per_sample(typed.body, batches) if batches else None
    if mixed:
        return mixed
    # The call itself comes last, after the calls that prepare its operands.
    for node in reversed(list(post_order(typed.body))):
        if isinstance(node, Call) and isinstance(node.op, Op):
            if node.op.name in INSIDE:
                continue
            reason = why_not(node)
            if reason:
                own = str(call.op.name).removeprefix("relax.")
                return f"{own}: {reason.removeprefix(f'{node.op.name}: ')}"
    return None


def preparing_passes(mod: Any = None) -> list[Any]:
    """The passes before the partitioning, which fold batch norms and constants; without
    FoldConstant if it would fail on the module."""
    transform = import_tvm().relax.transform
    fold = [] if mod is not None and _stops_folding(mod) else [transform.FoldConstant()]
    return [transform.FoldBatchnormToConv2D(), transform.DecomposeOpsForInference(), *fold]


def _stops_folding(mod: Any) -> bool:
    """Whether FoldConstant fails on a value of the module: a tensor without a list of sizes in its
    type, or a run-time shape as the operand of reshape or broadcast_to."""
    tvm = import_tvm()
    relax, found = tvm.relax, False

    def visit(value: Any) -> None:
        nonlocal found
        found = found or (isinstance(value, relax.Var) and is_tensor(value) and not sizes(value))
        found = found or (isinstance(value, relax.Call) and is_reshape(value) and not listed(value))

    def sizes(value: Any) -> bool:
        ty = value.ty
        return ty.shape is not None and hasattr(ty.shape, "values")

    def is_reshape(call: Any) -> bool:
        return isinstance(call.op, tvm.ir.Op) and call.op.name in RESHAPES

    def listed(call: Any) -> bool:
        return isinstance(bound.get(call.args[1], call.args[1]), relax.ShapeExpr)

    for function in mod.functions.values():
        if isinstance(function, relax.Function):
            bound = dict(relax.analysis.get_var2val(function))
            relax.analysis.post_order_visit(function, visit)
    return found


def partitioning_passes(table: Sequence[Any] | None = None, mod: Any = None) -> list[Any]:
    """The passes that create functions for DNNL. table: the patterns; `patterns()` if None. mod:
    the module. If MergeCompositeFunctions would fail on it, for a reason other than RunCodegen's
    attributes, each match becomes a separate function."""
    transform = import_tvm().relax.transform
    table = patterns() if table is None else list(table)
    alone = mod is not None and not is_compiled(mod) and _stops_merging(mod)
    fuse = transform.FuseOpsByPattern(table, bind_constants=True, annotate_codegen=alone)
    return [fuse] if alone else [fuse, transform.MergeCompositeFunctions()]


def _stops_merging(mod: Any) -> bool:
    """Whether a function reached from "main" has a value that MergeCompositeFunctions cannot
    handle: a branch, a match_cast, or a string such as the name of a packed function."""
    tvm = import_tvm()
    relax = tvm.relax
    texts = relax.StringImm if hasattr(relax, "StringImm") else tvm.ir.StringImm
    stops = (relax.If, relax.ExternFunc, texts)
    found = False

    def visit(value: Any) -> None:
        nonlocal found
        blocks = value.blocks if isinstance(value, relax.SeqExpr) else ()
        bindings = (binding for block in blocks for binding in block.bindings)
        found = found or isinstance(value, stops)
        found = found or any(isinstance(binding, relax.MatchCast) for binding in bindings)

    for function in _apart(mod)[0].functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


def partition_for_dnnl(mod: Any) -> Any:
    """Fold batch norms of a Relax module, then move the operators that DNNL supports into functions
    for DNNL.

    `relax.transform.RunCodegen()` then compiles these functions; TVM compiles the rest as usual.
    One size may be known at run time only: the batch, the first axis of tensors (see
    `relax.batch`). The operators of "main" are partitioned; functions that "main" does not call are
    unchanged. TVM fails on DNNL operators in functions that "main" calls: inline such functions
    first (`relax.transform.InlinePrivateFunctions`).

    Raises ArgumentError unless `mod` is a Relax module with a function "main", FreeVariableError or
    WellFormedError for variables at which passes fail, and PassError if a TVM pass fails.
    """
    register_codegen()
    return partitioned(mod, WHO)


def partitioned(mod: Any, who: str, table: Sequence[Any] | None = None) -> Any:
    """Move the matches of a table into functions for its back end.

    table: for FuseOpsByPattern; `patterns()` if None. Errors: as for `partition_for_dnnl`.
    """
    mod = checked_relax(mod, who)
    return merged(applied(preparing_passes(mod), mod, who), who, table)


def merged(mod: Any, who: str, table: Sequence[Any] | None = None) -> Any:
    """Move the matches of the table into functions for back ends (`partitioning_passes`)."""
    return applied(map(on_reached, partitioning_passes(table, mod)), mod, who)


def on_reached(each: Any) -> Any:
    """A pass with the name of another pass, which it runs only on the functions reached from
    "main".

    MergeCompositeFunctions fails on variables of functions other than "main", so functions that
    "main" does not call are removed from the module during the pass; functions that cannot be
    called at all stay removed. If "main" calls no composites, the pass is not run.
    """
    tvm = import_tvm()

    def run(mod: Any, context: Any) -> Any:
        kept, rest = _apart(mod)
        if each.info.name == MERGES and not composite_names(kept):
            return mod
        made = each(kept)
        return tvm.IRModule({**rest, **made.functions}, made.attrs, made.global_infos)

    return tvm.transform.module_pass(run, opt_level=0, name=str(each.info.name))


def _apart(mod: Any) -> tuple[Any, dict[Any, Any]]:
    """A module with only the functions reached from "main"; and the other functions with a
    global_symbol and all their callees, which may include callees of "main"."""
    apart = unreached(mod)
    kept = {gv: f for gv, f in mod.functions.items() if gv not in apart}
    exported = [gv for gv in apart if mod[gv].attrs and "global_symbol" in mod[gv].attrs]
    rest = {gv: mod[gv] for gv in _reached(mod, exported)}
    return import_tvm().IRModule(kept, mod.attrs, mod.global_infos), rest


def unreached(mod: Any) -> set[Any]:
    """The Relax functions that "main" does not call, directly or indirectly; empty for a module
    without "main"."""
    relax = import_tvm().relax
    if "main" not in [gv.name_hint for gv in mod.functions]:
        return set()
    functions = (gv for gv, f in mod.functions.items() if isinstance(f, relax.Function))
    return set(functions) - _reached(mod, [mod.get_global_var("main")])


def _reached(mod: Any, roots: Sequence[Any]) -> set[Any]:
    """The functions reached from some functions by direct or indirect calls, including the
    functions themselves."""
    tvm = import_tvm()
    reached: set[Any] = set()
    todo = list(roots)

    def visit(value: Any) -> None:
        if isinstance(value, tvm.ir.GlobalVar):
            todo.append(value)

    while todo:
        gv = todo.pop()
        if gv in reached:
            continue
        reached.add(gv)
        if isinstance(mod[gv], tvm.relax.Function):
            tvm.relax.analysis.post_order_visit(mod[gv], visit)
    return reached
