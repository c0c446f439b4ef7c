"""Convolutions and pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pooling import (
    adaptive_positions,
    pooled,
    positions_of_maxima,
    sliding_positions,
    whole_window_means,
)
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node, pair
from byoc_lab.relay.ir.expr import Constant, Expr

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _unbatched(node: Node, name: str, dimensions: int) -> None:
    if node.rank(name) != dimensions + 2:
        node.fail(
            f"data must have {dimensions + 2} dimensions, found {node.rank(name)}; add a batch"
        )


def _biased(node: Node, found: Expr) -> Expr:
    return found if node["bias"] is None else relay.nn.bias_add(found, node["bias"])


@converts(*(f"conv{n}d.{kind}" for n in (1, 2, 3) for kind in ("default", "padding")))
def conv(node: Node) -> Any:
    shape = node.static("weight")
    count = len(shape) - 2
    _unbatched(node, "input", count)
    strides, dilation = (pair(node[n], count) for n in ("stride", "dilation"))
    padding = node["padding"]
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            node.fail(f"padding {padding!r:.40} does not exist")
        totals = [d * (k - 1) for d, k in zip(dilation, shape[2:], strict=True)]
        before = [t // 2 for t in totals]
        after = [t - b for t, b in zip(totals, before, strict=True)]
        padding = [*before, *after] if padding == "same" else [0] * count
    return _convolved(node, "input", strides, padding, dilation, node["groups"])


@converts("convolution.default")
def convolution(node: Node) -> Any:
    count = node.rank("weight") - 2
    _unbatched(node, "input", count)
    strides, padding, dilation = (pair(node[n], count) for n in ("stride", "padding", "dilation"))
    if node["transposed"]:
        return _transposed(node, strides, padding, dilation, pair(node["output_padding"], count))
    return _convolved(node, "input", strides, padding, dilation, node["groups"])


def _convolved(
    node: Node, name: str, strides: Any, padding: Any, dilation: Any, groups: int
) -> Expr:
    shape = node.static("weight")
    count = len(shape) - 2
    padding = pair(padding, count) if len(flat_list(padding)) < 2 * count else list(padding)
    found = getattr(relay.nn, f"conv{count}d")(
        node[name], node["weight"], strides=strides, padding=padding, dilation=dilation,
        groups=groups, channels=shape[0], kernel_size=list(shape[2:]),
    )  # fmt: skip
    return _biased(node, found)


def flat_list(value: Any) -> list[Any]:
    """A list; a single number becomes a list of one."""
    return [value] if isinstance(value, int) else list(value)


@converts("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(node: Node) -> Any:
    count = node.rank("weight") - 2
    _unbatched(node, "input", count)
    options = (pair(node[n], count) for n in ("stride", "padding", "dilation", "output_padding"))
    return _transposed(node, *options)


def _transposed(node: Node, strides: Any, padding: Any, dilation: Any, extra: Any) -> Expr:
    shape, groups = node.static("weight"), node["groups"]
    count = len(shape) - 2
    found = getattr(relay.nn, f"conv{count}d_transpose")(
        node["input"], node["weight"], strides=strides, padding=padding, output_padding=extra,
        dilation=dilation, groups=groups, channels=shape[1] * groups, kernel_size=list(shape[2:]),
        kernel_layout={1: "IOW", 2: "IOHW", 3: "IODHW"}[count],
    )  # fmt: skip
    return _biased(node, found)


def _window(node: Node, count: int) -> dict[str, Any]:
    kernel = pair(node["kernel_size"], count)
    stride = node["stride"]
    return {
        "pool_size": kernel,
        "strides": pair(stride, count) if stride not in (None, []) else kernel,
        "padding": pair(node["padding"], count),
        "layout": LAYOUTS[count],
        "ceil_mode": bool(node["ceil_mode"]),
    }


@converts(
    *(f"max_pool{n}d.default" for n in (1, 2, 3)),
    *(f"max_pool{n}d_with_indices.default" for n in (2, 3)),
)
def max_pool(node: Node) -> Any:
    count = int(node.overload[8])
    _unbatched(node, "self", count)
    build = getattr(relay.nn, f"max_pool{count}d")
    options = {**_window(node, count), "dilation": pair(node["dilation"], count)}
    found = pooled(build, node["self"], node.shape("self")[2:], options)
    if not node.overload.endswith("indices"):
        return found
    if not node.reads(1):
        return found, None
    names = ("pool_size", "strides", "dilation", "padding", "padding")
    windows = zip(_planes(node), *(options[name] for name in names), strict=True)
    axes = [sliding_positions(*window, ceil=options["ceil_mode"]) for window in windows]
    return found, positions_of_maxima(node["self"], node.shape("self"), axes)


def _planes(node: Node) -> tuple[int, ...]:
    """The plane sizes of the data, which are needed for the positions of maxima."""
    _, *sizes = node.shape("self")
    if not all(isinstance(n, int) for n in sizes):
        node.fail(
            f"indices of maxima need static sizes but for the batch, found {node.shape('self')}; "
            f"export with static sizes"
        )
    return tuple(sizes[1:])


@converts(*(f"avg_pool{n}d.default" for n in (1, 2, 3)))
def avg_pool(node: Node) -> Any:
    count = int(node.overload[8])
    _unbatched(node, "self", count)
    build, sizes = getattr(relay.nn, f"avg_pool{count}d"), node.shape("self")[2:]
    options = {**_window(node, count), "count_include_pad": bool(node["count_include_pad"])}
    divisor = node["divisor_override"] if count > 1 else None
    if divisor is None:
        return pooled(build, node["self"], sizes, options)
    if options["ceil_mode"] and not all(isinstance(n, int) for n in sizes):
        node.fail(
            f"divisor_override in ceil mode needs static sizes but for the batch, found "
            f"{node.shape('self')}; export with static sizes"
        )
    means = whole_window_means(build, node["self"], sizes, options)
    ratio = math.prod(options["pool_size"]) / divisor
    return means * Constant(np.asarray(ratio, node.result_dtype))


@converts(*(f"adaptive_{k}_pool{n}d.default" for k in ("avg", "max") for n in (1, 2, 3)))
def adaptive_pool(node: Node) -> Any:
    """Two-dimensional pooling to size 1 becomes global pooling."""
    kind, count = node.overload[9:12], int(node.overload[17])
    _unbatched(node, "self", count)
    lengths = node.shape("self")[2:]
    size = node["output_size"]
    wanted = [n if w is None else w for n, w in zip(lengths, flat_list(size) * count, strict=False)]
    if count == 2 and wanted == [1, 1]:
        found = getattr(relay.nn, f"global_{kind}_pool2d")(node["self"])
    else:
        found = getattr(relay.nn, f"adaptive_{kind}_pool{count}d")(node["self"], tuple(wanted))
    if kind == "avg":
        return found
    if not node.reads(1):
        return found, None
    axes = [adaptive_positions(n, w) for n, w in zip(_planes(node), wanted, strict=True)]
    return found, positions_of_maxima(node["self"], node.shape("self"), axes)
