"""Structural hashes are equal in every process; `test_structural.py` compares hashes of equal
nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from byoc_lab import relay
from byoc_lab.relay import structural_hash

ROOT = Path(__file__).parents[3]
HASHES = """
from byoc_lab.compat import relay
from byoc_lab.relay import structural_hash, testing, transform
from tests.relay.text.texts import PRINTED, code_of

for path in PRINTED:
    mod = relay.parse(code_of(path), infer=False)
    bare = [structural_hash(function, True) for function in mod.functions.values()]
    print(path.stem, structural_hash(mod), *bare)
for network in (testing.mlp, testing.mobilenet, testing.resnet):
    mod, _ = network.get_workload(1)
    print(network.__name__, structural_hash(mod))
    print(*relay.analysis.extract_fused_functions(mod))
n, m = relay.symbol("n"), relay.symbol("m")
print(structural_hash(relay.TensorType([n * m + 2 * n + 1, (n + m) // 2, relay.Any()], "int8")))
print(structural_hash(relay.var("free", shape=(2, 3)) + relay.const([1.0, 2.0])))
"""


def hashes(seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", HASHES],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_hashes_and_names_do_not_depend_on_python_s_hash_seed() -> None:
    first, second = hashes("1"), hashes("4711")
    assert len(first) > 20
    assert first == second


def test_different_nodes_have_different_hashes() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    different = [
        relay.add(x, y), relay.add(y, x), relay.add(x, x), relay.subtract(x, y), x, y,
        relay.nn.relu(x), relay.const(1), relay.const(1.0), relay.Tuple([x]), relay.Tuple([x, x]),
        relay.split(x, 3, 1).astuple(), relay.split(x, 1, 1).astuple(), relay.split(x, 3, 1)[1],
        relay.Function([x], x), relay.Function([x, y], x), relay.Function([x, y], y),
        relay.Function([x], x).with_attr("Primitive", 1),
        relay.Function([x], x).with_attr("Primitive", "1"),
        relay.annotation.compiler_begin(x, "a"), relay.annotation.compiler_begin(x, "b"),
        relay.TensorType((2, 3)), relay.TensorType((3, 2)), relay.TensorType((2, 3), "int8"),
    ]  # fmt: skip
    assert len({structural_hash(node) for node in different}) == len(different)
