"""matrix_set_diag: replaces diagonals of matrices.

Source: `MatrixSetDiagRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integer
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, differ, dim, fail, tensors
from byoc_lab.relay.op.framework.relax_types import by_topi

DIAGONAL = "matrix_set_diag"


def set_diagonal_relation(attrs: AnyValue, data: Type | None, diagonal: Type | None) -> Types:
    """data (..., H, W) and diagonal (..., k2 - k1 + 1, longest); for a single diagonal, without the
    axis k2 - k1 + 1."""
    x, d = tensors(DIAGONAL, "data diagonal", data, diagonal)
    if attrs.k2 < attrs.k1:
        fail(DIAGONAL, f"attribute k2={attrs.k2} must not be less than k1={attrs.k1}")
    if x is None or d is None:
        return x, d, x
    rank = len(x.shape)
    if rank < 2 or len(d.shape) != rank - (attrs.k1 == attrs.k2):
        fail(DIAGONAL, f"diagonal must fit data {x} and k={attrs.k1} to {attrs.k2}, found {d}")
    height, width = x.shape[-2:]
    if not isinstance(height, Unknown) and not isinstance(width, Unknown):
        for name in ("k1", "k2"):
            if height and width and not -height < attrs[name] < width:
                wrong = attrs[name]
                fail(DIAGONAL, f"attribute {name}={wrong} is not a diagonal of {height} x {width}")
    longest = dim(lambda h, w: min(h + min(attrs.k2, 0), w - max(attrs.k1, 0)), height, width)
    wanted = (*x.shape[:-2], *([] if attrs.k1 == attrs.k2 else [attrs.k2 - attrs.k1 + 1]), longest)
    if any(differ(a, b) for a, b in zip(d.shape, wanted, strict=True)):
        fail(DIAGONAL, f"diagonal must have the shape {wanted} for data {x}, found {d}")
    return x, d, x


def set_diagonal_reference(attrs: AnyValue, x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """A diagonal shorter than the longest is aligned to the right or left end of its row."""
    out = x.copy()
    rows = diagonal[..., None, :] if attrs.k1 == attrs.k2 else diagonal
    height, width = x.shape[-2:]
    for n, k in enumerate(range(attrs.k2, attrs.k1 - 1, -1)):
        length = min(height + min(k, 0), width - max(k, 0))
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        first = rows.shape[-1] - length if right else 0
        at = np.arange(length)
        out[..., at + max(-k, 0), at + max(k, 0)] = rows[..., n, first : first + length]
    return out


def _diagonals(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
    """Derives the attributes from `k` and `align`."""
    k, align = values["k"], values["align"]
    ends = (k,) if isinstance(k, int) else k
    return {
        **values,
        "k1": ends[0],
        "k2": ends[-1],
        "super_diag_right_align": align[:5] == "RIGHT",
        "sub_diag_right_align": align[-5:] == "RIGHT",
    }


define_op(
    DIAGONAL,
    "data diagonal",
    set_diagonal_relation,
    reference=set_diagonal_reference,
    attrs=AttrsType(
        "relay.attrs.MatrixSetDiagAttrs",
        (
            Attr("k1", integer, 0, "lowest diagonal that is set; 0 is the main one"),
            Attr("k2", integer, 0, "highest diagonal that is set"),
            Attr(
                "super_diag_right_align",
                boolean,
                True,
                "whether short upper diagonals are right-aligned",
            ),
            Attr(
                "sub_diag_right_align",
                boolean,
                False,
                "whether short lower diagonals are right-aligned",
            ),
        ),
    ),
    relax=lambda R, attrs, x, d: by_topi(
        "matrix_set_diag",
        x,
        d,
        (attrs.k1, attrs.k2),
        f"{'RIGHT' if attrs.super_diag_right_align else 'LEFT'}_"
        f"{'RIGHT' if attrs.sub_diag_right_align else 'LEFT'}",
    ),
    pattern=OpPattern.INJECTIVE,
    parameters="data diagonal k align",
    defaults={"k": 0, "align": "RIGHT_LEFT"},
    normalize=_diagonals,
    doc="Matrices with diagonals k (one, or the lowest and highest) replaced by diagonal; align "
    "aligns short upper and lower ones: RIGHT_LEFT, LEFT_LEFT, ...",
)
