"""TVM 0.16's DNNL pattern table, and the operators it offloads, said again for byoc_lab.

Same entries, same order, same checks as `tvm.relay.op.contrib.dnnl`, so that both sides of a
comparison do the same work. (byoc_lab's own table, `byoc_lab.dnnl.patterns`, is another one: only
what its back end can run.) The two entries for quantised operators are left out as long as
byoc_lab has no `qnn.conv2d`; on TVM's side they are left out then as well.
"""

from __future__ import annotations

from math import prod
from typing import Any

from byoc_lab import relay
from byoc_lab.relay.dataflow_pattern import DFPattern, is_constant, is_expr, is_op, wildcard

OFFLOADED = (
    "nn.batch_norm", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d",
    "nn.max_pool3d", "nn.avg_pool3d", "abs", "clip", "exp", "log", "sqrt", "round", "nn.relu",
    "nn.leaky_relu", "tanh", "sigmoid", "nn.softmax", "add", "multiply", "nn.layer_norm",
    "nn.batch_matmul",
)  # fmt: skip
QUANTISED = ("qnn.conv2d", "qnn.dense")
ROOTS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose",
         "nn.dense")  # fmt: skip
ACTIVATIONS = ("nn.relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", None)


def register_predicates() -> None:
    """Let the target "dnnl" take exactly what it takes in TVM."""
    for name in relay.Op.list_op_names():
        relay.Op.get(name).reset_attr("target.dnnl")
    for name in set(OFFLOADED) & set(relay.Op.list_op_names()):
        relay.Op.get(name).set_attr("target.dnnl", _takes)


def _takes(call: relay.Call) -> bool:
    if any(getattr(a.checked_type, "dtype", None) == "int64" for a in call.args):
        return False
    return not (call.attrs is not None and "pool" in call.op_name and call.attrs.get("ceil_mode"))


def pattern_table() -> list[tuple[Any, ...]]:
    """The entries, in TVM's order."""
    known = relay.Op.list_op_names()
    entries: list[tuple[Any, ...]] = [
        (f"dnnl.{name}", _quantised(name)) for name in QUANTISED if name in known
    ]
    entries.append(("dnnl.dense_bias_sum", _biased("nn.dense") + wildcard()))
    for activation in ("nn.relu", None):
        pattern = _activated(_biased("nn.conv2d") + wildcard(), activation)
        name = "dnnl.conv2d_bias_sum" + ("_relu" if activation else "")
        entries.append((name, pattern, _adds_a_sum))
    for bias in (True, False):
        for activation in ACTIVATIONS:
            if bias or activation:
                entries += [_chain(root, bias, activation) for root in ROOTS]
    return entries


def _chain(root: str, bias: bool, activation: str | None) -> tuple[Any, ...]:
    stem = root.replace("nn.", "dnnl.")
    if stem.endswith("_transpose"):
        stem = f"dnnl.deconv{stem.removesuffix('_transpose')[-2:]}"
    words = [stem, "bias" if bias else None, activation.removeprefix("nn.") if activation else None]
    pattern = _activated(_biased(root) if bias else _plain(root), activation)
    entry = ("_".join(filter(None, words)), pattern)
    return entry if root == "nn.dense" else (*entry, _adds_a_bias)


def _plain(root: str) -> DFPattern:
    return is_op(root)(wildcard(), wildcard())


def _biased(root: str) -> DFPattern:
    return _plain(root) + wildcard()


def _activated(op: DFPattern, activation: str | None) -> DFPattern:
    if activation == "gelu":
        normal = is_op("erf")(op / wildcard()) + wildcard()
        return (op * normal) * wildcard()
    if activation == "swish":
        return op * is_op("sigmoid")(op)
    if activation == "mish":
        return op * is_op("tanh")(is_op("log")(is_op("exp")(op) + wildcard()))
    return is_op(activation)(op) if activation else op


def _quantised(name: str) -> DFPattern:
    zero = is_expr(relay.const(0, "int32"))
    op = is_op(name)(wildcard(), is_constant(), zero, zero, is_constant(), is_constant())
    op = is_op("cast")(op)
    op = (op + is_constant()) | op
    op = is_op("clip")(op * is_constant())
    op = (op * is_constant()) | op
    op = (op + is_constant() * is_op("cast")(wildcard())) | op
    op = (op + is_constant()) | op
    return is_op("cast")(op)


def _below_relu(call: relay.Call) -> relay.Call:
    return call.args[0] if call.op_name == "nn.relu" else call


def _adds_a_bias(root: relay.Call) -> bool:
    call = _below_relu(root)
    return call.op_name != "add" or _is_bias(call)


def _is_bias(added: relay.Call) -> bool:
    conv, bias = added.args
    if not isinstance(conv, relay.Call) or conv.op_name != "nn.conv2d":
        return False
    return conv.attrs.channels == prod(bias.checked_type.shape)


def _adds_a_sum(root: relay.Call) -> bool:
    outer = _below_relu(root)
    inner, other = outer.args
    if not isinstance(inner, relay.Call) or inner.op_name != "add":
        return False
    return inner.checked_type.shape == other.checked_type.shape and _is_bias(inner)
