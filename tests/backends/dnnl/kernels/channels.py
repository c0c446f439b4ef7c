"""Calls of every kernel at the channel counts of real networks, compared with PyTorch in float64.

`python -m tests.backends.dnnl.kernels.channels` checks all of them and fails at the first wrong
one. Run it with ONEDNN_MAX_CPU_ISA set, which oneDNN reads once, to check the kernels of lesser
processors.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from byoc_lab.backends.dnnl import kernels
from tests.backends.dnnl.kernels import kernels_in_torch
from tests.backends.dnnl.kernels.draws import DTYPES, FLOATS, INTEGERS, Case, each_array
from tests.backends.dnnl.kernels.functions import BINARY, FUNCTIONS
from tests.backends.dnnl.kernels.kernel_cases import KERNELS
from tests.backends.dnnl.kernels.test_every_kernel import NO_POST_OPS
from tests.backends.dnnl.reference import exact

COUNTS = (16, 24, 32, 33, 64, 96, 128, 129, 256, 512, 517, 1024)
SOME = (16, 33, 96, 256, 517, 1024)
FEW = (24, 129, 512)
# Allowed error, relative to the largest element: accumulated rounding in float32, one rounding of
# each step in bfloat16.
TOLERANCES = {"float32": 2e-5, "bfloat16": 3e-2}


@dataclass(frozen=True)
class Maker:
    """Makes arrays of a dtype; if it is an integer dtype, the second operand of products is
    int8."""

    rng: np.random.Generator
    dtype: str

    def array(self, *shape: int, dtype: str = "") -> np.ndarray:
        element = DTYPES[dtype or self.dtype]
        if element.kind in "iu":
            limits = np.iinfo(element)
            return self.rng.integers(limits.min, limits.max, shape, element, endpoint=True)
        return self.rng.standard_normal(shape).astype(element)

    def positive(self, *shape: int) -> np.ndarray:
        return np.asarray(np.abs(self.rng.standard_normal(shape)) + 0.5, DTYPES[self.dtype])

    def weight(self, *shape: int) -> np.ndarray:
        """Small values, so that sums over many channels are about 1."""
        if self.dtype in INTEGERS:
            return self.array(*shape, dtype="int8")
        scale = math.sqrt(max(1, math.prod(shape[1:])))
        return (self.rng.standard_normal(shape) / scale).astype(DTYPES[self.dtype])

    @property
    def real(self) -> bool:
        return self.dtype in FLOATS


Cases = Callable[[Maker, int], Iterator[Case]]


def window(axes: int, strides: int, padding: int) -> dict[str, Any]:
    return {"strides": [strides] * axes, "padding": [padding] * 2 * axes, "dilation": [1] * axes}


def convolutions(axes: int, biased: bool = True) -> Cases:
    """From few channels to many, from many to few, in groups and depthwise."""

    def cases(make: Maker, count: int) -> Iterator[Case]:
        size = 6 if axes < 3 else 4
        shapes = [(count, 40, 1), (16, count, 1), (2 * count, 2 * 24, 2), (count, count, count)]
        for into, out, groups in shapes:
            for taps, strides in ((3, 1), (1, 1), (3, 2)):
                args = [
                    make.array(1, into, *[size] * axes),
                    make.weight(out, into // groups, *[taps] * axes),
                ]
                attrs = {**window(axes, strides, taps // 2), "groups": groups}
                if make.real and biased:
                    args.append(make.array(out))
                elif not make.real:
                    attrs["data_zero_point"] = 3
                yield Case(args, attrs)

    return cases


def transposed(axes: int) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        size = 4 if axes < 3 else 2
        for into, out, groups in [(count, 64, 1), (16, count, 1), (2 * count, 24, 2)]:
            for taps, strides, padding in ((4, 2, 1), (2, 2, 0), (3, 1, 1)):
                args = [
                    make.array(1, into, *[size] * axes),
                    make.weight(into, out // groups, *[taps] * axes),
                    make.array(out),
                ]
                attrs = {"groups": groups, "output_padding": [0] * axes}
                yield Case(args, {**window(axes, strides, padding), **attrs})

    return cases


def pools(axes: int, mean: bool) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        for taps, strides, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1)):
            attrs = window(axes, strides, padding)
            for counted in (False, True) if mean else (None,):
                more = {} if counted is None else {"count_include_pad": counted}
                yield Case([make.array(2, count, *[6] * axes), [taps] * axes], {**attrs, **more})

    return cases


def images(axes: int) -> Cases:
    return lambda make, count: iter([Case([make.array(2, count, *[5] * axes)])])


def dense(biased: bool | None) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        for rows, depth, units in [(1, count, 40), (5, count, count), (17, 24, count)]:
            args = [make.array(rows, depth), make.weight(units, depth)]
            if make.real and biased is not False:
                args.append(make.array(units))
            yield Case(args, {} if make.real else {"data_zero_point": 3})

    return cases


def matmul(batch: tuple[int, ...]) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        for rows, depth, columns in [(3, count, 20), (7, 24, count), (count, 16, 9)]:
            for turned in (False, True):
                a = (depth, rows) if turned else (rows, depth)
                b = (columns, depth) if turned else (depth, columns)
                yield Case(
                    [make.array(*batch, *a), make.weight(*batch, *b)],
                    {"transpose_a": turned, "transpose_b": turned},
                )

    return cases


def batch_norm(make: Maker, count: int) -> Iterator[Case]:
    vectors = [make.array(count) for _ in range(3)]
    data = make.array(2, count, 5, 5)
    yield Case([data, *vectors, make.positive(count)], {"epsilon": 1e-5})


def layer_norm(make: Maker, count: int) -> Iterator[Case]:
    args = [make.array(3, 5, count), make.array(count), make.array(count)]
    yield Case(args, {"epsilon": 1e-5})


def along_axis(make: Maker, count: int) -> Iterator[Case]:
    yield Case([make.array(3, count)], {"axis": 1})
    yield Case([make.array(2, count, 5)], {"axis": 1})


def reductions(make: Maker, count: int) -> Iterator[Case]:
    for alg in ("sum", "mean", "max", "min"):
        for axis in (1, 2):
            yield Case([alg, make.array(2, count, 5)], {"axis": axis})


def functions(alg: str | None, **attrs: float) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        data = make.positive if alg in ("log", "sqrt") else make.array
        if alg is not None:
            yield Case([data(2, count, 3, 3), *attrs.values()])
        for name in () if alg is not None else sorted(set(FUNCTIONS) - {"pow"}):
            numbers = {"alpha": 0.5, "beta": 0.75}
            yield Case([name, make.positive(2, count, 3, 3)], numbers)

    return cases


def pairs(named: bool) -> Cases:
    def cases(make: Maker, count: int) -> Iterator[Case]:
        for alg in BINARY if named else ("",):
            for other in ((2, count, 3, 3), (1, count, 1, 1), (count, 1, 1), ()):
                args = [make.array(2, count, 3, 3), make.positive(*other)]
                yield Case([alg, *args] if named else args)

    return cases


def terms(make: Maker, count: int) -> Iterator[Case]:
    yield Case([make.array(2, count, 3, 3) for _ in range(3)])


def moves(make: Maker, count: int) -> Iterator[Case]:
    for order in ([0, 2, 3, 1], [1, 0, 2, 3], [3, 2, 1, 0]):
        yield Case([make.array(2, count, 3, 4), order])


def joined(make: Maker, count: int) -> Iterator[Case]:
    parts = [make.array(2, size, 3, 3) for size in (count, 16, count)]
    yield Case([parts], {"axis": 1})


def sliced(make: Maker, count: int) -> Iterator[Case]:
    attrs = {"axis": 1, "begin": count - 1, "step": -2, "length": (count + 1) // 2}
    yield Case([make.array(2, count, 3, 4)], attrs)


def resized(make: Maker, count: int) -> Iterator[Case]:
    for alg in ("nearest", "linear"):
        yield Case([make.array(1, count, 4, 5), [8, 7]], {"alg": alg})


def relaid(make: Maker, count: int) -> Iterator[Case]:
    block = next(size for size in (16, 8, 3, 1) if count % size == 0 or size == 1)
    yield Case([make.array(2, count, 3, 4), "NCHW", f"NCHW{block}c"])
    yield Case([make.array(2, count, 3, 4), "NCHW", "NHWC"])


def scales(make: Maker, count: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        (2.0 ** make.rng.uniform(-8, 0, count)).astype(np.float32),
        make.rng.integers(-100, 100, count).astype(np.int32),
    )


def quantize(make: Maker, count: int) -> Iterator[Case]:
    yield Case([make.array(2, count, 3), *scales(make, count)], {"axis": 1, "dtype": "int8"})


def dequantize(make: Maker, count: int) -> Iterator[Case]:
    data = np.asarray(make.array(2, count, 3) // (128 if make.dtype == "int32" else 1))
    yield Case([data, *scales(make, count)], {"axis": 1})


def requantize(make: Maker, count: int) -> Iterator[Case]:
    data = np.asarray(make.array(2, count, 3) // (2**16 if make.dtype == "int32" else 1))
    into = (np.float32(0.125), np.int32(3))
    attrs = {"axis": 1, "dtype": "uint8", "rounding": "UPWARD"}
    yield Case([data, *scales(make, count), *into], attrs)


CASES: dict[str, Cases] = {
    **{f"conv{n}d": convolutions(n) for n in (1, 2, 3)},
    "conv2d_bias": convolutions(2),
    "conv2d_relu": convolutions(2, biased=False),
    "conv2d_bias_relu": convolutions(2),
    **{f"conv{n}d_transpose": transposed(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": pools(n, mean=False) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": pools(n, mean=True) for n in (1, 2, 3)},
    **{f"global_{alg}_pool{n}d": images(n) for alg in ("max", "avg") for n in (1, 2, 3)},
    "resample": resized,
    "dense": dense(None),
    "dense_bias": dense(True),
    "matmul": matmul(()),
    "batch_matmul": matmul((3,)),
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "softmax": along_axis,
    "log_softmax": along_axis,
    "reduce": reductions,
    "eltwise": functions(None),
    **{
        alg: functions(alg)
        for alg in (
            *("abs", "exp", "gelu", "gelu_tanh", "log", "mish"),
            *("relu", "round", "sigmoid", "sqrt", "tanh"),
        )
    },
    "clip": functions("clip", a_min=-0.5, a_max=0.75),
    "elu": functions("elu", alpha=0.5),
    "leaky_relu": functions("leaky_relu", alpha=0.25),
    "swish": functions("swish", alpha=1.5),
    "binary": pairs(named=True),
    "add": pairs(named=False),
    "multiply": pairs(named=False),
    "sum": terms,
    "concatenate": joined,
    "strided_slice": sliced,
    "transpose": moves,
    "reorder": relaid,
    "quantize": quantize,
    "dequantize": dequantize,
    "requantize": requantize,
}


def check(name: str, dtype: str, count: int) -> int:
    """Compares every case of a kernel, alone and with post-ops; returns the number of cases.

    Raises AssertionError naming the call.
    """
    make = Maker(np.random.default_rng([zlib.crc32(name.encode()), count]), dtype)
    done = 0
    for case in CASES[name](make, count):
        shown = [getattr(arg, "shape", arg) for arg in case.args]
        where = f"{name} of {dtype}, {count} channels: {shown}, {case.attrs}"
        wanted = in_torch(name, case)
        compare(where, getattr(kernels, name)(*case.args, **case.attrs), wanted)
        done += 1
        if name in NO_POST_OPS or not make.real or wanted.ndim < 2:
            continue
        # The operand has one number per channel, so a shifted channel gives a wrong result.
        scale = make.positive(1, wanted.shape[1], *[1] * (wanted.ndim - 2))
        chain = [
            {"kind": "binary", "alg": "add", "input": make.array(*wanted.shape)},
            {"kind": "eltwise", "alg": "relu"},
            {"kind": "binary", "alg": "mul", "input": scale},
        ]
        after = np.maximum(wanted + np.float64(chain[0]["input"]), 0) * np.float64(scale)
        found = getattr(kernels, name)(*case.args, **case.attrs, post_ops=chain)
        compare(f"{where}, with post-ops", found, after)
        done += 1
    assert done
    return done


def in_torch(name: str, case: Case) -> np.ndarray:
    """PyTorch's result; the formula in exact arithmetic for kernels that PyTorch lacks."""
    if name not in kernels_in_torch.KERNELS:
        args = [each_array(exact, arg) for arg in case.args]
        return KERNELS[name].formula(*args, **case.attrs).value
    tensors = (each_array(lambda a: torch.tensor(np.float64(a)), arg) for arg in case.args)
    return kernels_in_torch.KERNELS[name](*tensors, **case.attrs).numpy()


def compare(where: str, found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape, where
    if found.dtype.name in INTEGERS:
        np.testing.assert_array_equal(found, wanted, err_msg=where)
        return
    tolerance = TOLERANCES[found.dtype.name] * max(1.0, float(np.abs(wanted).max()))
    error = float(np.abs(np.float64(found) - wanted).max())
    assert error <= tolerance, f"{where}: off by {error:.3g}, allowed {tolerance:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--kernels", nargs="*", default=list(CASES))
    options = parser.parse_args()
    failures, calls = [], 0
    for name in options.kernels:
        for dtype in KERNELS[name].dtypes:
            for count in options.counts or COUNTS:
                try:
                    calls += check(name, dtype, count)
                except AssertionError as error:
                    failures.append(f"{error}"[:400])
    print("\n".join(failures) or f"{calls} calls are right")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
