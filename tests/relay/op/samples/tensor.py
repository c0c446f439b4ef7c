"""Sample calls of operators that select, sort and compute element by element."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from tests.relay.op.samples.sample import Sample, Shape, binary, sourced, unary


def indexed(op: str, *shapes: Shape, limit: int, note: str = "", relax: str = "", **attrs: Any):
    """`relay.<op>(data, indices)`, with int32 indices in [0, limit)."""
    build = getattr(relay, op)
    return Sample(
        op,
        lambda x, i: build(x, indices=i, **attrs),
        shapes,
        low=0,
        high=limit,
        dtypes=("float32", "int32"),
        note=note,
        relax=relax,
    )


INDEXING = [
    Sample("strided_slice", lambda x: relay.strided_slice(x, [0, 1], [1, 3]), ((2, 4, 3),)),
    *[
        Sample(
            "strided_slice", lambda x, a=args: relay.strided_slice(x, *a), ((3, 4, 5),), note=note
        )
        for note, args in {
            "short begin": ([1], [4, 3]),
            "short end": ([0, 1, 2], [2]),
            "longer strides": ([2], [0], [-1, 2, -2]),
        }.items()
    ],
    Sample(
        "strided_slice",
        lambda x: relay.strided_slice(x, [-1, 0], [-9, 5], [-2, 2], [1, 0]),
        ((3, 5, 2),),
        note="backwards",
    ),
    Sample(
        "strided_slice",
        lambda x: relay.strided_slice(x, [1, 0], [2, -1], slice_mode="size"),
        ((4, 3),),
        note="size",
    ),
    Sample("slice_like", lambda x, y: relay.slice_like(x, y, (0, 2)), ((4, 3, 5), (2, 9, 4))),
    indexed("take", (3, 4), (2, 5), limit=4, axis=1),
    indexed("take", (3, 4), (5,), limit=12, note="flat"),
    indexed("take", (3, 4, 2), (3, 5), limit=4, axis=1, batch_dims=1, note="batch"),
    indexed("gather", (3, 4), (3, 2), limit=4, axis=1),
    indexed("gather_nd", (3, 4, 5), (2, 6), limit=3),
    indexed("gather_nd", (2, 3, 4), (1, 2, 5), limit=3, batch_dims=1, note="batch"),
    Sample(
        "one_hot",
        lambda i: relay.one_hot(i, relay.const(2.0), relay.const(-1.0), 4, 1, "float32"),
        ((2, 3),),
        low=0,
        high=4,
        dtypes=("int32",),
    ),
    Sample("stack", lambda x, y: relay.stack([x, y], -1), ((2, 3), (2, 3))),
    Sample("tile", lambda x: relay.tile(x, (2, 1, 3))),
    Sample("reshape_like", relay.reshape_like, ((2, 6), (3, 4))),
    Sample(
        "reshape_like",
        lambda x, y: relay.reshape_like(x, y, 1, 2, -2, None),
        ((2, 6, 5), (9, 3, 2)),
        note="part",
    ),
    Sample("shape_of", relay.shape_of),
    Sample("reverse", lambda x: relay.reverse(x, 1)),
    Sample("broadcast_to", lambda x: relay.broadcast_to(x, (4, 2, 3)), ((2, 1),)),
    Sample("broadcast_to_like", relay.broadcast_to_like, ((2, 1), (4, 2, 3))),
    Sample("collapse_sum_like", relay.collapse_sum_like, ((2, 3, 4), (3, 1))),
    Sample("collapse_sum_to", lambda x: relay.collapse_sum_to(x, (2, 1, 4)), ((2, 3, 4),)),
    Sample("collapse_sum_to", lambda x: relay.collapse_sum_to(x, ()), note="to-one-number"),
    Sample("collapse_sum_to", lambda x: relay.collapse_sum_to(x, (2, 3)), note="to-the-same"),
    Sample("full_like", lambda x: relay.full_like(x, relay.const(0.5))),
    Sample("where", relay.where, ((3,), (2, 3), (2, 1)), dtypes=("bool",)),
    Sample("arange", lambda: relay.arange(*map(relay.const, (1, 12, 4)), dtype="int32"), ()),
    Sample("arange", lambda: relay.arange(relay.const(3.0)), (), note="from-zero"),
    Sample(
        "layout_transform", lambda x: relay.layout_transform(x, "NCHW", "NHWC"), ((1, 2, 3, 4),)
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW4c", "NHWC8c"),
        ((1, 4, 2, 3, 4),),
        note="blocked",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW", "NCHW2c"),
        ((1, 4, 2, 3),),
        note="into-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW4c", "NHWC3c"),
        ((1, 2, 2, 3, 4),),
        note="blocks-not-full",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "NCHW8c", "NHWC2c"),
        ((1, 2, 2, 3, 8),),
        note="smaller-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "OIHW", "OHWI2i4o2i"),
        ((8, 8, 3, 2),),
        note="blocks-in-blocks",
    ),
    Sample(
        "layout_transform",
        lambda x: relay.layout_transform(x, "OHWI2i4o4i", "OIHW4i2o2i2o"),
        ((1, 3, 2, 2, 2, 4, 4),),
        note="between-blocks-in-blocks",
    ),
    Sample("cast_like", relay.cast_like, ((2, 3), (1,)), high=9, dtypes=("float32", "int32")),
]


SORTING = [
    Sample("argmax", lambda x: relay.argmax(x, 1), ((3, 4),)),
    Sample("argmax", lambda x: relay.argmax(x, keepdims=True), ((3, 4),), note="all"),
    Sample("argmin", lambda x: relay.argmin(x, 0), ((3, 4),)),
    Sample(
        "argmin",
        lambda x: relay.argmin(x, (0, 2), select_last_index=True),
        ((3, 4, 2),),
        note="last",
    ),
    Sample("all", lambda x: relay.all(x, 1), ((4, 3),), dtypes=("bool",)),
    Sample("any", lambda x: relay.any(x, 0, True), ((4, 3),), dtypes=("bool",)),
    Sample("topk", lambda x: relay.topk(x, 2), ((3, 4),)),
    Sample("topk", lambda x: relay.topk(x, 2, 0, "values", True), ((3, 4),), note="least"),
    Sample("argsort", relay.argsort, ((3, 4),)),
    Sample("argsort", lambda x: relay.argsort(x, 0, False), ((3, 4),), note="falling"),
    Sample("sort", relay.sort, ((3, 4),)),
    sourced("cumsum", "relay.cumsum(x0, 1)", ((3, 4),)),
    sourced("cumsum", "relay.cumsum(x0, exclusive=True)", ((3, 4),), note="exclusive"),
    sourced("cumprod", "relay.cumprod(x0, 0)", ((3, 4),)),
]


INTEGERS = ("int32", "int32")


ELEMENTWISE = [
    *map(unary, ["tan", "atan", "sinh", "cosh", "asinh", "trunc", "fast_exp", "fast_tanh"]),
    *map(unary, ["isnan", "isinf", "isfinite", "fast_erf"]),
    *[unary(n, low=-0.9, high=0.9) for n in ["asin", "acos", "atanh"]],
    *[unary(n, low=1.1) for n in ["acosh", "log2", "log10"]],
    unary("bitwise_not", low=-99, high=99, dtypes=("int32",)),
    *[
        binary(n, low=-99, high=99, dtypes=INTEGERS)
        for n in ["bitwise_and", "bitwise_or", "bitwise_xor"]
    ],
    *[binary(n, low=1, high=9, dtypes=INTEGERS) for n in ["left_shift", "right_shift", "mod"]],
    *[
        binary(n, low=1, high=9, dtypes=INTEGERS)
        for n in ["floor_divide", "floor_mod", "trunc_mod"]
    ],
    binary("trunc_divide", low=1, high=9),
    binary("trunc_divide", low=1, high=9, dtypes=INTEGERS, note="integers"),
    binary("logical_xor", dtypes=("bool", "bool")),
]

TENSOR_SAMPLES = [*INDEXING, *SORTING, *ELEMENTWISE]
