"""Sample calls of operators with arguments in place of attributes.

The arguments are constants here, and the calls are created directly, because `relay.reshape` and
similar functions turn constants into attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Call, Constant, Op
from tests.relay.op.samples.sample import Sample, Shape, sourced


def whole(*values: int) -> Constant:
    return relay.const(np.array(values, "int64"))


def number(value: Any, dtype: str = "int32") -> Constant:
    return relay.const(np.array(value, dtype))


def call(name: str, *args: Any, **attrs: Any) -> Any:
    op = Op.get(f"dyn.{name}")
    schema = op.definition.attrs
    made = schema.make({**op.definition.fixed, **attrs}) if schema else None
    return Call(op, list(args), made)


def sample(name: str, build: Any, *shapes: Shape, note: str = "", **more: Any) -> Sample:
    return Sample(f"dyn.{name}", build, shapes, note=note, **more)


ONE, NONE = number(1, "float32"), number(0, "float32")
DYN_SAMPLES = [
    sample("reshape", lambda x: call("reshape", x, whole(3, -1)), (2, 6)),
    sample("broadcast_to", lambda x: call("broadcast_to", x, whole(2, 3, 4)), (3, 1)),
    sample("full", lambda x: call("full", x, whole(2, 3)), ()),
    sample("zeros", lambda: call("zeros", whole(2, 3), dtype="float32")),
    sample("ones", lambda: call("ones", whole(2, 3), dtype="int32")),
    sample("tile", lambda x: call("tile", x, whole(2, 1, 2)), (2, 3)),
    sample("tile", lambda x: call("tile", x, relay.const([2.0, 1.0])), (2, 3), note="by-floats"),
    sample(
        "one_hot",
        lambda i: call("one_hot", i, ONE, NONE, number(4), axis=-1, dtype="float32"),
        (5,),
        low=0,
        high=4,
        dtypes=("int32",),
    ),
    sample("topk", lambda x: call("topk", x, number(2), dtype="int32"), (3, 4)),
    sample(
        "topk",
        lambda x: call("topk", x, relay.const([2.0]), dtype="int32"),
        (3, 4),
        note="of-a-float",
    ),
    sample("squeeze", lambda x: call("squeeze", x, whole(0, 2)), (1, 3, 1)),
    sourced(  # TVM's text format has no attributes for it
        "dyn.expand_dims", "relay.expand_dims(x0, relay.const(1), 2)", ((2, 3),)
    ),
    sample(
        "nn.pad", lambda x: call("nn.pad", x, relay.const(np.array([[1, 0], [0, 2]])), ONE), (2, 3)
    ),
    sample(
        "image.resize2d",
        lambda x: call(
            "image.resize2d",
            x,
            whole(5, 6),
            relay.const(np.zeros(4, "float32")),
            rounding_method="",
        ),
        (1, 2, 3, 4),
    ),
    sample(
        "nn.upsampling",
        lambda x: call("nn.upsampling", x, number(2, "float32"), number(1.5, "float32")),
        (1, 2, 3, 4),
    ),
    sample(
        "nn.upsampling3d",
        lambda x: call("nn.upsampling3d", x, *[number(s, "float32") for s in (2, 1, 1.5)]),
        (1, 2, 2, 3, 4),
    ),
    sample(
        "strided_slice",
        lambda x: call("strided_slice", x, whole(1), whole(3), whole(1)),
        (3, 4),
        note="of-first-axes",
    ),
    sample(
        "strided_slice",
        lambda x: call("strided_slice", x, whole(1, 0), whole(3, -1), whole(1, 2)),
        (4, 6),
    ),
]
