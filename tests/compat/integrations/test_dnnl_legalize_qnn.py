"""TVM's legalized form of quantized chains: results within one of Relay's, and one DNNL kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.compat.integrations.dnnl import LegalizeQnn, legalize_qnn_for_dnnl
from byoc_lab.passes import FoldConstant, MergeComposite
from byoc_lab.relay import IRModule
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate

CHANNELS = 3


def number(value: Any, dtype: str = "float32") -> relay.Expr:
    return relay.const(np.asarray(value, dtype))


def zero(value: int = 0) -> relay.Expr:
    return number(value, "int32")


def chain(
    layout: str = "NCHW",
    point: int = 0,
    padding: int = 0,
    summed: bool = False,
    scale: Any = 0.125,
    dtype: str = "uint8",
    most: int | None = None,
) -> IRModule:
    """product, bias, requantize, clip, cast (, qnn.add, clip to `most`); "NC" is qnn.dense."""
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    rest = (zero(point), zero(), number(0.5), number(0.25))
    if layout == "NC":
        x = relay.var("x", shape=(2, 4), dtype="uint8")
        weight = rng.integers(-9, 9, (CHANNELS, 4)).astype(np.int8)
        made, shape = qnn.dense(x, relay.const(weight), *rest, units=CHANNELS), (CHANNELS,)
    else:
        nchw = layout == "NCHW"
        x = relay.var("x", shape=(1, 4, 5, 5) if nchw else (1, 5, 5, 4), dtype="uint8")
        weight = rng.integers(-9, 9, (CHANNELS, 4, 2, 2)).astype(np.int8)
        weight = weight if nchw else np.ascontiguousarray(weight.transpose(2, 3, 1, 0))
        made = qnn.conv2d(
            x, relay.const(weight), *rest, kernel_size=(2, 2), channels=CHANNELS,
            padding=(padding, padding), data_layout=layout,
            kernel_layout="OIHW" if nchw else "HWIO",
        )  # fmt: skip
        shape = (1, CHANNELS, 1, 1) if nchw else (CHANNELS,)
    made = relay.add(made, relay.const(rng.integers(-50, 50, shape).astype(np.int32)))
    ends = (number(scale), zero(), number(2), zero(7))
    made = qnn.requantize(made, *ends, axis=layout.index("C"), out_dtype="int32")
    low, high = int(limits.min), int(limits.max)
    made = relay.cast(relay.clip(made, a_min=low, a_max=high), dtype=dtype)
    if summed:
        other = relay.var("other", infer_module(IRModule.from_expr(made))["main"].ret_type)
        pairs = (number(0.5), zero(1), number(0.25), zero(2), number(0.75), zero(3))
        total = qnn.add(made, other, *pairs)
        made = relay.clip(total, a_min=low, a_max=high if most is None else most)
    return infer_module(IRModule.from_expr(made))


FORMS = [
    {"padding": 1},
    {"point": 5, "summed": True},
    {"layout": "NHWC", "point": 5, "summed": True},
    {"layout": "NC", "point": 9, "summed": True},
    {"scale": [0.01, 0.1, 0.5]},
    {"layout": "NC", "scale": [0.01, 0.1, 0.5], "dtype": "int8"},
]


@pytest.mark.native
@pytest.mark.parametrize("form", FORMS)
def test_legalized_chain_is_one_kernel_within_one_of_relay(form: dict[str, Any]) -> None:
    before = chain(**form)
    after = legalize_qnn_for_dnnl(before)
    merged = str(MergeComposite(dnnl.pattern_table())(after))
    name = "dnnl.qnn.dense" if form.get("layout") == "NC" else "dnnl.qnn.conv2d"
    assert merged.count(f'Composite="{name}"') == 1
    assert "qnn.requantize" not in merged
    rng = np.random.default_rng(1)
    params = before["main"].params
    inputs = []
    for p in params:
        limits = np.iinfo(p.checked_type.dtype)
        shape = p.checked_type.concrete_shape
        inputs.append(rng.integers(limits.min, limits.max, shape, dtype=p.checked_type.dtype))
    wanted = evaluate(before, inputs).value
    assert len(np.unique(wanted)) > 3
    (got,) = dnnl.compile_region(after["main"], "r")(*inputs)
    assert got.dtype == wanted.dtype
    assert np.abs(got.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(
    "form", [{"point": 5, "padding": 1}, {"summed": True, "most": 100}], ids=["border", "clip"]
)
def test_chain_that_the_legalized_form_cannot_express_is_left_alone(form: dict[str, Any]) -> None:
    before = chain(**form)
    assert relay.structural_equal(legalize_qnn_for_dnnl(before), before)


@pytest.mark.parametrize("legalized", [False, True])
def test_partitioning_after_the_legalization_keeps_the_legalized_form(legalized: bool) -> None:
    before = chain("NHWC", point=5, summed=True)
    passes = [LegalizeQnn(), FoldConstant()] if legalized else []
    parted = dnnl.partition_for_dnnl(before, before_cutting=passes)
    text = str(parted)
    assert ("qnn.requantize" in text) != legalized
    assert text.count('Composite="dnnl.qnn.conv2d') == 1
    rng = np.random.default_rng(2)
    types = [p.checked_type for p in before["main"].params]
    inputs = [rng.integers(0, 256, t.concrete_shape, dtype="uint8") for t in types]
    wanted = evaluate(before, inputs).value
    off = np.abs(evaluate(parted, inputs).value.astype(int) - wanted)
    assert off.max() <= (1 if legalized else 0) and off.any() == legalized
