"""TVM's example NPU: a Python function computes each pattern of its table that can match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import relax as lab
from byoc_lab.relax import backends
from tests.compilers import needs_cc

from .test_backends import exactly, plain
from .test_partition import const, module, random, var
from .tracing.networks import relax

op, nn = relax.op, relax.op.nn
IMAGE, ROWS = (1, 8, 10, 10), (4, 8)


def conv(x: Any, **options: Any) -> Any:
    return nn.conv2d(x, const(16, 8 // options.get("groups", 1), 3, 3), padding=1, **options)


# For each pattern: the shape of the input, and an expression that it matches.
MATCHED: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "conv2d_relu_fused": (IMAGE, lambda x: nn.relu(conv(x, strides=2))),
    "matmul_relu_fused": (ROWS, lambda x: nn.relu(op.matmul(x, const(8, 3)))),
    "depthwise_conv2d": (IMAGE, lambda x: conv(x, groups=8)),
    "conv2d": (IMAGE, conv),
    "conv1d": ((1, 8, 9), lambda x: nn.conv1d(x, const(4, 8, 3), strides=2)),
    "matmul": (ROWS, lambda x: op.matmul(x, const(8, 3))),
    "avg_pool2d": (IMAGE, lambda x: nn.avg_pool2d(x, (3, 3), (2, 2), (1, 1))),
    "max_pool2d": (IMAGE, lambda x: nn.max_pool2d(x, (3, 3), (2, 2), ceil_mode=True)),
    "softmax": (ROWS, lambda x: nn.softmax(x, axis=0)),
    "gelu": (ROWS, nn.gelu),
    "relu": (ROWS, nn.relu),
    "divide": (ROWS, lambda x: op.divide(x, op.add(op.abs(x), const(8)))),
    "subtract": (ROWS, lambda x: op.subtract(x, const(1, 8))),
    "multiply": (ROWS, lambda x: op.multiply(x, x)),
    "add": (ROWS, lambda x: op.add(x, const(8))),
}
NEVER = {
    "dense": "the pattern of matmul, which is tried first",
    "batch_norm": "batch norms are folded or taken apart before",
    "quantize": "asks for one operand of three",
    "dequantize": "asks for one operand of three",
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    table = backends.get("example_npu").table()
    lab.register("example_npu", patterns=table, codegen=exactly)
    yield
    lab.unregister("example_npu")


def test_every_pattern_of_the_table_is_tested() -> None:
    names = {str(name) for name, *_ in backends.get("example_npu").table()}
    assert names == {f"example_npu.{name}" for name in (*MATCHED, *NEVER)}


@needs_cc
@pytest.mark.parametrize("name", MATCHED)
def test_pattern_is_offloaded_and_gives_the_results_of_llvm(name: str) -> None:
    shape, body = MATCHED[name]
    mod, x = module([var("x", *shape)], lambda emit, x: emit(body(x))), random(*shape)
    parted = byoc_lab.trace(mod, "example_npu").result
    assert f'"Composite": "example_npu.{name}"' in parted.script()
    built = lab.build(parted)
    np.testing.assert_allclose(built.run([x])[0], plain(mod, x), rtol=1e-4, atol=1e-5)
    built.assert_offloaded()


def test_entry_with_one_operand_of_quantize_never_matches() -> None:
    scale, zero = relax.const(np.float32(0.1)), relax.const(np.int8(0))
    mod = module(
        [var("x", *ROWS)], lambda emit, x: emit(op.quantize(x, scale, zero, out_dtype="int8"))
    )
    (line,) = [
        line
        for line in str(byoc_lab.explain_patterns("example_npu", mod)).splitlines()
        if "example_npu.quantize" in line
    ]
    assert "never" in line and "quantize with 1 operand (not 3)" in line
