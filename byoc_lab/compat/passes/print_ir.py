"""PrintIR: writes the module to standard error and returns it unchanged."""

from __future__ import annotations

import sys

from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import ModulePass
from byoc_lab.relay.ir.module import IRModule


class PrintIR(ModulePass):
    """Writes the module to standard error and returns it unchanged.

    header: printed before the module. show_meta_data: whether the values of constants are printed.

    Source: `tvm.transform.PrintIR` of TVM 0.16.
    """

    def __init__(self, header: str = "", show_meta_data: bool = False):
        self.header = header
        self.show_meta_data = show_meta_data

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"PrintIR({self.header}):\n{mod.astext(self.show_meta_data)}", file=sys.stderr)
        return mod
