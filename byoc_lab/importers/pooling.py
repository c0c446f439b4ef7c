"""Padding of pooling in ceil mode, by the rule that ONNX Runtime and PyTorch share.

Both leave out a last window that begins in the padding after the data; Relay counts it. Where the
rules differ, importers state the padding that gives the framework's result without ceil mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byoc_lab import relay
from byoc_lab.relay.ir.expr import Expr


def windows(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    """The number of windows in ceil mode, without one that begins after the data."""
    span = (kernel - 1) * dilation + 1
    count = -(-(size + before + after - span) // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def pooled(
    build: Callable[..., Expr], data: Expr, sizes: Sequence[Any], options: Mapping[str, Any]
) -> Expr:
    """`build(data, **options)`; with explicit padding instead of ceil mode if Relay's ceil mode
    gives another result. sizes: the spatial sizes, after batch and channels."""
    after = _after(sizes, options) if options["ceil_mode"] else None
    if after is None:
        return build(data, **options)
    before, stated = _sides(options, len(sizes))
    padding, include = [*before, *after], options.get("count_include_pad", False)
    if include and any(a > s for a, s in zip(after, stated, strict=True)):
        # Explicit padding counts in an average, positions beyond it do not.
        data = relay.nn.pad(data, [(0, 0), (0, 0), *zip(before, stated, strict=True)])
        beyond = [max(a - s, 0) for a, s in zip(after, stated, strict=True)]
        padding, include = [*[0] * len(before), *beyond], False
    changed = {**options, "padding": padding, "ceil_mode": False}
    if "count_include_pad" in options:
        changed["count_include_pad"] = include
    return build(data, **changed)


def _sides(options: Mapping[str, Any], rank: int) -> tuple[list[int], list[int]]:
    pads = list(options["padding"])
    return pads[:rank], pads[-rank:]


def _after(sizes: Sequence[Any], options: Mapping[str, Any]) -> list[int] | None:
    """The padding after each axis; None if ceil mode gives the framework's result as it is."""
    rank, found, differs = len(sizes), [], False
    if not all(isinstance(n, int) for n in sizes):
        return None  # the rules differ for some sizes only, which are known at run time
    before, stated = _sides(options, rank)
    dilations = options.get("dilation", [1] * rank)
    for n, k, s, d, b, a in zip(
        sizes, options["pool_size"], options["strides"], dilations, before, stated, strict=True
    ):
        span, count = (k - 1) * d + 1, windows(n, k, s, d, b, a)
        differs |= count != -(-(n + b + a - span) // s) + 1
        whole = (n + b + a - span) // s + 1
        found.append(a if whole == count else max((count - 1) * s + span - n - b, 0))
    return found if differs else None
