"""MarkCompilerFunctionsAsExtern: declare functions that another compiler has compiled."""

from __future__ import annotations

from byoc_lab.compat.passes.byoc.outline_compiler_functions import has_compiler
from byoc_lab.passes.framework.hook import report_function
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.module import IRModule


class MarkCompilerFunctionsAsExtern(ModulePass):
    """Declare functions that another compiler has compiled.

    `def @a_0(%p, Compiler="A", global_symbol="a_0", ...)` -> `def @a_0(%p, Extern=1)`. The body
    stays, but is no longer used. For code generators that run as a pass.

    Source: src/relay/transforms/compiler_function_utils.cc of TVM 0.16.
    """

    def __init__(self, compiler_filter: str = ""):
        self.compiler_filter = compiler_filter

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        out = mod.copy()
        for gv, func in mod.functions.items():
            if has_compiler(func, self.compiler_filter):
                marked = func.replace(attrs=DictAttrs({"Extern": 1}))
                reason = f"compiler {func.attrs['Compiler']} has compiled it"
                report_function("mark as extern", reason, gv.name_hint, func, marked)
                out.functions[gv] = marked
        return out
