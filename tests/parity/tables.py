"""Pattern tables and target predicates, defined once and used on both sides of a comparison.

The file imports neither TVM nor byoc_lab: a side passes its own `tvm` and `dataflow_pattern`.
"""

from __future__ import annotations

import random
from typing import Any

# The operators that each target supports. "dnnl" is the list of TVM's DNNL integration, as far as
# the cases need it; "A" and "B" share `add`, so that the order of targets has an effect.
TARGET_OPS: dict[str, tuple[str, ...]] = {
    "A": ("nn.relu", "abs", "add", "concatenate", "split", "zeros"),
    "B": ("exp", "multiply", "add"),
    "dnnl": (
        "nn.conv2d",
        "nn.batch_norm",
        "nn.dense",
        "nn.relu",
        "nn.softmax",
        "nn.max_pool2d",
        "nn.avg_pool2d",
        "nn.global_avg_pool2d",
        "add",
        "multiply",
    ),
}


def register_targets(tvm: Any) -> None:
    """Registers each target of TARGET_OPS for exactly its operators, with any arguments."""
    Op = tvm.ir.Op
    ops = [Op.get(name) for name in Op.list_op_names()]
    for target, taken in TARGET_OPS.items():
        key = f"target.{target}"
        for op in ops:
            op.reset_attr(key)
        for name in taken:
            tvm.ir.register_op_attr(name, key, lambda expr: True)


def table(name: str, dp: Any) -> list[tuple]:
    """The pattern table `name`, written with the dataflow pattern module `dp`.

    `random.<seed>` is a table of overlapping patterns drawn from the seed.
    """
    if name.startswith("random."):
        return _random(dp, int(name.removeprefix("random.")))
    return TABLES[name](dp)


def _dnnl(dp: Any) -> list[tuple]:
    """TVM's DNNL entries for conv2d and dense with relu, in TVM's order: with a bias first."""

    def biased(op: str) -> Any:
        return dp.is_op("add")(plain(op), dp.wildcard())

    def plain(op: str) -> Any:
        return dp.is_op(op)(dp.wildcard(), dp.wildcard())

    def relu(pattern: Any) -> Any:
        return dp.is_op("nn.relu")(pattern)

    return [
        ("dnnl.conv2d_bias_relu", relu(biased("nn.conv2d")), adds_a_bias),
        ("dnnl.dense_bias_relu", relu(biased("nn.dense"))),
        ("dnnl.conv2d_bias", biased("nn.conv2d"), adds_a_bias),
        ("dnnl.dense_bias", biased("nn.dense")),
        ("dnnl.conv2d_relu", relu(plain("nn.conv2d"))),
        ("dnnl.dense_relu", relu(plain("nn.dense"))),
    ]


def adds_a_bias(root: Any) -> bool:
    """Whether the sum before an optional relu adds one number per channel of a conv2d."""
    call = root.args[0] if root.op.name == "nn.relu" else root
    conv, other = call.args
    if getattr(getattr(conv, "op", None), "name", None) != "nn.conv2d":
        return False  # `add` commutes in a pattern, so the convolution may be on the right
    elements = 1
    for extent in other.checked_type.shape:
        elements *= int(extent)
    return elements == int(conv.attrs.channels)


def _optional(dp: Any) -> list[tuple]:
    """One entry with optional parts: conv2d, optionally a constant added, optionally relu."""
    conv = dp.is_op("nn.conv2d")(dp.wildcard(), dp.is_constant())
    with_bias = conv.optional(lambda x: dp.is_op("add")(x, dp.is_constant()))
    return [("A.conv2d", with_bias.optional(lambda x: dp.is_op("nn.relu")(x)))]


def _attributes(dp: Any) -> list[tuple]:
    """Only 3x3 convolutions, recognized by their attributes."""
    conv = dp.is_op("nn.conv2d")(dp.wildcard(), dp.wildcard())
    return [("A.conv3x3", conv.has_attr({"kernel_size": [3, 3]}))]


def _diamond(dp: Any) -> list[tuple]:
    """exp and abs of one value, added: a wildcard used twice matches one value."""
    value = dp.wildcard()
    return [("A.diamond", dp.is_op("add")(dp.is_op("exp")(value), dp.is_op("abs")(value)))]


def _tagged(name: str) -> Any:
    """Calls with zero to five arguments and the attribute match_key="my_library"."""

    def entries(dp: Any) -> list[tuple]:
        tag = {"match_key": "my_library"}
        pattern = dp.wildcard()().has_attr(tag)
        for arity in range(1, 6):
            arguments = [dp.wildcard() for _ in range(arity)]
            pattern = pattern | dp.wildcard()(*arguments).has_attr(tag)
        return [(name, pattern, lambda _: True)]

    return entries


def _random(dp: Any, seed: int) -> list[tuple]:
    """One to four patterns of a few operators over wildcards, constants and shared operands."""
    draw = random.Random(seed)

    def operand(depth: int, seen: list[Any]) -> Any:
        if depth and draw.random() < 0.6:
            return node(depth - 1, seen)
        if seen and draw.random() < 0.2:
            return draw.choice(seen)
        return draw.choice([dp.wildcard, dp.wildcard, dp.wildcard, dp.is_constant])()

    def node(depth: int, seen: list[Any]) -> Any:
        kind = draw.random()
        if kind < 0.1:
            made = node(depth, seen) | node(depth, seen)
        elif kind < 0.15:
            made = dp.is_tuple_get_item(dp.wildcard(), 0)
        else:
            name, arity = draw.choice(RANDOM_OPS)
            made = dp.is_op(name)(*(operand(depth, seen) for _ in range(arity)))
        if depth < 2 and draw.random() < 0.1:  # at the root TVM reads the type of operators
            made = made.has_dtype("float32")
        if draw.random() < 0.2:
            name = draw.choice(["nn.relu", "tanh", "abs"])
            made = made.optional(lambda below: dp.is_op(name)(below))
        seen.append(made)
        return made

    names = [f"{draw.choice('AB')}.p{n}" for n in range(draw.randint(1, 4))]
    return [(name, node(2, [])) for name in names]


# Operators of random patterns, with their numbers of operands.
RANDOM_OPS = (
    ("add", 2), ("multiply", 2), ("subtract", 2), ("nn.relu", 1), ("abs", 1), ("tanh", 1),
    ("exp", 1), ("nn.conv2d", 2), ("nn.dense", 2), ("nn.bias_add", 2), ("add", 2), ("negative", 1),
)  # fmt: skip

TABLES = {
    "dnnl": _dnnl,
    "optional": _optional,
    "attributes": _attributes,
    "diamond": _diamond,
    "match_key": _tagged("match_key"),  # as posted: no dot, so AnnotateTarget never takes it
    "match_key.call": _tagged("match_key.call"),
}
