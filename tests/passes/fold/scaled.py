"""A convolution with a scale before or after it, and checks of folding."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

CHANNELS = 3


def network(*, before: bool, layout: str = "NCHW") -> IRModule:
    """A 3x3 convolution; `before`: its data is scaled per channel, else its result."""
    random = np.random.default_rng(0)
    axis = layout.index("C")
    shape = [1, 8, 8, 8]
    shape[axis] = CHANNELS
    spread = [1, 1, 1, 1]
    spread[axis] = CHANNELS
    data = relay.var("data", shape=shape)
    weight = relay.const(random.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype("float32"))
    scale = relay.const(random.uniform(0.5, 2, spread).astype("float32"))
    scaled = relay.multiply(data, scale) if before else data
    out = nn.conv2d(
        scaled, weight, channels=CHANNELS, kernel_size=3, padding=1, data_layout=layout,
        kernel_layout="OIHW",
    )  # fmt: skip
    return infer_module(IRModule.from_expr(out if before else relay.multiply(out, scale)))


def scales_outside_weights(mod: IRModule) -> int:
    """The number of products that depend on the input of @main."""
    inputs = set(mod["main"].params)
    for node in post_order(mod["main"].body):
        if inputs & set(node.parts()):
            inputs.add(node)
    return sum(1 for n in inputs if isinstance(n, relay.Call) and n.is_op("multiply"))


def check_folds(step: Pass, mod: IRModule) -> None:
    """Asserts that `step` moves the scale into the weight, and values stay within float64
    rounding."""
    assert scales_outside_weights(mod) == 1
    after = step(mod)
    assert scales_outside_weights(after) == 0
    data = np.random.default_rng(1).standard_normal(mod["main"].params[0].checked_type.shape)
    inputs = [data.astype("float32")]
    expected, found = (evaluate(m, inputs, dtype="float64").value for m in (mod, after))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def check_leaves(step: Pass, mod: IRModule) -> None:
    """Asserts that `step`, which folds in the other direction, changes nothing."""
    assert step(mod) is mod
