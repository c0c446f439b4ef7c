"""Windows, resizes, steps and slices at sizes that do not divide.

The type, the reference, LLVM, DNNL, Relax, and PyTorch or NumPy have the same shape and results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_module
from tests.sweeps import some

torch = pytest.importorskip("torch")
pytest.importorskip("tvm")
F = torch.nn.functional

Case = tuple[Expr, np.ndarray, np.ndarray]  # for one variable, its value, and the expected result
DRAW = Callable[..., Any]


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def window(draw: DRAW, rank: int) -> dict[str, Any]:
    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    return {"strides": each(1, 4), "padding": each(0, 3), "dilation": each(1, 3)}


def convolution(draw: DRAW) -> Case:
    rank, groups = draw(st.sampled_from([1, 2, 2, 3])), draw(st.sampled_from([1, 1, 2, 4]))
    kernel = [draw(st.integers(1, 4)) for _ in range(rank)]
    attrs, sizes = window(draw, rank), [draw(st.integers(1, 11)) for _ in range(rank)]
    data, weight = random(2, 4, *sizes), random(8, 4 // groups, *kernel)
    for n in range(rank):
        reach = (kernel[n] - 1) * attrs["dilation"][n] + 1
        assume(sizes[n] + 2 * attrs["padding"][n] >= reach)
    x = relay.var("x", shape=data.shape)
    made = getattr(nn, f"conv{rank}d")(x, relay.const(weight), groups=groups, **attrs)
    wanted = getattr(F, f"conv{rank}d")(
        torch.from_numpy(data), torch.from_numpy(weight), None, attrs["strides"], attrs["padding"],
        attrs["dilation"], groups,
    )  # fmt: skip
    return made, data, wanted.numpy()


def transposed(draw: DRAW) -> Case:
    rank, groups = draw(st.sampled_from([1, 2, 2, 3])), draw(st.sampled_from([1, 1, 2]))
    kernel = [draw(st.integers(1, 4)) for _ in range(rank)]
    attrs, sizes = window(draw, rank), [draw(st.integers(1, 6)) for _ in range(rank)]
    attrs["dilation"] = (1,) * rank  # the only one that Relay's builds and DNNL have in common
    more = tuple(draw(st.integers(0, s - 1)) for s in attrs["strides"])
    for n in range(rank):
        assume((sizes[n] - 1) * attrs["strides"][n] - 2 * attrs["padding"][n] + kernel[n] > 0)
        assume(attrs["padding"][n] < kernel[n])
    data, weight = random(2, 4, *sizes), random(4, 6 // groups, *kernel)
    x = relay.var("x", shape=data.shape)
    made = getattr(nn, f"conv{rank}d_transpose")(
        x, relay.const(weight), groups=groups, channels=6, kernel_size=tuple(kernel),
        output_padding=more, **attrs,
    )  # fmt: skip
    wanted = getattr(F, f"conv_transpose{rank}d")(
        torch.from_numpy(data), torch.from_numpy(weight), None, attrs["strides"], attrs["padding"],
        more, groups, attrs["dilation"],
    )  # fmt: skip
    return made, data, wanted.numpy()


def sliced(draw: DRAW) -> Case:
    sizes = [draw(st.integers(1, 9)) for _ in range(draw(st.integers(1, 4)))]
    begin = [draw(st.integers(-n, n - 1)) for n in sizes]
    steps = [draw(st.sampled_from([1, 2, 3, 5, -1, -2])) for _ in sizes]
    end = [draw(st.integers(-n, n + 3)) for n in sizes]
    data = random(*sizes)
    wanted = data[tuple(slice(*cut) for cut in zip(begin, end, steps, strict=True))]
    assume(wanted.size)
    x = relay.var("x", shape=data.shape)
    return relay.tanh(relay.strided_slice(x, begin, end, steps)), data, np.tanh(wanted)


def pooled(draw: DRAW) -> Case:
    """If the last window would begin in the padding, PyTorch omits it and Relay does not: then
    all results must equal the reference."""
    rank, ceil = draw(st.sampled_from([1, 2, 2, 3])), draw(st.booleans())
    kernel = [draw(st.integers(1, 4)) for _ in range(rank)]
    strides = [draw(st.integers(1, 4)) for _ in range(rank)]
    padding = [draw(st.integers(0, k // 2)) for k in kernel]
    sizes = [draw(st.integers(1, 11)) for _ in range(rank)]
    assume(all(n >= k for n, k in zip(sizes, kernel, strict=True)))  # PyTorch requires that
    data = random(2, 4, *sizes)
    name = draw(st.sampled_from(["max_pool", "avg_pool"]))
    more = {} if name == "max_pool" else {"count_include_pad": draw(st.booleans())}
    x = relay.var("x", shape=data.shape)
    made = getattr(nn, f"{name}{rank}d")(
        x, tuple(kernel), tuple(strides), padding=tuple(padding), ceil_mode=ceil, **more
    )
    pool = getattr(F, f"{name}{rank}d")
    wanted = pool(torch.from_numpy(data), kernel, strides, padding, ceil_mode=ceil, **more).numpy()
    typed = infer_module(IRModule.from_expr(relay.Function([x], made)))
    if typed["main"].ret_type.concrete_shape != wanted.shape:
        wanted = byoc_lab.evaluate(typed, [data]).outputs[0]
    return made, data, wanted


def resized(draw: DRAW) -> Case:
    rank = draw(st.sampled_from([1, 2, 2, 3]))
    sizes, target = ([draw(st.integers(1, 9)) for _ in range(rank)] for _ in range(2))
    data = random(2, 3, *sizes)
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[rank]
    modes = [
        ("linear", linear, False),
        ("linear", linear, True),
        ("nearest_neighbor", "nearest", None),
    ]
    modes += [("cubic", "bicubic", False)] if rank == 2 else []
    method, mode, corners = draw(st.sampled_from(modes))
    x = relay.var("x", shape=data.shape)
    made = getattr(relay.image, f"resize{rank}d")(
        x, tuple(target), method=method, rounding_method="floor", cubic_alpha=-0.75,
        coordinate_transformation_mode={None: "asymmetric", True: "align_corners"}.get(
            corners, "half_pixel"
        ),
    )  # fmt: skip
    wanted = F.interpolate(torch.from_numpy(data), target, mode=mode, align_corners=corners)
    return made, data, wanted.numpy()


@st.composite
def cases(draw: DRAW) -> Case:
    kinds = [convolution, convolution, transposed, sliced, pooled, resized]
    return draw(st.sampled_from(kinds))(draw)


def check(case: Case) -> None:
    made, data, wanted = case
    mod = infer_module(IRModule.from_expr(relay.Function(relay.analysis.free_vars(made), made)))
    assert mod["main"].ret_type.concrete_shape == wanted.shape
    found = {
        "reference": byoc_lab.evaluate(mod, [data]).outputs[0],
        "llvm": byoc_lab.build(mod, offload=False).run([data])[0],
        "dnnl": byoc_lab.build(byoc_lab.trace(mod, "dnnl").result).run([data])[0],
    }
    for where, value in found.items():
        got = np.asarray(value)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4, err_msg=where)


@settings(max_examples=some(8))
@given(case=cases())
def test_shape_is_the_same_in_every_executor(case: Case) -> None:
    check(case)


@pytest.mark.slow
@settings(max_examples=some(150))
@given(case=cases())
def test_shape_is_the_same_in_every_executor_widely(case: Case) -> None:
    check(case)
