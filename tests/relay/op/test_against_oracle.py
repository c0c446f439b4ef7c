"""Every sample call: TVM 0.16 reads it, infers the same types, and computes the same results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab.relay import IRModule, parse, structural_equal
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.once import once
from tests.parity.client import Oracle, skip_reason
from tests.parity.facts.values import tvm_typed, tvm_values
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample

pytestmark = pytest.mark.oracle

# Samples for which the two differ, with reasons.
DIFFERENT = {"nn.conv1d-grouped": "TVM 0.16 refuses a typed weight of a grouped conv1d"}
# Without metadata TVM prints a device in a form that its own parser rejects.
PRINTED_OTHERWISE = {"on_device", "device_copy"}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    if found is None:
        pytest.skip(skip_reason() or "the oracle does not start")
    with found:
        yield found


@pytest.fixture(scope="module")
def typed_sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """TVM's printed text of the samples given as Python text."""
    sourced = [s for s in SAMPLES if s.source]
    calls = [(s.source, s.data()) for s in sourced]
    texts = once(tmp_path_factory, "typed-samples", lambda _: tvm_typed(calls))
    return dict(zip([s.label for s in sourced], texts, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.label)
def test_tvm_reads_the_call_and_infers_the_same_types(
    sample: Sample, oracle: Oracle, typed_sources: dict[str, str]
) -> None:
    if sample.label in DIFFERENT:
        pytest.skip(DIFFERENT[sample.label])
    mod = IRModule.from_expr(sample.function())
    if sample.source:
        text = typed_sources[sample.label]
        assert text.strip() == infer_module(mod).astext(show_meta_data=False).strip()
        return
    results = oracle.run(mod.astext(for_tvm=True), ["InferType"])
    assert results[-1].error is None, results[-1].error
    typed = infer_module(mod)
    if sample.op in PRINTED_OTHERWISE:
        assert structural_equal(parse(results[-1].text), typed)
    else:
        assert results[-1].bare.strip() == typed.astext(show_meta_data=False).strip()


# Calls that TVM 0.16 does not run on a CPU, and the beginning of its message.
NOT_RUN = {
    "nn.dropout": "nn.dropout doesn't have an FTVMStrategy",
    "nn.dense-rank3": "too many values to unpack",
    "annotation.compiler_begin": "annotation.compiler_begin doesn't have",
    "annotation.compiler_end": "annotation.compiler_end doesn't have",
    "nn.conv1d-grouped": "InternalError: Check failed: (reporter->AssertEQ",
    "nn.conv2d_transpose-dilated": "not support dilate now",
    "qnn.contrib_dense_pack": "TVMError: Canonicalization function",
    "device_copy": "TVMError: No target is specified for device type 2",
    "vision.multibox_prior": "Expect value to be constant float",
    "vision.proposal": "Expect value to be constant float",
    "vision.roi_pool-nhwc": "only support nchw for now",
    "nn.conv2d-blocks-in-blocks": "TVM crashed",
    "nn.lrn-even": "InternalError: Check failed: size % 2 == 1",
    "nn.deformable_conv2d-groups": "deformable_conv2d_nchw does not support groups > 1",
    # TVM assumes an int32 result, and reports at run time that the dtype differs.
    **{
        f"nn.avg_pool{n}d-{dtype}": "TVMError: Assert fail: T.tvm_struct_get(pool_avg"
        for n in (1, 2)
        for dtype in ("int8", "uint8")
    },
}
BY_LAYOUT = "TVM computes it in data_layout, although its type has another layout"
UNSET = "in TVM, rows after the valid ones are uninitialized memory"
# Results for which TVM's compiled code differs.
COMPUTED_OTHERWISE = {
    "nn.conv2d-out_layout": BY_LAYOUT,
    "nn.conv3d-multiplied": "TVM reads beyond the weight",
    "nn.deformable_conv2d-nhwc": BY_LAYOUT,
    "vision.non_max_suppression-indices": "differs from TVM's hybrid script, unlike byoc_lab",
    "vision.all_class_non_max_suppression-onnx": UNSET,
    "vision.all_class_non_max_suppression-all": UNSET,
    "vision.yolo_reorg": "in TVM, only the first image has the result of a batch of one",
    **{
        f"{op}-{dtype}": "TVM sums in 8 bits, and wraps around"
        for op in ("mean", "nn.global_avg_pool2d", "nn.adaptive_avg_pool2d")
        for dtype in ("int8", "uint8")
    },
}


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    calls = [
        (s.source or IRModule.from_expr(s.function()).astext(for_tvm=True), s.data())
        for s in SAMPLES
    ]
    made = once(tmp_path_factory, "values-of-samples", lambda _: tvm_values(calls))
    return dict(zip([s.label for s in SAMPLES], made, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.label)
def test_tvm_computes_the_same_result(sample: Sample, values: dict[str, Any]) -> None:
    found = values[sample.label]
    if sample.label in NOT_RUN:
        assert isinstance(found, str) and found.startswith(NOT_RUN[sample.label])
        return
    assert not isinstance(found, str), found
    wanted = evaluate(sample.function(), sample.data()).outputs
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
    pairs = zip(found, wanted, strict=True)
    same = all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)
    assert same == (sample.label not in COMPUTED_OTHERWISE)


@pytest.mark.slow
def test_maximum_of_no_elements_is_finite_in_tvm() -> None:
    (found,) = tvm_values([("relay.max(x0, axis=0)", [np.zeros((0, 2), "float32")])])
    assert (found[0] == np.finfo("float32").min).all()
