"""The case of calls bound by `let` whose partition has free variables."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.errors import FreeVariableError
from byoc_lab.lessons.cases.base import LiveCase, Symptom
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import Call, Function, GlobalVar, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import wildcard

TAG = {"match_key": "my_library"}


class LetBoundCalls(LiveCase):
    """Two tagged calls, bound by `let`, become two regions; TVM's AnnotateTarget adds a begin too
    many.

    The author matches calls by an attribute, wraps them in composite functions and annotates these.
    For the value of a `let`, TVM's AnnotateTarget puts a begin around the end of the region. That
    begin has no end, so its region is never cut out, and the variable that PartitionGraph created
    for its input stays free. The fix is an annotation without that begin. AnnotateTarget of
    byoc_lab omits it, unless the behaviour of TVM 0.16 is requested.
    """

    name = "let-bound-calls"
    title = "Regions of let-bound calls leave free variables"
    reference = 'TVM forum, "Confusing Behavior with Graph Partitioning", January 2021'
    link = "https://discuss.tvm.apache.org"
    era = '0.16 (`era="0.16"`)'
    fix = "Annotate the value of a let without a begin around it, or run ToGraphNormalForm first."
    cause = "BYL004"
    codes = ("BYL004",)

    def plain(self) -> IRModule:
        return network()

    def module(self) -> IRModule:
        return _annotated(AnnotateTarget("match_key", era="0.16"))

    def symptom(self, mod: IRModule) -> Symptom | None:
        try:
            PartitionGraph()(mod)
        except FreeVariableError as error:
            names = ", ".join(f"%{v.name_hint}" for v in error.variables)
            return Symptom(f"PartitionGraph leaves free variables: {names}", error=error)
        return None

    def fixed(self) -> IRModule:
        return _annotated(AnnotateTarget("match_key"))


def network() -> IRModule:
    """Two tagged calls of global functions; the second uses the result of the first."""
    mod = IRModule()
    for count in (2, 3):
        params = [relay.var(f"arg_{n}", shape=(), dtype="int32") for n in range(count)]
        total = params[0]
        for param in params[1:]:
            total = relay.add(total, param)
        mod[f"library_call_{count}"] = Function(params, total)
    x, y, z = (Var(name) for name in "xyz")
    first = _tagged(
        mod.get_global_var("library_call_3"), *(relay.const(n, "int32") for n in (1, 2, 3))
    )
    second = _tagged(mod.get_global_var("library_call_2"), x, y)
    mod["main"] = Function([], Let(x, first, Let(y, relay.const(4, "int32"), Let(z, second, z))))
    return InferType()(mod)


def _tagged(callee: GlobalVar, *args: relay.Expr) -> Call:
    return Call(callee, args, DictAttrs(TAG))


def _annotated(annotation: AnnotateTarget) -> IRModule:
    """The network with its tagged calls in composite functions, annotated."""
    calls = [wildcard()(*(wildcard() for _ in range(n))).has_attr(TAG) for n in (2, 3)]
    table = [("match_key.call", calls[0] | calls[1])]
    steps = [MergeComposite(table), annotation, MergeCompilerRegions(), InferType()]
    return Sequential(steps)(network())
