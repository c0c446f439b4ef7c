"""Other right answers to "let-program"."""

from __future__ import annotations

import byoc_lab.passes
from byoc_lab import relay, transform


def by_hand(mod):
    """Replaces variables by their values, then annotates."""
    values = {}
    body = mod["main"].body
    while isinstance(body, relay.Let):
        call = body.value
        args = [values.get(arg, arg) for arg in call.args]
        if call.is_op("exp"):
            args = [relay.op.annotation.compiler_end(args[0], "edu")]
        elif not values or args[0].is_op("exp"):
            args = [relay.op.annotation.compiler_begin(args[0], "edu")]
        values[body.var] = relay.Call(call.op, args, call.attrs)
        body = body.body
    result = relay.op.annotation.compiler_end(values[body], "edu")
    return relay.IRModule.from_expr(relay.Function(mod["main"].params, result))


def step_by_step(mod):
    mod = transform.ToGraphNormalForm()(mod)
    mod = transform.InferType()(mod)
    mod = transform.AnnotateTarget(["edu"])(mod)
    mod = transform.MergeCompilerRegions()(mod)
    return mod


def by_names(mod):
    return transform.Sequential(
        [
            *map(byoc_lab.passes.make_pass, ("ToGraphNormalForm", "InferType")),
            transform.AnnotateTarget("edu"),
            transform.MergeCompilerRegions(),
        ]
    )(mod)


RIGHT = (by_hand, step_by_step, by_names)
