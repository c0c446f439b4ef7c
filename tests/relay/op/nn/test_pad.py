"""Compiled padding compared with numpy.pad."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.module import IRModule
from tests.relay.op.onnx_runs import numbers


@pytest.mark.parametrize(
    ("dtype", "width"),
    [
        ("float32", [(0, 0), (2, 1), (0, 3)]),
        ("uint8", [(1, 0), (0, 0), (0, 0)]),
        ("float32", [(0, 0), (-1, 2), (0, 0)]),
    ],
)
def test_pad_with_a_run_time_value_equals_numpy(dtype: str, width: list[tuple[int, int]]) -> None:
    x, value = relay.var("x", shape=(2, 3, 4), dtype=dtype), relay.var("v", shape=(), dtype=dtype)
    mod = IRModule.from_expr(relay.Function([x, value], relay.nn.pad(x, width, value)))
    data, filler = (numbers((2, 3, 4), 0) * 9).astype(dtype), np.array(7, dtype)
    data[0, 1, 2] = 0 if dtype == "uint8" else np.inf  # the data is not added to anything
    kept = data[
        tuple(
            slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(data.shape, width, strict=True)
        )
    ]
    wanted = np.pad(kept, [(max(0, a), max(0, b)) for a, b in width], constant_values=filler)
    (found,) = byoc_lab.build(mod).run([data, filler])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_edge_and_reflect_padding_equal_numpy(mode: str) -> None:
    x = relay.var("x", shape=(1, 3, 4))
    width = [(0, 0), (2, 0), (1, 3)]
    mod = IRModule.from_expr(relay.Function([x], relay.nn.pad(x, width, pad_mode=mode)))
    data = numbers((1, 3, 4), 0)
    (found,) = byoc_lab.build(mod).run([data])
    np.testing.assert_array_equal(found, np.pad(data, width, mode))


@pytest.mark.parametrize(
    ("pad", "most"),
    [
        (lambda x, n: relay.nn.pad(x, [(0, 0), (n, 0)], pad_mode="reflect"), 2),
        (lambda x, n: relay.nn.mirror_pad(x, [(0, 0), (0, n)], "REFLECT"), 2),
        (lambda x, n: relay.nn.mirror_pad(x, [(0, 0), (0, n)], "SYMMETRIC"), 3),
    ],
)
def test_mirror_image_longer_than_the_data_is_refused(pad, most: int) -> None:
    x = relay.var("x", shape=(2, 3))
    data = numbers((2, 3), 0)
    mods = [IRModule.from_expr(relay.Function([x], pad(x, n))) for n in (most, most + 1)]
    (found,) = byoc_lab.build(mods[0]).run([data])
    np.testing.assert_array_equal(found, byoc_lab.evaluate(mods[0], [data]).outputs[0])
    with pytest.raises(BuildError, match=f"axis 1 of size 3 can be extended by at most {most}"):
        byoc_lab.build(mods[1])
