"""Layouts such as NCHW16c in NumPy: a reshape splits axes, a transposition permutes, a reshape
joins."""

from __future__ import annotations

import re

import numpy as np

from tests.backends.dnnl.kernels.draws import Draw


def draw(d: Draw) -> tuple[str, str, list[int]]:
    """Two layouts of the same axes, and the shape of data in the first."""
    axes = "NCHWD"[: d.int(1, 4)]
    # If both split an axis, one block size has to divide the other.
    blocks = {a: (d.one_of(1, 1, 2, 4), d.one_of(1, 1, 2, 8)) for a in axes}
    sizes = {a: max(blocks[a]) * d.int(1, 3) for a in axes}
    layouts = []
    for which in (0, 1):
        order = list(axes)
        d.rng.shuffle(order)
        cut = [a for a in order if blocks[a][which] > 1]
        # At most 6 dimensions.
        cut = cut[: 6 - len(axes)]
        layouts.append("".join(order) + "".join(f"{blocks[a][which]}{a.lower()}" for a in cut))
    src, dst = layouts
    shape = [
        sizes[axis] // inner(src).get(axis, 1) if axis.isupper() else inner(src)[axis.upper()]
        for axis in letters(src)
    ]
    return src, dst, shape


def letters(layout: str) -> str:
    return re.sub(r"\d", "", layout)


def inner(layout: str) -> dict[str, int]:
    return {a.upper(): int(n) for n, a in re.findall(r"(\d+)([a-z])", layout)}


def move(array: np.ndarray, src: str, dst: str) -> np.ndarray:
    """Converts through the layout with unsplit axes in alphabetical order."""
    axes = sorted(a for a in src if a.isupper())
    names = letters(src)
    order = [n for a in axes for n in (names.find(a), names.find(a.lower())) if n >= 0]
    sizes = [array.shape[names.index(a)] * inner(src).get(a, 1) for a in axes]
    whole = array.transpose(order).reshape(sizes)
    cut = [
        part
        for a, size in zip(axes, sizes, strict=True)
        for part in ((size // inner(dst)[a], inner(dst)[a]) if a in inner(dst) else (size,))
    ]
    pieces = [piece for a in axes for piece in ((a, a.lower()) if a in inner(dst) else (a,))]
    return whole.reshape(cut).transpose([pieces.index(a) for a in letters(dst)])
