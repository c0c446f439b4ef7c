"""Sample calls of operators that use indices: scatters, sequences, grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Constant
from tests.relay.op.samples.sample import Sample, Shape, sourced


def whole(*values: int, dtype: str = "int64") -> Constant:
    return relay.const(np.array(values, dtype))


def scatter(note: str, data: Shape, indices: Shape, limit: int, attrs: str = "") -> Sample:
    return sourced(
        "scatter_elements",
        f"relay.scatter_elements(x0, x1, x2{attrs})",
        (data, indices, indices),
        dtypes=("float32", "int64"),
        ranges=((-2, 2), (0, limit)),
        note=note,
    )


def scatter_nd(note: str, data: Shape, indices: Shape, updates: Shape, mode: str) -> Sample:
    return sourced(
        "scatter_nd",
        f"relay.scatter_nd(x0, x1, x2, {mode!r})",
        (data, indices, updates),
        dtypes=("float32", "int64"),
        ranges=((-2, 2), (0, 3)),
        note=note,
    )


def lengths(op: str, note: str, data: Shape, count: int, limit: int, **attrs: Any) -> Sample:
    build = getattr(relay, op)
    return Sample(
        op,
        lambda x, n: build(x, n, **attrs),
        (data, (count,)),
        dtypes=("float32", "int32"),
        ranges=((-2, 2), (1, limit)),
        note=note,
    )


def diagonal(note: str, data: Shape, values: Shape, **attrs: Any) -> Sample:
    build = relay.matrix_set_diag
    return Sample("matrix_set_diag", lambda x, d: build(x, d, **attrs), (data, values), note=note)


INDEX_SAMPLES = [
    scatter("", (3, 4), (1, 4), 3),
    scatter("axis", (3, 4), (3, 1), 4, ", axis=-1"),
    *[
        scatter(f"{r}", (3, 4), (2, 3), 3, f", reduction={r!r}")
        for r in ("add", "mul", "min", "max", "mean")
    ],
    scatter_nd("", (3, 4, 5), (2, 1), (1, 5), "update"),
    *[scatter_nd(r, (3, 4, 5), (1, 6), (6, 4, 5), r) for r in ("add", "mul", "min", "max")],
    Sample(
        "strided_set",
        lambda x, v: relay.strided_set(x, v, (1, 0), (4, 4), (2, 3)),
        ((5, 4), (2, 2)),
    ),
    Sample(
        "strided_set",
        lambda x, v: relay.strided_set(x, v, (3,), (0,), (-1,)),
        ((5, 4), (3, 4)),
        note="back",
    ),
    sourced("trilu", "relay.trilu(x0, 1)", ((2, 4, 5),), note="upper"),
    sourced("trilu", "relay.trilu(x0, -1, upper=False)", ((2, 4, 5),), note="lower"),
    diagonal("", (2, 3, 4), (2, 3)),
    diagonal("above", (2, 3, 4), (2, 2), k=2),
    *[
        diagonal(align, (2, 3, 4), (2, 4, 3), k=(-1, 2), align=align)
        for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
    ],
    lengths("sequence_mask", "", (4, 3, 2), 3, 5, mask_value=0.5),
    lengths("sequence_mask", "axis", (3, 4), 3, 5, axis=1),
    lengths("reverse_sequence", "", (3, 5, 2), 3, 6),
    lengths("reverse_sequence", "axes", (5, 3, 4), 4, 6, seq_axis=0, batch_axis=2),
    Sample("sliding_window", lambda x: relay.sliding_window(x, 1, (2, 3), (1, 2)), ((2, 5, 6),)),
    Sample("meshgrid", lambda x, y: relay.meshgrid([x, y]), ((3,), (4,))),
    Sample(
        "meshgrid",
        lambda x, y, z: relay.meshgrid([x, y, z], indexing="xy"),
        ((3,), (4,), (2,)),
        note="xy",
    ),
    Sample(
        "searchsorted",
        lambda v: relay.searchsorted(relay.const(np.array([-1, 0, 0, 1.5], "float32")), v),
        ((2, 3),),
    ),
    Sample(
        "searchsorted",
        lambda v: relay.searchsorted(
            relay.const(np.array([[-1, 0, 0, 1], [0, 1, 2, 3]], "int32")), v, True, "int64"
        ),
        ((2, 5),),
        dtypes=("int32",),
        note="rows-right",
    ),
    Sample(
        "unravel_index",
        lambda i: relay.unravel_index(i, whole(3, 4)),
        ((5,),),
        high=12,
        low=0,
        dtypes=("int64",),
    ),
    Sample("invert_permutation", lambda: relay.invert_permutation(whole(2, 0, 3, 1)), ()),
    Sample(
        "adv_index",
        lambda x, i, j: relay.adv_index([x, i, j]),
        ((3, 4, 2), (2, 1), (5,)),
        dtypes=("float32", "int64", "int64"),
        ranges=((-2, 2), (0, 3), (0, 4)),
    ),
]
