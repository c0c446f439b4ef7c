"""Sample calls of operators on whole arrays: sparse ones, transforms, blocks, losses, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Constant, nn
from tests.relay.op.sample import Sample, Shape, sourced


def whole(*values: int, dtype: str = "int32") -> Constant:
    return relay.const(np.array(values, dtype))


def csr(blocks: Shape = ()) -> tuple[Constant, Constant, Constant]:
    """Five elements or blocks in three rows and four columns (of blocks)."""
    data = np.arange(1, 1 + 5 * int(np.prod(blocks)), dtype="float32").reshape(5, *blocks)
    return relay.const(data), whole(0, 2, 1, 0, 3), whole(0, 2, 3, 5)


def square() -> tuple[Constant, Constant, Constant]:
    data = relay.const(np.arange(1, 6, dtype="float32"))
    return data, whole(0, 2, 1, 0, 2), whole(0, 2, 3, 5)


def pool_grad(kind: str, note: str, data: Shape, grad: Shape, **attrs: Any) -> Sample:
    """TVM's parser takes the attributes of one kind for those of the other."""
    words = "".join(f", {name}={value!r}" for name, value in attrs.items())
    name = f"nn.{kind}_pool2d_grad"
    return sourced(name, f"relay.{name}(x0, x1{words})", (grad, data), note=note)


def unique(note: str, values: str, options: str, found: int, result: int) -> Sample:
    """One result of `unique`, but for what stands behind its end."""
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
    Sample(
        "argwhere",
        relay.argwhere,
        ((3, 4),),
        dtypes=("bool",),
        relax="the length of its result",
    ),
    *[unique(f"sorted-{n}", MIXED, "", 1 if n == 3 else 3, n) for n in (0, 1, 3)],
    unique("sorted-2", MIXED, "", 5, 2),
    *[unique(f"found-{n}", MIXED, ", False, True", 3, n) for n in (0, 1, 4)],
    unique("found-2", MIXED, ", False, True", 5, 2),
    unique("counts", MIXED, ", return_counts=True", 3, 4),
    Sample(
        "sparse_to_dense",
        lambda v: relay.sparse_to_dense(
            relay.const(np.array([[0, 1], [2, 3]])), (3, 4), v, relay.const(np.float32(0.5))
        ),
        ((2,),),
    ),
    Sample(
        "sparse_to_dense",
        lambda v: relay.sparse_to_dense(whole(0, 2, 3), (5,), v, relay.const(np.float32(0))),
        ((3,),),
        note="vector",
    ),
    Sample(
        "sparse_fill_empty_rows",
        lambda v: relay.sparse_fill_empty_rows(
            relay.const(np.array([[0, 1], [0, 3], [2, 0]])),
            v,
            whole(4, 5, dtype="int64"),
            relay.const(np.int64(7)),
        ),
        ((3,),),
        low=0,
        high=9,
        dtypes=("int64",),
        relax="the lengths of its results",
    ),
    Sample(
        "sparse_fill_empty_rows",
        lambda v: relay.sparse_fill_empty_rows(
            relay.const(np.zeros((0, 2)), "int64"), v, whole(2, 5), relay.const([7])
        ),
        ((0,),),
        dtypes=("int32",),
        note="nothing-in-it",
        relax="the lengths of its results",
    ),
    Sample(
        "sparse_reshape",
        lambda i: relay.sparse_reshape(
            i, whole(2, 3, 6, dtype="int64"), whole(9, -1, dtype="int64")
        ),
        ((4, 3),),
        low=0,
        high=2,
        dtypes=("int64",),
    ),
    Sample("nn.sparse_dense", lambda x: nn.sparse_dense(x, csr()), ((2, 4),)),
    Sample(
        "nn.sparse_dense",
        lambda x: nn.sparse_dense(x, csr(), sparse_lhs=True),
        ((2, 4),),
        note="left",
    ),
    Sample("nn.sparse_dense", lambda x: nn.sparse_dense(x, csr((2, 1))), ((2, 4),), note="blocks"),
    Sample("nn.sparse_add", lambda x: nn.sparse_add(x, csr()), ((3, 4),)),
    Sample("nn.sparse_transpose", lambda: nn.sparse_transpose(square()), ()),
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
            "einsum",
            lambda *x, equation=equation: relay.einsum(x, equation),
            shapes,
            note=equation,
        )
        for equation, *shapes in (
            ("ij,jk->ik", (2, 3), (3, 4)),
            ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)),
            ("...ij,jk->...ik", (2, 2, 3), (3, 4)),
            ("ij,j->i", (2, 3), (3,)),
            ("ij,jk", (2, 3), (3, 4)),
        )
    ],
    Sample("collapse_sum_like", relay.collapse_sum_like, ((2, 3, 4), (3, 1))),
    sourced("collapse_sum_to", "relay.collapse_sum_to(x0, (3, 1))", ((2, 3, 4),)),
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
        "nn.fifo_buffer",
        lambda x, b: nn.fifo_buffer(x, b, 1),
        ((2, 1, 3), (2, 4, 3)),
        note="axis",
    ),
    pool_grad("max", "", (1, 2, 6, 6), (1, 2, 3, 3), pool_size=(2, 2), strides=(2, 2)),
    pool_grad(
        "max",
        "padded",
        (1, 2, 6, 6),
        (1, 2, 3, 3),
        pool_size=(3, 3),
        strides=(2, 2),
        padding=(1, 1),
    ),
    pool_grad(
        "avg",
        "padded",
        (1, 2, 6, 6),
        (1, 2, 3, 3),
        pool_size=(3, 3),
        strides=(2, 2),
        padding=(1, 1),
    ),
    pool_grad(
        "avg",
        "count-padding",
        (1, 2, 6, 6),
        (1, 2, 3, 3),
        pool_size=(3, 3),
        strides=(2, 2),
        padding=(1, 1),
        count_include_pad=True,
    ),
    Sample(
        "nn.conv2d_backward_weight",
        lambda g, x: nn.conv2d_backward_weight(
            g, x, strides=2, padding=1, kernel_size=3, channels=4
        ),
        ((2, 4, 4, 4), (2, 3, 7, 7)),
    ),
    Sample(
        "nn.conv2d_backward_weight",
        lambda g, x: nn.conv2d_backward_weight(g, x, dilation=(1, 2), groups=2, kernel_size=(3, 2)),
        ((2, 4, 5, 5), (2, 4, 7, 7)),
        note="grouped",
    ),
    Sample("annotation.checkpoint", relay.annotation.checkpoint),
]
