"""Short networks on images, and their calls."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.transform import InferType
from tests import image_strategies as images


def calls(mod: IRModule, op: str) -> list[relay.Call]:
    found = (n for n in post_order(mod["main"]) if isinstance(n, relay.Call))
    return [call for call in found if call.is_op(op)]


def net(*steps, names: str = "x") -> IRModule:
    params = [relay.var(n, images.TYPE) for n in names]
    body: relay.Expr = params[0]
    for step in steps:
        body = step(body)
    return InferType()(IRModule.from_expr(relay.Function(params, body)))
