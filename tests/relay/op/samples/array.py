"""Sample calls of operators on whole arrays: transforms, blocks, losses."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Constant, nn
from tests.relay.op.samples.sample import Sample, sourced


def whole(*values: int, dtype: str = "int32") -> Constant:
    return relay.const(np.array(values, dtype))


def unique(note: str, values: str, options: str, found: int, result: int) -> Sample:
    """One result of `unique`, without the elements after its end."""
    call = f"relay.unique(relay.const(np.array({values})){options})[{result}]"
    return sourced("unique", f"relay.strided_slice({call}, [0], [{found}])", (), note=note)


def axis_multiply(note: str, left: bool, right: bool) -> Sample:
    attrs = {"is_lshift_required": left, "is_rshift_required": right, "axes": [1]}
    return Sample(
        "fixed_point_multiply_per_axis",
        lambda x: relay.fixed_point_multiply_per_axis(
            x, whole(2**30, 1_500_000_000, 2**31 - 1), whole(1, 2, 0), whole(0, 1, 2), **attrs
        ),
        ((2, 3, 4),),
        low=-1000,
        high=1000,
        dtypes=("int32",),
        note=note,
    )


MIXED = "[3, 1, 3, 2, 1], 'int32'"
ARRAY_SAMPLES = [
    Sample("argwhere", relay.argwhere, ((3, 4),), dtypes=("bool",), relax="the size of its result"),
    *[unique(f"sorted-{n}", MIXED, "", 1 if n == 3 else 3, n) for n in (0, 1, 3)],
    unique("sorted-2", MIXED, "", 5, 2),
    *[unique(f"found-{n}", MIXED, ", False, True", 3, n) for n in (0, 1, 4)],
    unique("found-2", MIXED, ", False, True", 5, 2),
    unique("counts", MIXED, ", return_counts=True", 3, 4),
    sourced("dft", "relay.dft(x0, x1)", ((2, 6), (2, 6))),
    sourced("dft", "relay.dft(x0, x1, True)", ((2, 6), (2, 6)), note="inverse"),
    sourced("stft", "relay.stft(x0, 8, 2, 8, x1)", ((2, 20), (8,))),
    sourced(
        "stft",
        "relay.stft(x0, 8, 3, 6, x1, normalized=True, onesided=False)",
        ((2, 20), (6,)),
        note="normalized",
    ),
    *[
        Sample(
            "einsum", lambda *x, equation=equation: relay.einsum(x, equation), shapes, note=equation
        )
        for equation, *shapes in (
            ("ij,jk->ik", (2, 3), (3, 4)),
            ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)),
            ("...ij,jk->...ik", (2, 2, 3), (3, 4)),
            ("ij,j->i", (2, 3), (3,)),
            ("ij,jk", (2, 3), (3, 4)),
        )
    ],
    Sample("ndarray_size", relay.ndarray_size, ((2, 3, 4),)),
    Sample("reinterpret", lambda x: relay.reinterpret(x, "int32"), ((2, 3),)),
    *[
        Sample(
            "fixed_point_multiply",
            lambda x, s=shift: relay.fixed_point_multiply(x, 1_395_864_371, s),
            ((2, 3),),
            low=-1000,
            high=1000,
            dtypes=("int32",),
            note=f"{shift}",
        )
        for shift in (-3, 0, 2)
    ],
    axis_multiply("both", True, True),
    axis_multiply("left", True, False),
    axis_multiply("right", False, True),
    axis_multiply("plain", False, False),
    Sample("contrib_reverse_reshape", lambda x: relay.reverse_reshape(x, (-1, 0)), ((2, 3, 4),)),
    Sample(
        "contrib_reverse_reshape",
        lambda x: relay.reverse_reshape(x, (-3, 0)),
        ((2, 3, 4),),
        note="joined",
    ),
    Sample(
        "nn.space_to_batch_nd",
        lambda x: nn.space_to_batch_nd(x, (2, 3), ((1, 1), (0, 2)), 0.5),
        ((2, 4, 7, 3),),
    ),
    Sample(
        "nn.space_to_batch_nd",
        lambda x: nn.space_to_batch_nd(x, (2,), ((0, 1),)),
        ((2, 5, 7),),
        note="one",
    ),
    Sample(
        "nn.batch_to_space_nd",
        lambda x: nn.batch_to_space_nd(x, (2, 3), ((1, 0), (0, 2))),
        ((12, 4, 3, 2),),
    ),
    Sample("nn.cross_entropy", nn.cross_entropy, ((3, 4), (3, 4)), low=0.1),
    Sample("nn.cross_entropy_with_logits", nn.cross_entropy_with_logits, ((3, 4), (3, 4))),
    *[
        Sample(
            "nn.nll_loss",
            lambda x, t, w, r=reduction: nn.nll_loss(x, t, w, r, ignore_index=1),
            ((3, 4, 5), (3, 5), (4,)),
            dtypes=("float32", "int32"),
            ranges=((-2, 2), (0, 4), (0.1, 1)),
            note=reduction,
        )
        for reduction in ("mean", "sum", "none")
    ],
    Sample("nn.fifo_buffer", lambda x, b: nn.fifo_buffer(x, b, 0), ((2, 3), (5, 3))),
    Sample(
        "nn.fifo_buffer", lambda x, b: nn.fifo_buffer(x, b, 1), ((2, 1, 3), (2, 4, 3)), note="axis"
    ),
    Sample("annotation.checkpoint", relay.annotation.checkpoint),
]
