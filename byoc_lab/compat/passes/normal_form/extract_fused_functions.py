"""ExtractFusedFunctions: a module with only the functions that FuseOps creates from @main."""

from __future__ import annotations

from byoc_lab.compat.passes.normal_form.fuse_ops import FuseOps
from byoc_lab.passes.framework.hook import report_function
from byoc_lab.passes.framework.passes import ModulePass, PassContext, Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.analysis.structural_hash import structural_hash
from byoc_lab.relay.ir.expr import Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class ExtractFusedFunctions(Sequential):
    """A module with only the functions that FuseOps creates from @main.

    Each function is named after its structural hash, so equal functions become one. Used for
    tuning, and to count the different kernels of a network.

    Source: src/relay/analysis/extract_fused_functions.cc of TVM 0.16.
    """

    def __init__(self) -> None:
        super().__init__([SimplifyInference(), FuseOps(3), _Extract()], name=type(self).__name__)


class _Extract(ModulePass):
    opt_level = 1

    @property
    def name(self) -> str:
        return "ExtractFusedFunctions"

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        primitive = [
            n for n in post_order(mod["main"]) if isinstance(n, Function) and _is_primitive(n)
        ]
        found = {str(structural_hash(func) % 2**64): func for func in primitive}
        for gv, func in mod.functions.items():
            reason = "only fused functions are wanted"
            report_function("remove function", reason, gv.name_hint, func, None)
        for name, func in found.items():
            report_function("add function", "FuseOps made it", name, None, func)
        return IRModule(found, mod.type_definitions)


def _is_primitive(func: Function) -> bool:
    return bool(func.attrs.get("Primitive"))


def extract_fused_functions(mod: IRModule) -> dict[GlobalVar, Function]:
    """The distinct functions that FuseOps creates from @main, keyed by variables named after their
    hash."""
    return dict(ExtractFusedFunctions()(mod).functions)
