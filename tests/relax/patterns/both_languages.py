"""Networks and modules in Relay and Relax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay.dataflow_pattern import (
    is_constant,
    is_op,
    wildcard,
)
from byoc_lab.run.inline import flattened
from byoc_lab.run.to_relax import to_relax

CONV = is_op("nn.conv2d")(wildcard(), is_constant())
DENSE = is_op("nn.dense")(wildcard(), is_constant())
BIAS = is_constant()


class Network:
    """Values of a network with one dtype."""

    def __init__(self, dtype: str = "float32"):
        self.dtype = dtype
        self._random = np.random.default_rng(0)

    def var(self, name: str, *shape: int) -> Any:
        return relay.var(name, shape=shape, dtype=self.dtype)

    def array(self, *shape: int) -> np.ndarray:
        return (self._random.standard_normal(shape) / 4).astype(self.dtype)

    def const(self, *shape: int) -> Any:
        return relay.const(self.array(*shape), self.dtype)


def in_both_languages(network: Any) -> tuple[Any, Any]:
    """A network in Relay, and the same network in Relax."""
    mod = byoc_lab.passes.InferType()(byoc_lab.IRModule.from_expr(network))
    return mod, to_relax(flattened(mod["main"]).main)
