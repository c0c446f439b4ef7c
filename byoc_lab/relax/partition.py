"""Partitioning a Relax module: what DNNL supports becomes functions for it."""

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
    """For FuseOpsByPattern: (name, pattern, annotations, check) of each operator by itself.

    Operators that follow one another end in one function (MergeCompositeFunctions), and what is
    fused in there is for the code generator to decide; so no chain needs a pattern.
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
    """Whether DNNL supports the call of a match: the check of every pattern."""

    def why_not(self, context: Any) -> str | None:
        return why_not_relax(context.matched_expr)


def why_not_relax(call: Any) -> str | None:
    """Why DNNL does not support a call of a Relax operator, in words; None when it does."""
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
    """The passes before the partitioning: they fold batch norms and constants. Without FoldConstant
    for modules that it fails on."""
    transform = import_tvm().relax.transform
    fold = [] if mod is not None and _stops_folding(mod) else [transform.FoldConstant()]
    return [transform.FoldBatchnormToConv2D(), transform.DecomposeOpsForInference(), *fold]


def _stops_folding(mod: Any) -> bool:
    """Whether a module has a value that FoldConstant fails on: a tensor whose type has no list of
    sizes, or a shape from run time as the operand of reshape or broadcast_to."""
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
    """The passes that make functions for DNNL. table: the patterns, `patterns()` if None. mod: the
    module; if MergeCompositeFunctions stops at something in it, other than what RunCodegen left,
    each match is a function."""
    transform = import_tvm().relax.transform
    table = patterns() if table is None else list(table)
    alone = mod is not None and not is_compiled(mod) and _stops_merging(mod)
    fuse = transform.FuseOpsByPattern(table, bind_constants=True, annotate_codegen=alone)
    return [fuse] if alone else [fuse, transform.MergeCompositeFunctions()]


def _stops_merging(mod: Any) -> bool:
    """Whether a function that "main" reaches has a value without a rule in MergeCompositeFunctions:
    a branch, a match_cast, or the name of a packed function or another text."""
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
    """A Relax module with what DNNL can run in functions for it, batch norms folded before.

    `relax.transform.RunCodegen()` then compiles them; what is left is compiled as usual. One size
    may be known at run time only: the batch, in front of tensors (see `relax.batch`). The operators
    of "main" are partitioned; functions that it does not call stay whole. TVM stops at operators
    for DNNL in functions that it calls: inline these before
    (`relax.transform.InlinePrivateFunctions`).

    Raises ArgumentError for something else than a module of Relax with a function "main",
    FreeVariableError or WellFormedError for variables that passes stop at, and PassError for a pass
    of TVM that fails.
    """
    register_codegen()
    return partitioned(mod, WHO)


def partitioned(mod: Any, who: str, table: Sequence[Any] | None = None) -> Any:
    """A module with the matches of a table in functions for its back end.

    table: for FuseOpsByPattern, `patterns()` if None. Errors: as of `partition_for_dnnl`.
    """
    mod = checked_relax(mod, who)
    return merged(applied(preparing_passes(mod), mod, who), who, table)


def merged(mod: Any, who: str, table: Sequence[Any] | None = None) -> Any:
    """A module with the matches of the table in functions for back ends (`partitioning_passes`)."""
    return applied(map(on_reached, partitioning_passes(table, mod)), mod, who)


def on_reached(each: Any) -> Any:
    """A pass of the same name that runs another one on the functions that "main" reaches.

    MergeCompositeFunctions stops at variables of other functions than "main", so what "main" does
    not call is left out of the module meanwhile, and what nobody can call for good. Where
    "main" calls no composites it is not run at all.
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
    """A module with the functions that "main" reaches only; and the other functions with
    global_symbol and all that they call, some of which "main" may call, too."""
    apart = unreached(mod)
    kept = {gv: f for gv, f in mod.functions.items() if gv not in apart}
    exported = [gv for gv in apart if mod[gv].attrs and "global_symbol" in mod[gv].attrs]
    rest = {gv: mod[gv] for gv in _reached(mod, exported)}
    return import_tvm().IRModule(kept, mod.attrs, mod.global_infos), rest


def unreached(mod: Any) -> set[Any]:
    """The functions of Relax that "main" does not call, directly or through others; none of a
    module without "main"."""
    relax = import_tvm().relax
    if "main" not in [gv.name_hint for gv in mod.functions]:
        return set()
    functions = (gv for gv, f in mod.functions.items() if isinstance(f, relax.Function))
    return set(functions) - _reached(mod, [mod.get_global_var("main")])


def _reached(mod: Any, roots: Sequence[Any]) -> set[Any]:
    """The functions that some functions call, directly or through others, and these."""
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
