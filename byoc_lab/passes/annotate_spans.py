"""AnnotateSpans: every expression gets, as `span`, its place in the text of its module.

Source: the pass of that name of TVM 0.16, which prints the module and reads that text.
"""

from __future__ import annotations

from byoc_lab.passes.base import ModulePass, PassContext
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.parser import parse

SOURCE = "GeneratedSource"


class AnnotateSpans(ModulePass):
    """Read the module's own text, so that all of it has a span; the result is typed."""

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return infer_module(parse(mod.astext(), SOURCE))
