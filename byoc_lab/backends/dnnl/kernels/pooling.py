"""Poolings; formulas in native/src/ops/pool.cc. One definition serves all numbers of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.backends.dnnl.kernels.running import (
    DATA,
    SIDES,
    Ints,
    PostOps,
    named,
    repeat,
    run,
    window,
)


def _max_pool(axes: int) -> Callable[..., Any]:
    name = f"max_pool{axes}d"

    def max_pool(
        data: Any,
        pool_size: Ints,
        *,
        strides: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        post_ops: PostOps = (),
        out: Any = None,
    ) -> Any:
        attrs = {
            "pool_size": repeat(pool_size, axes),
            **window(strides, padding, dilation, axes),
        }
        return run(name, name, {"data": data}, attrs, out, post_ops)

    return named(
        max_pool,
        name,
        f"""Largest element of each window of data {DATA[axes]}; padding is never the largest.

        pool_size, strides and dilation: one number, or one for each axis. padding: one number, one
        for each axis, or {SIDES[axes]}, each smaller than the window. If a dilated window contains
        only padding, its result is the smallest number of the dtype. The result has the shape of a
        convolution's result.
        """,
    )


def _avg_pool(axes: int) -> Callable[..., Any]:
    name = f"avg_pool{axes}d"

    def avg_pool(
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
        attrs = {
            "pool_size": repeat(pool_size, axes),
            **window(strides, padding, dilation, axes),
            "count_include_pad": count_include_pad,
        }
        return run(name, name, {"data": data}, attrs, out, post_ops)

    return named(
        avg_pool,
        name,
        f"""Mean of each window of data {DATA[axes]}, padded zeros too if count_include_pad.

        Arguments as for `max_pool{axes}d`.
        """,
    )


def _global_pool(alg: str, what: str, axes: int) -> Callable[..., Any]:
    name = f"global_{alg}_pool{axes}d"

    def global_pool(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
        return run(name, name, {"data": data}, {}, out, post_ops)

    return named(
        global_pool,
        name,
        f"{what} of each channel of data {DATA[axes]}, whose spatial axes become 1.",
    )


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
global_max_pool1d, global_max_pool2d, global_max_pool3d = (
    _global_pool("max", "Largest element", axes) for axes in (1, 2, 3)
)
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (
    _global_pool("avg", "Mean", axes) for axes in (1, 2, 3)
)
