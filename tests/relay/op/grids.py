"""Combinations of attributes: values for each attribute of an operator, and all their products.

`test_relax.py` runs the combinations that the type relation accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule, image, nn
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.samples.sample import Sample, Shape


@dataclass(frozen=True)
class Grid:
    """`build(*vars, **attrs)` for every combination of `attrs`.

    shapes: of the arguments, or a function from attributes to shapes. least: the minimum number of
    accepted combinations, so that an invalid grid fails. refused: the message for combinations that
    Relax does not support; empty: there are none.
    """

    op: str
    build: Callable[..., Any]
    shapes: Any
    attrs: dict[str, Sequence[Any]]
    least: int
    note: str = ""
    dtypes: Sequence[str] = ()
    ranges: Sequence[tuple[float, float]] = ()
    refused: str = ""

    @property
    def label(self) -> str:
        return f"{self.op}{'-' if self.note else ''}{self.note}"

    def accepted(self) -> dict[str, Sample]:
        """The accepted combinations, by names for Relax functions."""
        found = {}
        for n, values in enumerate(product(*self.attrs.values())):
            attrs = dict(zip(self.attrs, values, strict=True))
            shapes = self.shapes(**attrs) if callable(self.shapes) else self.shapes
            sample = Sample(
                self.op,
                lambda *args, attrs=attrs: self.build(*args, **attrs),
                shapes,
                dtypes=self.dtypes,
                ranges=self.ranges,
            )
            try:
                infer_module(IRModule.from_expr(sample.function()))
            except ByocLabError:
                continue
            found[f"f{n}"] = sample
        return found


def laid(shape: Shape, layout: str, plain: str) -> Shape:
    """A shape given as `plain`, converted to another layout."""
    return tuple(shape[plain.index(axis)] for axis in layout)


def conv2d(data_layout: str, kernel_layout: str, groups: int, **more: Any) -> list[Shape]:
    weight = (4, 4 // groups, 3, 2)
    if (
        kernel_layout == "HWOI" and groups == 4
    ):  # for a depthwise kernel, O counts inputs: see `depthwise_swap`
        weight = (4, 1, 3, 2)
    return [laid((1, 4, 6, 7), data_layout, "NCHW"), laid(weight, kernel_layout, "OIHW")]


def conv2d_transpose(data_layout: str, kernel_layout: str, groups: int, **more: Any) -> list[Shape]:
    weight = laid((4, 4 // groups, 3, 2), kernel_layout, "IOHW")
    return [laid((1, 4, 5, 6), data_layout, "NCHW"), weight]


def pooled(layout: str, **more: Any) -> list[Shape]:
    return [laid((1, 2, 7, 8), layout, "NCHW")]


BOTH = (False, True)
AXES = (None, 1, (0, 2), (-1,), ())
GRIDS = [
    Grid(
        "nn.conv2d",
        nn.conv2d,
        conv2d,
        {
            "data_layout": ("NCHW", "NHWC"),
            "kernel_layout": ("OIHW", "HWIO", "HWOI", "OHWI"),
            "groups": (1, 2, 4),
            "strides": ((1, 1), (2, 1)),
            "padding": (0, (1, 0, 2, 1)),
            "dilation": ((1, 1), (1, 2)),
        },
        150,
    ),
    Grid(
        "nn.conv2d_transpose",
        nn.conv2d_transpose,
        conv2d_transpose,
        {
            "data_layout": ("NCHW",),
            "kernel_layout": ("IOHW",),
            "groups": (1, 2),
            "strides": ((1, 1), (2, 3)),
            "padding": ((0, 0), (1, 0)),
            "output_padding": ((0, 0), (1, 1)),
        },
        10,
        refused="output padding less than the strides",
    ),
    *[
        Grid(
            f"nn.{kind}_pool2d",
            getattr(nn, f"{kind}_pool2d"),
            pooled,
            {
                "layout": ("NCHW", "NHWC"),
                "pool_size": ((2, 3),),
                "strides": ((1, 1), (2, 2)),
                "dilation": ((1, 1), (2, 1)),
                "padding": ((0, 0), (1, 0, 0, 1)),
                "ceil_mode": BOTH,
                **({"count_include_pad": BOTH} if kind == "avg" else {}),
            },
            30,
        )
        for kind in ("max", "avg")
    ],
    *[
        Grid(
            f"nn.adaptive_{kind}_pool2d",
            getattr(nn, f"adaptive_{kind}_pool2d"),
            pooled,
            {"layout": ("NCHW", "NHWC"), "output_size": (None, 1, (3, 5), (7, 1))},
            6,
        )
        for kind in ("max", "avg")
    ],
    *[
        Grid(
            op,
            getattr(relay, op),
            ((2, 3, 4),),
            {"axis": AXES, "keepdims": BOTH, "exclude": BOTH},
            16,
        )
        for op in ("sum", "mean", "max", "prod", "variance")
    ],
    *[
        Grid(
            op,
            getattr(relay, op),
            ((2, 3, 4),),
            {"axis": AXES, "keepdims": BOTH, "exclude": BOTH, "select_last_index": BOTH},
            24,
            dtypes=("int32",),
        )
        for op in ("argmax", "argmin")
    ],
    Grid(
        "take",
        relay.take,
        ((3, 4, 5), (3, 2)),
        {"axis": (None, 0, 1, 2), "batch_dims": (0, 1), "mode": ("clip", "wrap")},
        10,
        dtypes=("float32", "int32"),
        ranges=((-2, 2), (0, 7)),
    ),
    Grid(
        "strided_slice",
        relay.strided_slice,
        ((5, 6),),
        {
            "begin": ([0, 1], [-4, 5]),
            "end": ([4, 6], [-1, 0]),
            "strides": ([1], [2, 1], [1, -1], [-2, -1]),
            "axes": (None, [1, 0]),
        },
        20,
    ),
    Grid(
        "image.resize2d",
        image.resize2d,
        lambda layout, **more: [laid((1, 2, 4, 5), layout, "NCHW")],
        {
            "size": ((7, 3),),
            "layout": ("NCHW", "NHWC"),
            "method": ("nearest_neighbor", "linear", "cubic"),
            "coordinate_transformation_mode": (
                "half_pixel",
                "align_corners",
                "asymmetric",
                "pytorch_half_pixel",
                "tf_half_pixel_for_nn",
            ),
        },
        30,
    ),
    Grid(
        "image.resize2d",
        image.resize2d,
        ((1, 2, 4, 5),),
        {
            "size": ((7, 3),),
            "method": ("nearest_neighbor",),
            "coordinate_transformation_mode": ("half_pixel", "align_corners", "asymmetric"),
            "rounding_method": ("", "round", "floor", "ceil"),
        },
        12,
        note="rounding",
    ),
    Grid("nn.softmax", nn.softmax, ((2, 3, 4),), {"axis": (-1, 0, 1, 2)}, 4),
    Grid(
        "nn.batch_matmul",
        nn.batch_matmul,
        lambda transpose_a, transpose_b: [
            (2, 4, 3) if transpose_a else (2, 3, 4),
            (1, 5, 4) if transpose_b else (1, 4, 5),
        ],
        {"transpose_a": BOTH, "transpose_b": BOTH},
        4,
    ),
    Grid(
        "split",
        relay.split,
        ((4, 6),),
        {"indices_or_sections": (2, (1, 3), (2,)), "axis": (0, 1, -1)},
        9,
    ),
]
