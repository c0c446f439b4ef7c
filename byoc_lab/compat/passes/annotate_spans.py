"""AnnotateSpans: every node gets its place in the text of the module as its span."""

from __future__ import annotations

from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import ModulePass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse


class AnnotateSpans(ModulePass):
    """Every node gets its place in the text of the module as its span.

    What a node knew of its origin before is lost.
    Source: apache/tvm, `AnnotateSpans` of python/tvm/relay/transform/transform.py.

    Print the module and read it again: the result is equal, typed, and its spans are places in
    `mod.astext()`, which they call "GeneratedSource".
    """

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return parse(mod.astext(), "GeneratedSource").with_attrs(mod.attrs)
