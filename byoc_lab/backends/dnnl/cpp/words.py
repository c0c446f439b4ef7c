"""C++ fragments that `cpp_source` combines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.errors import BuildError

ELTWISE = {"sigmoid": "logistic", "gelu": "gelu_erf", "softplus": "soft_relu",
           "hard_swish": "hardswish", "hard_sigmoid": "hardsigmoid"}  # fmt: skip


def family(kind: str) -> str:
    """The family of an operation kind: "conv", "pool", "resample"; other kinds are their own
    family."""
    if kind.startswith("conv"):
        return "conv"
    if "_pool" in kind:
        return "pool"
    return "resample" if kind.startswith("resample") else kind


def attributes(op: dict[str, Any]) -> str:
    """The attributes of a product: its post-ops, and whether its data has a zero point."""
    return "with(ops, true)" if op["attrs"].get("data_zero_point") else "with(ops)"


def zero_point(op: dict[str, Any]) -> list[str]:
    zero = op["attrs"].get("data_zero_point", 0)
    return [f"{{DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, number({zero})}}"] if zero else []


def dims(values: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def padded(shape: Sequence[int], rank: int) -> list[int]:
    return [*[1] * (rank - len(shape)), *shape]


def number(value: float) -> str:
    text = repr(float(value))
    return f"{text}f"


def eltwise(entry: dict[str, Any]) -> str:
    alg = ELTWISE.get(entry["alg"], entry["alg"])
    parameters = ", ".join(number(entry.get(name, 0.0)) for name in ("alpha", "beta"))
    return f"algorithm::eltwise_{alg}, {parameters}"


def binary(entry: dict[str, Any]) -> str:
    if entry.get("kind") == "sum" and entry.get("scale", 1.0) != 1.0:
        raise BuildError("no C++ is generated for a sum post-op with a scale other than 1")
    return f"algorithm::binary_{entry.get('alg', 'add')}"


def window(attrs: dict[str, Any], axes: int) -> tuple[list[int], ...]:
    """The strides, the gaps between kernel elements, and the padding before and after."""
    pads = attrs.get("padding", [0] * 2 * axes)
    gaps = [d - 1 for d in attrs.get("dilation", [1] * axes)]
    return attrs.get("strides", [1] * axes), gaps, pads[:axes], pads[axes:]
