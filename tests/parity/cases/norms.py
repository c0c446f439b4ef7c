"""Batch norms with every option, and dropout, for SimplifyInference."""

from __future__ import annotations


def _norm(tvm, relay, shape, **options):
    data = relay.var("data", shape=shape)
    statistics = [relay.var(name) for name in ("gamma", "beta", "mean", "var")]
    body = relay.nn.batch_norm(data, *statistics, **options)[0]
    return tvm.IRModule.from_expr(relay.Function([data, *statistics], body))


def plain(tvm, relay, np):
    return _norm(tvm, relay, (1, 4, 8, 8))


def channels_last(tvm, relay, np):
    """The statistics are along the last axis: no expand_dims is needed."""
    return _norm(tvm, relay, (1, 8, 8, 4), axis=-1)


def unscaled(tvm, relay, np):
    return _norm(tvm, relay, (1, 4, 8, 8), scale=False)


def uncentred(tvm, relay, np):
    return _norm(tvm, relay, (1, 4, 8, 8), center=False, epsilon=0.001)


def second_result_used(tvm, relay, np):
    """The moving mean is used too, so the call remains for it."""
    data = relay.var("data", shape=(1, 4, 8, 8))
    statistics = [relay.var(name) for name in ("gamma", "beta", "mean", "var")]
    norm = relay.nn.batch_norm(data, *statistics)
    body = relay.Tuple([norm[0], norm[1]])
    return tvm.IRModule.from_expr(relay.Function([data, *statistics], body))


def dropout(tvm, relay, np):
    data = relay.var("data", shape=(1, 4))
    body = relay.nn.relu(relay.nn.dropout(data, rate=0.25))
    return tvm.IRModule.from_expr(relay.Function([data], body))
