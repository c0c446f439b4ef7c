"""AnnotateSpans: sets the span of every node to its location in the module's text."""

from __future__ import annotations

from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import ModulePass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse


class AnnotateSpans(ModulePass):
    """Sets the span of every node to its location in the module's text.

    Previous spans are lost.
    Source: apache/tvm, `AnnotateSpans` of python/tvm/relay/transform/transform.py.

    The pass prints the module and parses the text. The result is structurally equal and typed; its
    spans are locations in `mod.astext()`, under the source name "GeneratedSource".
    """

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return parse(mod.astext(), "GeneratedSource").with_attrs(mod.attrs)
