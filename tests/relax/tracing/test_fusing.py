"""The replay of FuseOpsByPattern equals TVM's result structurally."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.dpl import is_op, is_tuple_get_item, wildcard

from byoc_lab.relax.partition import patterns
from byoc_lab.relax.tracing.fusing import fused
from byoc_lab.run.tvm_runtime import same_structure
from tests.sweeps import some

from .drawn import drawn_module, drawn_table
from .networks import SMALL, dataflow, relax, resnet, transform, transposed_matmul, tvm

op = relax.op
ADD = is_op("relax.add")
TWO_ADDS = [("a.two", ADD(ADD(wildcard(), wildcard()), wildcard()))]
ITEM = [("a.item", is_op("relax.nn.relu")(is_tuple_get_item(wildcard(), 0)))]


def as_tvm_fuses(mod: Any, table: Any, bind_constants: bool = True) -> int:
    """Asserts that the replay gives TVM's result; returns the number of groups."""
    wanted = transform.FuseOpsByPattern(table, bind_constants=bind_constants)(mod)
    found, runs, _ = fused(mod, table, bind_constants=bind_constants)
    assert same_structure(found, wanted), wanted.script(show_meta=False)
    return sum(len(groups) for run in runs for groups in run.outlined.groups.values())


def shared(emit: Any, x: Any) -> Any:
    """A value used inside two matches."""
    first = emit(op.add(x, relax.const(1.0)))
    return emit(relax.Tuple([emit(op.add(first, relax.const(n))) for n in (2.0, 3.0)]))


def halves(emit: Any, x: Any) -> Any:
    parts = emit(op.split(x, 2, axis=1))
    return emit(op.add(emit(op.nn.relu(emit(parts[0]))), emit(parts[1])))


def two_functions() -> Any:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(emit(op.add(x, x)))))
    other = dataflow(shared)["main"].with_attr("global_symbol", "other")
    return tvm.IRModule({"main": mod["main"], "other": other})


@pytest.mark.parametrize(
    ("mod", "table", "groups"),
    [
        (SMALL, patterns(), 3),
        (resnet(), patterns(), None),
        (transposed_matmul(), patterns(), None),
        (dataflow(shared), TWO_ADDS, 2),
        (dataflow(halves), ITEM, 1),
        (two_functions(), [*TWO_ADDS, *patterns()], None),
    ],
)
@pytest.mark.parametrize("bind_constants", [True, False])
def test_replay_on_a_known_module_equals_tvm_s_result(
    mod: Any, table: Any, groups: int | None, bind_constants: bool
) -> None:
    made = as_tvm_fuses(mod, table, bind_constants)
    assert made == groups if groups is not None else made > 0


def drawn_as_tvm_fuses(seed: int) -> int:
    draw = random.Random(seed)
    mod, table, bind_constants = drawn_module(draw), drawn_table(draw), draw.random() < 0.7
    try:
        return as_tvm_fuses(mod, table, bind_constants)
    except RuntimeError as error:  # TVM's pass forms a cycle for some matches, and reports it
        assert "cyclic dependency" in str(error)
        return 0


def test_replay_on_drawn_modules_equals_tvm_s_results() -> None:
    assert sum(map(drawn_as_tvm_fuses, range(30))) > 30


@pytest.mark.slow
def test_replay_on_many_drawn_modules_equals_tvm_s_results() -> None:
    assert sum(map(drawn_as_tvm_fuses, range(30, 30 + some(1000)))) > some(1000)


def test_refused_match_has_the_reason_of_its_check() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(x)))
    table = [("a.relu", is_op("relax.nn.relu")(wildcard()), {}, lambda context: False)]
    _, runs, (refusal,) = fused(mod, table, bind_constants=True)
    assert not runs and (refusal.entry, refusal.function) == ("a.relu", "main")
