"""RemoveUnusedFunctions: remove global functions that no entry function reaches."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.hook import report_function
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.relay.ir.expr import GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class RemoveUnusedFunctions(ModulePass):
    """Remove global functions that no entry function reaches.

    entry_functions: their names, ["main"] by default.

    Source: `relay.transform.RemoveUnusedFunctions` of TVM 0.16, which changes its module in place;
    this pass creates a new one.
    """

    opt_level = 1

    def __init__(self, entry_functions: Sequence[str] | None = None):
        self.entry_functions = ["main"] if entry_functions is None else list(entry_functions)

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        reached: set[str] = set()
        todo = [name for name in self.entry_functions if name in mod]
        while todo:
            name = todo.pop()
            if name in reached or name not in mod:
                continue
            reached.add(name)
            todo += [n.name_hint for n in post_order(mod[name]) if isinstance(n, GlobalVar)]
        unused = [gv for gv in mod.functions if gv.name_hint not in reached]
        if not unused:
            return mod
        out = mod.copy()
        for gv in unused:
            reason = "no entry function reaches it"
            report_function("remove function", reason, gv.name_hint, mod[gv], None)
            del out[gv]
        return out
