"""Chains of post-ops after every operation: which ones oneDNN fuses into the kernel, and the
results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.graph import VIEWS
from tests.backends.dnnl.graph.net import RELU, Net
from tests.backends.dnnl.instructions import needs_avx2
from tests.sweeps import some

pytestmark = pytest.mark.native
Shape = tuple[int, ...]
C = "channels"  # a size that each case draws
QUANTIZED = ("quantize", "dequantize", "requantize", "qadd")  # on integers: no post-ops
TANH = {"kind": "eltwise", "alg": "tanh"}
# Keys are the names in `Head.fuses`; the input of a post-op is given as its shape.
KINDS: dict[str, dict[str, Any]] = {
    "relu": RELU,
    "eltwise": TANH,
    "number": {"kind": "binary", "alg": "mul", "input": "scalar"},
    "channel": {"kind": "binary", "alg": "mul", "input": "channel"},
    "tensor": {"kind": "binary", "alg": "mul", "input": "full"},
    "sum": {"kind": "sum", "input": "full"},
    "scaled sum": {"kind": "sum", "input": "full", "scale": 0.5},
}
ALL = tuple(KINDS)
UNSCALED = ALL[:-1]


@dataclass(frozen=True)
class Head:
    """An operation that post-ops follow.

    result: its shape. operands: shapes; the first operand is an input, the others are constants.
    fuses: the members of KINDS that oneDNN fuses into its kernel on every machine with AVX2.
    """

    result: tuple[Any, ...]
    operands: tuple[tuple[Any, ...], ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    fuses: tuple[str, ...] = ALL
    kind: str = ""


def images(axes: int) -> dict[str, Head]:
    image = (2, C, *(5, 6, 4)[:axes])
    taps, around = [3] * axes, {"padding": [1] * (2 * axes)}
    window = {"pool_size": taps, **around}
    made = (2, C, *[1] * axes)
    return {
        f"conv{axes}d": Head(image, (image, (C, C, *taps)), around),
        # See `kDeconvolutionFuses` in onednn_faults.h.
        f"conv{axes}d_transpose": Head(image, (image, (C, C, *taps)), around, ()),
        f"max_pool{axes}d": Head(image, (image,), window, UNSCALED),
        f"avg_pool{axes}d": Head(image, (image,), window, UNSCALED),
        f"global_max_pool{axes}d": Head(made, (image,), {}, UNSCALED),
        f"global_avg_pool{axes}d": Head(made, (image,), {}, UNSCALED),
        f"resample{axes}d": Head(image, (image,), {"size": image[2:], "alg": "nearest"}),
    }


IMAGE, ROWS = (2, C, 5, 6), (2, C)
HEADS: dict[str, Head] = {
    **images(1),
    **images(2),
    **images(3),
    "depthwise": Head(
        IMAGE,
        (IMAGE, (C, 1, 3, 3), (C,)),
        {"padding": [1] * 4, "groups": C},
        kind="conv2d",
    ),
    "dense": Head(ROWS, (ROWS, (C, C))),
    "matmul": Head(ROWS, (ROWS, (C, C))),
    "batch_norm": Head(IMAGE, (IMAGE, *[(C,)] * 4), {"epsilon": 1e-3}, ("relu",)),
    "layer_norm": Head(IMAGE, (IMAGE, (6,), (6,)), {"epsilon": 1e-3}, ()),
    "softmax": Head(ROWS, (ROWS,), {"axis": 1}, ("relu", "eltwise", "number")),
    "log_softmax": Head(ROWS, (ROWS,), {"axis": 1}, ("relu", "eltwise", "number")),
    "eltwise": Head(IMAGE, (IMAGE,), {"alg": "square"}, ()),
    "binary": Head(IMAGE, (IMAGE, IMAGE), {"alg": "mul"}),
    "reduce": Head((2, C, 5, 1), (IMAGE,), {"alg": "mean", "axis": 3}),
    "sum": Head(IMAGE, (IMAGE, IMAGE), {}, ()),
    "concat": Head(IMAGE, (IMAGE,), {"axis": 0}, ()),
    "lstm_cell": Head((3, 14), ((3, 28), (3, 7)), {"order": [2, 0, 3, 1]}, ()),
    "slice": Head(
        IMAGE,
        ((*IMAGE[:3], 2 * IMAGE[3]),),
        {"axis": 3, "begin": 1, "length": IMAGE[3], "step": 2},
        (),
    ),
}


POST_OPS = [
    RELU,
    {"kind": "eltwise", "alg": "relu", "alpha": 0.25},
    {"kind": "eltwise", "alg": "clip", "alpha": -0.5, "beta": 2.0},
    {"kind": "eltwise", "alg": "tanh"},
    {"kind": "eltwise", "alg": "sigmoid"},
    {"kind": "eltwise", "alg": "swish", "alpha": 1.0},
    {"kind": "eltwise", "alg": "linear", "alpha": 2.0, "beta": -1.0},
    {"kind": "eltwise", "alg": "abs"},
    *[
        {"kind": "binary", "alg": alg, "input": shape}
        for alg in ("add", "mul", "sub", "max", "min")
        for shape in ("full", "channel", "scalar")
    ],
    {"kind": "sum", "input": "full"},
    {"kind": "sum", "input": "full", "scale": 0.5},
]


def one(
    head: Head, chain: list[dict[str, Any]], role: str, channels: int, threads: int = 1
) -> tuple[dict[str, Any], native.DnnlRegion]:
    """Checks the results of a region of `head` and a chain; returns the region and the statistics
    of its operation.

    role: whether the operands of post-ops are inputs or constants.
    """

    def sized(shape: tuple[Any, ...]) -> Shape:
        return tuple(channels if size is C else size for size in shape)

    net = Net()
    result = sized(head.result)
    operands = [net.input(*sized(head.operands[0]))]
    for n, shape in enumerate(head.operands[1:]):
        operands.append(net.const(*sized(shape), positive=n == 3))  # operand 3 is a variance
    along = (result[1], *[1] * (len(result) - 2))
    shapes = {"full": result, "channel": along, "scalar": ()}
    post_ops = [
        {**p, "input": net.given(role, *shapes[p["input"]])} if "input" in p else p for p in chain
    ]
    attrs = {name: channels if value is C else value for name, value in head.attrs.items()}
    with native.using_threads(threads):
        region = net.check(net.op(head.kind, operands, post_ops, **attrs))
    (op,) = region.stats()["ops"]
    return op, region


def named(name: str) -> Head:
    head = HEADS[name]
    return head if head.kind else Head(head.result, head.operands, head.attrs, head.fuses, name)


@pytest.mark.parametrize("name", HEADS)
@given(
    st.lists(st.sampled_from(POST_OPS), max_size=4),
    st.sampled_from(["inputs", "constants"]),
    st.sampled_from([5, 16]),
    st.sampled_from([1, 1, 2]),
)
@settings(max_examples=some(4))
def test_chain_of_post_ops_equals_reference(name: str, chain, role, channels, threads) -> None:
    """Post-ops that oneDNN cannot fuse run as separate primitives, with the same result."""
    op, _ = one(named(name), chain, role, channels, threads)
    done = op["post_ops_fused"] + op["post_ops_separate"]
    wanted = [p.get("alg", "sum") for p in chain]
    # oneDNN may run a sum as an add, and an add as a sum.
    assert [{"sum": "add"}.get(n, n) for n in done] == [{"sum": "add"}.get(n, n) for n in wanted]


@needs_avx2
@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("kind", KINDS)
def test_onednn_fuses_the_post_op_only_into_kernels_that_support_it(name: str, kind: str) -> None:
    """`region.kernels` reports it as fused; a post-op that is not fused runs in a separate
    kernel."""
    head = named(name)
    op, region = one(head, [KINDS[kind]], "constants", 16)
    (kernel,) = region.kernels
    if kind in head.fuses:
        assert len(kernel.fused) == 1, f"{kernel.separate} behind {kernel.impl}"
        assert not kernel.separate
    elif not head.fuses:
        assert len(kernel.separate) == 1
        assert not kernel.fused
    assert kernel.impl == op["impl"]


@needs_avx2
@pytest.mark.parametrize("name", [name for name in HEADS if "channel" in HEADS[name].fuses])
def test_long_chain_is_one_kernel(name: str) -> None:
    chain = [KINDS[kind] for kind in ("sum", "relu", "channel", "tensor", "eltwise", "number")]
    op, _ = one(named(name), chain, "inputs", 16)
    assert len(op["post_ops_fused"]) == len(chain)


def test_every_operation_that_computes_is_tested_as_a_head() -> None:
    with pytest.raises(ValueError, match="unknown kind") as caught:
        native.function("check_op")("here", "none", [], [], "float32", {}, [], [], [], [])
    known = set(str(caught.value).split("known are ")[1].split(", "))
    assert {named(name).kind for name in HEADS} == known - {*VIEWS, *QUANTIZED}


def test_common_chain_is_fused() -> None:
    net = Net()
    data, other = net.input(1, 16, 8, 8), net.input(1, 16, 8, 8)
    chain = [
        {"kind": "binary", "alg": "add", "input": other},
        {"kind": "eltwise", "alg": "clip", "alpha": 0.0, "beta": 6.0},
        {"kind": "binary", "alg": "mul", "input": net.const(1, 16, 1, 1)},
    ]
    weight = net.const(16, 16, 3, 3)
    region = net.check(net.op("conv2d", [data, weight], chain, padding=[1, 1, 1, 1]))
    assert region.stats()["ops"][0]["post_ops_fused"] == ["add", "clip", "mul"]


@pytest.mark.parametrize("reader", ["an op", "an output", "a view", "the op itself"])
def test_sum_does_not_overwrite_an_addend_that_is_read_later(reader) -> None:
    """A sum is computed in the buffer of its addend, unless the addend is still needed."""
    net = Net()
    kept = net.op("eltwise", [net.input(4, 6)], alg="relu")
    view = net.op("reshape", [kept], shape=(24,)) if reader == "a view" else kept
    weight = net.const(6, 6)
    left = kept if reader == "the op itself" else net.input(4, 6)
    summed = net.op("dense", [left, weight], [{"kind": "sum", "input": kept}])
    later = {
        "an op": lambda: [net.op("binary", [kept, summed], alg="add")],
        "an output": lambda: [kept],
        "a view": lambda: [net.op("eltwise", [view], alg="tanh")],
        "the op itself": lambda: [],
    }[reader]()
    region = net.check(summed, *later)
    assert region.stats()["ops"][-1 - (reader in ("an op", "a view"))]["post_ops_fused"] == ["sum"]


def test_sum_overwrites_an_addend_that_is_not_read_later() -> None:
    net = Net()
    dead = net.op("eltwise", [net.input(4, 6)], alg="relu")
    sum_op = {"kind": "sum", "input": dead}
    region = net.check(net.op("dense", [net.input(4, 6), net.const(6, 6)], [sum_op]))
    assert region.stats()["ops"][1]["reorders"] == 0


@pytest.mark.parametrize("reader", ["nobody", "an op", "an output"])
def test_add_becomes_a_sum_if_its_operand_is_not_read_later(reader) -> None:
    net = Net()
    kept = net.op("eltwise", [net.input(4, 6)], alg="relu")
    added = net.op(
        "dense",
        [net.input(4, 6), net.const(6, 6)],
        [{"kind": "binary", "alg": "add", "input": kept}],
    )
    later = {
        "nobody": lambda: [added],
        "an op": lambda: [net.op("binary", [kept, added], alg="mul")],
        "an output": lambda: [added, kept],
    }[reader]()
    ops = net.check(*later).stats()["ops"]
    assert ops[1]["post_ops_fused"] == ["sum" if reader == "nobody" else "add"]
    assert ops[1]["reorders"] == 0
