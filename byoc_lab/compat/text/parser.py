"""`tvm.parser` and `tvm.relay.parser`: reading Relay's text format."""

from __future__ import annotations

from functools import partial

from byoc_lab.compat.text.diagnostics import Diagnostic, DiagnosticContext, DiagnosticLevel
from byoc_lab.compat.text.places import LastMentions
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import ModulePass
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Expr, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.source_map import SourceMap
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.text import parser

parse = fromtext = partial(parser.parse, places=LastMentions)
"""`relay.parse`, whose spans are those of TVM 0.16."""


def parse_expr(source: str) -> Expr:
    """Parse an expression; its spans name the source "string"."""
    return parser.parse_expr(source, "string", places=LastMentions)


class SpanCheck(ModulePass):
    """Warn for every expression without a known source location."""

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        found = DiagnosticContext(mod)
        for func in mod.functions.values():
            near = func.span
            for node in post_order(func):
                if isinstance(node, (Op, Constructor, GlobalVar)):
                    continue
                if node.span is None:
                    message = "found null-span, i-nodes deep from this span."
                    found.emit(Diagnostic(DiagnosticLevel.WARNING, near, message))
                near = node.span or near
        found.render()
        return mod


__all__ = ["SourceMap", "SpanCheck", "fromtext", "parse", "parse_expr"]
