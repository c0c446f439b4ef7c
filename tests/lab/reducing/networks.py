"""Networks and predicates for the tests of `reduce`."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order


def operators(mod: IRModule) -> list[str]:
    """The names of the operators that a module calls, function by function."""
    return [
        n.op.name
        for func in mod.functions.values()
        for n in post_order(func)
        if isinstance(n, Call) and isinstance(n.op, Op)
    ]


def chain(length: int, special: dict[int, str]) -> IRModule:
    """A chain of relu and add; at some positions it calls other operators."""
    x = relay.var("x", shape=(2, 4))
    out: relay.Expr = x
    for n in range(length):
        if n in special:
            out = Call(Op.get(special[n]), [out])
        else:
            out = relay.nn.relu(out) if n % 2 else relay.add(out, x)
    return IRModule.from_expr(out)


def tanh_then_sigmoid(mod: IRModule) -> bool:
    """A predicate that a script can import."""
    return {"tanh", "sigmoid"} <= set(operators(mod))


def convolution(channels: int = 8) -> IRModule:
    """A convolution, a bias, a batch norm and a relu, twice, then pooling and a dense layer."""
    x = relay.var("x", shape=(2, 3, 16, 16))
    out: relay.Expr = x
    for n in range(2):
        weight = relay.var(f"w{n}", shape=(channels, 3 if not n else channels, 3, 3))
        out = relay.nn.conv2d(out, weight, padding=(1, 1), strides=(2, 2), channels=channels)
        out = relay.nn.bias_add(out, relay.var(f"b{n}", shape=(channels,)))
        norm = [relay.var(f"{name}{n}", shape=(channels,)) for name in ("g", "h", "m", "v")]
        out = relay.nn.relu(relay.nn.batch_norm(out, *norm)[0])
    flat = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(out))
    return IRModule.from_expr(relay.nn.dense(flat, relay.var("d", shape=(10, channels))))
