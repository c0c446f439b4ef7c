"""Each Relax operator that DNNL computes under another name, compared with TVM alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.relax import partition_for_dnnl, why_not_relax

from .test_partition import check, const, module, random, regions, symbol, var

relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = pytest.mark.native


def vector(size: int, seed: int = 0) -> Any:
    return relax.const(random(size, seed=seed))


ONE: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "squeeze": ((2, 8, 1, 1), lambda x: op.squeeze(x, [2, 3])),
    "layer_norm over two axes": (
        (2, 4, 5, 3),
        lambda x: op.nn.layer_norm(
            x, relax.const(random(5, 3)), relax.const(random(5, 3, seed=1)), [2, 3]
        ),
    ),
    "conv3d_transpose": (
        (1, 4, 3, 4, 5),
        lambda x: op.nn.conv3d_transpose(x, relax.const(random(4, 2, 2, 2, 2)), (2, 2, 2)),
    ),
    "squeeze of all": ((2, 1, 8, 1), op.squeeze),
    "expand_dims": ((2, 8), lambda x: op.expand_dims(x, [2, 3])),
    "broadcast_to": ((2, 8, 1, 1), lambda x: op.broadcast_to(x, (2, 8, 3, 5))),
    "broadcast_to of more axes": ((8, 1), lambda x: op.broadcast_to(x, (3, 8, 5))),
    "broadcast_to of its own shape": ((8, 3), lambda x: op.broadcast_to(x, (1, 8, 3))),
    "group_norm": (
        (2, 8, 5, 3),
        lambda x: op.nn.group_norm(x, vector(8), vector(8, 1), 4, 1, [2, 3], 1e-3),
    ),
    "group_norm of rows": (
        (2, 6, 7),
        lambda x: op.nn.group_norm(x, vector(6), vector(6, 1), 2, 1, [2]),
    ),
    "instance_norm": (
        (2, 4, 5, 3),
        lambda x: op.nn.instance_norm(x, vector(4), vector(4, 1), 1, [2, 3]),
    ),
    "prelu": ((2, 4, 5, 3), lambda x: op.nn.prelu(x, vector(4), 1)),
    "prelu of the last axis": ((2, 5, 4), lambda x: op.nn.prelu(x, vector(4), -1)),
    "prelu of one slope": ((2, 5, 4), lambda x: op.nn.prelu(x, vector(1), 1)),
    "strided_slice": ((2, 8, 5, 6), lambda x: op.strided_slice(x, [2, 3], [0, 1], [4, 6], [1, 2])),
    "strided_slice without steps": ((2, 8, 5), lambda x: op.strided_slice(x, [1], [-3], [100])),
    "strided_slice backwards": ((2, 8, 5), lambda x: op.strided_slice(x, [1], [6], [1], [-2])),
    "mean": ((2, 4, 5, 3), lambda x: op.mean(x, [2, 3])),
    "mean of the channels": ((2, 4, 5, 3), lambda x: op.mean(x, [1])),
    "mean of the channels kept": ((2, 4, 5, 3), lambda x: op.mean(x, [1], keepdims=True)),
    "mean of rows": ((4, 7), lambda x: op.mean(x, [-1])),
    "mean of columns": ((4, 7), lambda x: op.mean(x, [0])),
    "mean of some": ((2, 4, 5, 3), lambda x: op.mean(x, [0, 2], keepdims=True)),
    "mean of all": ((2, 4, 5), op.mean),
}


@pytest.mark.parametrize("name", ONE)
def test_each_relax_operator_on_dnnl_equals_the_reference(name: str) -> None:
    shape, make = ONE[name]

    def body(emit: Any, x: Any) -> Any:
        return emit(make(emit(op.abs(x)) if "norm" in name else x))

    check(module([var("x", *shape)], body), random(*shape))


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE)
def test_each_relax_operator_on_dnnl_is_compared_with_the_reference(name: str) -> None:
    shape, make = ONE[name]
    mod = module([var("x", *shape)], lambda emit, x: emit(make(x)))
    report = byoc_lab.validate(mod, partition_for_dnnl(mod), detail="operator")
    assert report.ok and report.operators and not report.not_compared
    assert not report.remarks


@pytest.mark.parametrize(
    "name", ["squeeze", "broadcast_to", "group_norm", "prelu", "mean", "mean of the channels"]
)
def test_operator_with_a_batch_known_at_run_time_is_offloaded(name: str) -> None:
    shape, make = ONE[name]
    n = symbol("n")
    if name == "broadcast_to":
        make = lambda x: op.broadcast_to(x, (n, 8, 3, 5))  # noqa: E731
    mod = module([var("x", n, *shape[1:])], lambda emit, x: emit(make(x)))
    count = len(regions(partition_for_dnnl(mod)))
    assert count == (0 if name == "broadcast_to" else 1)
    check(mod, random(3, *shape[1:]), count=count)


@pytest.mark.parametrize("parts", [2, 3, [3, 5], [0, 8]])
def test_split_parts_are_offloaded_or_refused_with_the_reason(parts: Any) -> None:
    """Parts that are used inside the region and outside."""

    def body(emit: Any, x: Any) -> list[Any]:
        made = emit(op.split(emit(op.nn.relu(x)), parts, axis=1))
        count = parts if isinstance(parts, int) else len(parts) + 1
        fields = [emit(relax.TupleGetItem(made, n)) for n in range(count)]
        return [emit(op.tanh(fields[0])), fields[1]]

    mod = module([var("x", 2, 8, 5)], body)
    if parts == [0, 8]:
        reason = why_not_relax(
            relax.BlockBuilder().normalize(op.split(var("x", 2, 8, 5), parts, 1))
        )
        assert "must have elements" in str(reason)
    else:
        check(mod, random(2, 8, 5))


def test_channel_shuffle_is_one_region() -> None:
    """ShuffleNet V2 (Ma and others, 2018), figure 3c: split, convolve one half, join, shuffle."""

    def body(emit: Any, x: Any) -> Any:
        made = emit(op.split(x, 2, axis=1))
        left, right = (emit(relax.TupleGetItem(made, n)) for n in range(2))
        right = emit(op.nn.relu(emit(op.nn.conv2d(right, const(4, 4, 1, 1)))))
        joined = emit(op.concat([left, right], axis=1))
        pairs = emit(op.permute_dims(emit(op.reshape(joined, (1, 2, 4, 25))), (0, 2, 1, 3)))
        return emit(op.reshape(pairs, (1, 8, 5, 5)))

    check(module([var("x", 1, 8, 5, 5)], body), random(1, 8, 5, 5))


def test_number_may_be_an_operand() -> None:
    def body(emit: Any, x: Any) -> Any:
        return emit(op.add(emit(op.nn.relu(x)), relax.const(np.float32(0.25))))

    check(module([var("x", 2, 3)], body), random(2, 3))


def test_norms_without_scale_stay_with_the_reason() -> None:
    made = op.nn.group_norm(
        var("x", 2, 6, 7), vector(6), vector(6, 1), 2, 1, [2], center=True, scale=False
    )
    reason = why_not_relax(relax.BlockBuilder().normalize(made))
    assert "center and scale" in str(reason)


def conv(emit: Any, x: Any, channels: tuple[int, int], size: int, groups: int = 1) -> Any:
    """A convolution with a bias in torch.export's form."""
    inputs, outputs = channels
    weight = const(outputs, inputs // groups, size, size)
    made = emit(op.nn.conv2d(x, weight, padding=size // 2, groups=groups))
    return emit(op.add(made, const(1, outputs, 1, 1)))


def hard_sigmoid(emit: Any, x: Any) -> Any:
    raised = emit(op.clip(emit(op.add(x, relax.const(np.float32(3)))), 0, 6))
    return emit(op.divide(raised, relax.const(np.float32(6))))


def test_mobilenet_v3_block_is_one_region() -> None:
    """Howard and others, 2019, figure 4: expansion, depthwise, squeeze-and-excitation,
    projection, with hard-swish."""

    def body(emit: Any, x: Any) -> Any:
        wide = conv(emit, x, (8, 16), 1)
        wide = emit(op.multiply(wide, hard_sigmoid(emit, wide)))
        deep = conv(emit, wide, (16, 16), 3, groups=16)
        deep = emit(op.multiply(deep, hard_sigmoid(emit, deep)))
        squeezed = emit(op.mean(deep, [2, 3], keepdims=True))
        squeezed = emit(op.nn.relu(conv(emit, squeezed, (16, 4), 1)))
        scale = hard_sigmoid(emit, conv(emit, squeezed, (4, 16), 1))
        return emit(op.add(conv(emit, emit(op.multiply(deep, scale)), (16, 8), 1), x))

    cut = check(module([var("x", 1, 8, 7, 7)], body), random(1, 8, 7, 7))
    assert sum(len(block.bindings) for block in cut["main"].body.blocks) == 1
