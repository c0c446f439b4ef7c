"""Poolings; formulas in native/src/ops/pool.cc."""

from __future__ import annotations

from typing import Any

from byoc_lab.dnnl.kernels.running import Ints, PostOps, repeat, run, window


def _pool(
    name: str,
    axes: int,
    data: Any,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    out: Any,
    post_ops: PostOps,
    **more: bool,
) -> Any:
    attrs = {
        "pool_size": repeat(pool_size, axes),
        **window(strides, padding, dilation, axes),
        **more,
    }
    return run(name, name, {"data": data}, attrs, out, post_ops)


def max_pool1d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Largest element of each window of data (N, C, W): as `max_pool2d`.

    padding: one number, one for each axis, or (before, behind).
    """
    return _pool("max_pool1d", 1, data, pool_size, strides, padding, dilation, out, post_ops)


def avg_pool1d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    count_include_pad: bool = False,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Mean of each window of data (N, C, W): as `avg_pool2d`.

    padding: one number, one for each axis, or (before, behind).
    """
    return _pool(
        "avg_pool1d",
        1,
        data,
        pool_size,
        strides,
        padding,
        dilation,
        out,
        post_ops,
        count_include_pad=count_include_pad,
    )


def global_max_pool1d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Largest element of each channel of data (N, C, W), whose spatial axes become 1."""
    return run("global_max_pool1d", "global_max_pool1d", {"data": data}, {}, out, post_ops)


def global_avg_pool1d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Mean of each channel of data (N, C, W), whose spatial axes become 1."""
    return run("global_avg_pool1d", "global_avg_pool1d", {"data": data}, {}, out, post_ops)


def max_pool2d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Largest element of each window of data (N, C, H, W); padding is never the largest.

    Arguments and result's shape as for `conv2d`, with pool_size (height, width) for the window.
    Each padding must be smaller than the window, so that no window is empty.
    """
    return _pool("max_pool2d", 2, data, pool_size, strides, padding, dilation, out, post_ops)


def avg_pool2d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    count_include_pad: bool = False,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Mean of each window of data (N, C, H, W), over padded zeros too if count_include_pad.

    Arguments as for `max_pool2d`.
    """
    return _pool(
        "avg_pool2d",
        2,
        data,
        pool_size,
        strides,
        padding,
        dilation,
        out,
        post_ops,
        count_include_pad=count_include_pad,
    )


def global_max_pool2d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Largest element of each channel of data (N, C, H, W), whose spatial axes become 1."""
    return run("global_max_pool2d", "global_max_pool2d", {"data": data}, {}, out, post_ops)


def global_avg_pool2d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Mean of each channel of data (N, C, H, W), whose spatial axes become 1."""
    return run("global_avg_pool2d", "global_avg_pool2d", {"data": data}, {}, out, post_ops)


def max_pool3d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Largest element of each window of data (N, C, D, H, W): as `max_pool2d`.

    padding: one number, one for each axis, or (front, top, left, back, bottom, right).
    """
    return _pool("max_pool3d", 3, data, pool_size, strides, padding, dilation, out, post_ops)


def avg_pool3d(
    data: Any,
    pool_size: Ints,
    *,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    count_include_pad: bool = False,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """Mean of each window of data (N, C, D, H, W): as `avg_pool2d`.

    padding: one number, one for each axis, or (front, top, left, back, bottom, right).
    """
    return _pool(
        "avg_pool3d",
        3,
        data,
        pool_size,
        strides,
        padding,
        dilation,
        out,
        post_ops,
        count_include_pad=count_include_pad,
    )


def global_max_pool3d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Largest element of each channel of data (N, C, D, H, W), whose spatial axes become 1."""
    return run("global_max_pool3d", "global_max_pool3d", {"data": data}, {}, out, post_ops)


def global_avg_pool3d(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """Mean of each channel of data (N, C, D, H, W), whose spatial axes become 1."""
    return run("global_avg_pool3d", "global_avg_pool3d", {"data": data}, {}, out, post_ops)
