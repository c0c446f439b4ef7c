"""Every sample call with dimensions of 0: the reference, LLVM and DNNL give the same value of
the inferred type, or each raises a byoc_lab error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.backends import dnnl
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule, Op
from byoc_lab.relay.analysis.costs import cost, tensor_types
from byoc_lab.relay.op import OpDef
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's warning for a mean of no elements

# Annotations are identities; a region needs a begin and an end, and a sample has one of them.
COMPARED = [s for s in SAMPLES if not s.op.startswith("annotation.")]
# One sample of each kind: products, windows, norms, reductions, indices, shapes, quantized.
FEW = (
    "nn.conv2d-grouped", "nn.conv2d_transpose-grouped", "nn.dense", "nn.global_max_pool2d",
    "nn.group_norm", "nn.softmax", "mean", "variance", "max", "take", "scatter_nd", "concatenate",
    "reshape_like", "qnn.softmax", "qnn.batch_matmul", "nn.upsampling",
)  # fmt: skip


def variants(sample: Sample) -> Iterator[Sample]:
    """The well-typed variants of a sample: 0 for one dimension, for all dimensions of one size,
    or for one axis of all arguments or of the first two."""
    shapes = sample.shapes
    every = [(n, axis) for n, shape in enumerate(shapes) for axis in range(len(shape))]
    zeroed = [[place] for place in every]
    for size in sorted({*sum(shapes, ())}):
        zeroed.append([(n, axis) for n, axis in every if shapes[n][axis] == size])
    for axis in sorted({axis for _, axis in every}):
        same = [place for place in every if place[1] == axis]
        zeroed += [same, [place for place in same if place[0] < 2]]
    found = dict.fromkeys(
        tuple(
            tuple(0 if (n, axis) in places else size for axis, size in enumerate(shape))
            for n, shape in enumerate(shapes)
        )
        for places in zeroed
    )
    for changed in found:
        yield replace(sample, shapes=changed, note=f"{sample.note} {changed}")


def typed(sample: Sample) -> IRModule | None:
    try:
        return infer_module(IRModule.from_expr(sample.function()))
    except ByocLabError:
        return None


def outcome(compute: Callable[[], Any]) -> list[np.ndarray] | None:
    """The computed arrays, or None for a byoc_lab error."""
    try:
        return list(compute())
    except ByocLabError:
        return None


def check(sample: Sample) -> None:
    """Checks each well-typed variant; raises any error that is not of byoc_lab."""
    definition: OpDef = Op.get(sample.op).definition
    for variant in variants(sample):
        mod = typed(variant)
        if mod is None:
            continue
        assert cost(mod["main"]).flops >= 0
        data = variant.data()
        wanted = outcome(lambda mod=mod, data=data: byoc_lab.evaluate(mod, data).outputs)
        if wanted is not None and definition.reference is not None:
            for array, ty in zip(wanted, tensor_types(mod["main"].ret_type), strict=True):
                assert not ty.is_static or array.shape == ty.concrete_shape, variant.label
        if definition.relax is None:
            continue
        for cut in (lambda mod: mod, dnnl.partition_for_dnnl):
            found = outcome(lambda mod=mod, data=data, cut=cut: byoc_lab.build(cut(mod)).run(data))
            assert (found is None) == (wanted is None), (variant.label, found, wanted)
            for one, other in zip(found or [], wanted or [], strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype), variant.label
                np.testing.assert_allclose(
                    *(np.asarray(a, np.float64) for a in (one, other)),
                    rtol=1e-3, atol=1e-3, err_msg=variant.label,
                )  # fmt: skip


@pytest.mark.parametrize("label", FEW)
def test_a_few_calls_without_elements_agree_in_every_executor(label: str) -> None:
    pytest.importorskip("tvm")
    (sample,) = (s for s in COMPARED if s.label == label)
    check(sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample", COMPARED, ids=lambda s: s.label)
def test_all_calls_without_elements_agree_in_every_executor(sample: Sample) -> None:
    pytest.importorskip("tvm")
    check(sample)
