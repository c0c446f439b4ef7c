"""Converts a region with blocked layouts, as AlterOpLayout creates them, to layouts without blocks.

The native runtime chooses blocks itself, differently for each kernel and processor. So code
generation removes the blocks: the region's inputs are converted at its boundary, and its operators
get layouts without blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.passes.layout.transform_layout import LayoutRewriter
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, const
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.tensor.blocks import plain_layout, relayout_array
from byoc_lab.relay.typing.infer import infer_expr

LAYOUTS = ("data_layout", "kernel_layout", "out_layout", "layout")


def unblocked(function: Function) -> Function:
    """An equivalent typed function whose operators have layouts without blocks."""
    if not any(isinstance(node, Call) and _blocked(node) for node in post_order(function.body)):
        return function
    plain = LayoutRewriter(function, _without_blocks).run()
    made = infer_expr(rewrite(plain, [_turned_constant]))
    assert isinstance(made, Function)
    return made


@rule("turn constant", "constants are converted at compile time")
def _turned_constant(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(post, Call) and post.is_op("layout_transform")):
        return None
    (value,), attrs = post.args, post.attrs
    if not isinstance(value, Constant) or attrs is None:
        return None
    layouts = (attrs.src_layout, attrs.dst_layout)
    return const(relayout_array("layout_transform", value.numpy(), *layouts))


def _blocked(call: Call) -> dict[str, str]:
    """The layouts with blocks that the attributes of a call name."""
    attrs = call.attrs
    if attrs is None or not isinstance(call.op, Op) or call.is_op("layout_transform"):
        return {}
    layouts = {name: attrs[name] for name in LAYOUTS if name in attrs}
    return {name: v for name, v in layouts.items() if plain_layout(v) != v}


def _without_blocks(call: Call, args: Sequence[Expr]) -> Call | None:
    layouts = _blocked(call)
    if not layouts:
        return None
    assert call.attrs is not None
    plain = {name: plain_layout(layout) for name, layout in layouts.items()}
    return Call(call.op, list(args), call.attrs.replace(**plain), call.type_args, span=call.span)
