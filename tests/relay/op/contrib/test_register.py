"""`register_optimizer`: passes that a compiler runs on its functions during partitioning."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.passes import FoldConstant, PartitionGraph
from byoc_lab.relay import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.op.contrib import get_optimizer, register, register_optimizer

COMPILER = "optimizing"


@pytest.fixture
def seen() -> Iterator[list[IRModule]]:
    """The modules given to the optimizer of COMPILER, which folds constants."""
    given: list[IRModule] = []

    @register_optimizer(COMPILER)
    def optimize(mod: IRModule) -> IRModule:
        given.append(mod)
        return FoldConstant()(mod)

    yield given
    del register._OPTIMIZERS[COMPILER]


def test_partitioned_function_is_optimized(seen: list[IRModule]) -> None:
    x = relay.var("x", shape=(2,))
    one = compiler_begin(relay.const(np.ones(2, "float32")), COMPILER)
    two = compiler_begin(x, COMPILER)
    out = PartitionGraph()(IRModule.from_expr(compiler_end((one + one) * two, COMPILER)))
    (given,) = seen
    assert given["main"].is_typed and "Compiler" not in given["main"].attrs
    function = out["tvmgen_default_optimizing_main_0"]
    assert function.attrs["Compiler"] == COMPILER and function.is_typed
    constant, variable = function.body.args
    assert constant.numpy().tolist() == [2, 2]
    assert variable is function.params[0]


def test_optimizer_of_another_compiler_is_not_called(seen: list[IRModule]) -> None:
    assert get_optimizer("none") is None
    x = compiler_begin(relay.var("x", shape=(2,)), "none")
    PartitionGraph()(IRModule.from_expr(compiler_end(x + x, "none")))
    assert seen == []
