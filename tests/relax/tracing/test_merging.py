"""The replay of MergeCompositeFunctions equals TVM's result structurally."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.dpl import is_op, wildcard

from byoc_lab.relax.partition import patterns
from byoc_lab.relax.tracing.merging import merged
from byoc_lab.run.tvm_runtime import same_structure
from tests.sweeps import some

from .drawn import drawn_module, drawn_table
from .networks import SMALL, dataflow, relax, resnet, transform

op = relax.op
CALLS = {
    name: is_op(f"relax.{name}")
    for name in ("nn.relu", "nn.gelu", "add", "erf", "split", "concat", "reshape")
}


def entry(back_end: str, name: str) -> Any:
    operands = {"add": 2, "reshape": 2}.get(name, 1)
    return f"{back_end}.{name}", CALLS[name](*(wildcard() for _ in range(operands)))


def of(**names: str) -> list[Any]:
    """A table: for each back end, its operators."""
    return [entry(back_end, name) for back_end, all_ in names.items() for name in all_.split()]


def as_tvm_merges(mod: Any, table: Any) -> tuple[int, int]:
    """Asserts that the replay gives TVM's result; returns its regions and its prevented merges."""
    composites = transform.FuseOpsByPattern(table)(mod)
    wanted = transform.MergeCompositeFunctions()(composites)
    found, decisions = merged(composites)
    assert same_structure(found.mod, wanted), wanted.script(show_meta=False)
    return len(found.groups.get("main", ())), sum(not made.joined for made in decisions)


def diamond(emit: Any, x: Any) -> Any:
    first = emit(op.nn.relu(x))
    return emit(op.add(emit(op.nn.gelu(first)), emit(op.erf(first))))


def joins_two_regions(emit: Any, x: Any) -> Any:
    return emit(op.add(emit(op.nn.relu(x)), emit(op.nn.gelu(x))))


def two_ways_round(emit: Any, x: Any) -> Any:
    """Two results, each an input of the other's consumer."""
    left, right = emit(op.nn.relu(x)), emit(op.nn.gelu(x))
    a, b = emit(op.erf(emit(op.add(left, right)))), emit(op.add(right, left))
    return emit(op.add(emit(op.add(a, left)), emit(op.add(b, right))))


def items(emit: Any, x: Any) -> Any:
    halves = emit(op.split(x, 2, axis=1))
    return emit(op.add(emit(op.nn.relu(emit(halves[0]))), emit(halves[1])))


def a_tuple_that_is_a_result(emit: Any, x: Any) -> Any:
    halves = emit(op.split(x, 2, axis=1))
    return emit(relax.Tuple([halves, emit(op.nn.relu(emit(halves[0])))]))


def a_tuple_of_one_region(emit: Any, x: Any) -> Any:
    first = emit(op.nn.relu(x))
    pair = emit(relax.Tuple([first, emit(op.nn.gelu(first))]))
    return emit(op.add(emit(relax.TupleGetItem(pair, 0)), emit(relax.TupleGetItem(pair, 1))))


def a_shape(emit: Any, x: Any) -> Any:
    return emit(op.nn.relu(emit(op.reshape(emit(op.nn.relu(x)), (8,)))))


def the_same_composite_twice(emit: Any, x: Any) -> Any:
    return emit(op.nn.relu(emit(op.erf(emit(op.nn.relu(emit(op.nn.relu(x))))))))


def a_dead_composite(emit: Any, x: Any) -> Any:
    first = emit(op.nn.relu(x))
    emit(op.nn.gelu(emit(op.erf(first))))
    return first


@pytest.mark.parametrize(
    ("body", "table", "regions", "kept_apart"),
    [
        (diamond, of(a="nn.relu nn.gelu add"), 2, 1),
        (diamond, of(a="nn.relu nn.gelu add", b="erf"), 3, 3),
        (joins_two_regions, of(a="nn.relu nn.gelu add"), 1, 0),
        (joins_two_regions, of(a="nn.relu add", b="nn.gelu"), 2, 1),
        (two_ways_round, of(a="nn.relu nn.gelu add"), None, None),
        (items, of(a="nn.relu add split"), 1, 0),
        (items, of(a="nn.relu add", b="split"), None, None),
        (a_tuple_that_is_a_result, of(a="nn.relu split"), None, None),
        (a_tuple_of_one_region, of(a="nn.relu nn.gelu add"), 1, 0),
        (a_shape, of(a="nn.relu reshape"), 1, 0),
        (the_same_composite_twice, of(a="nn.relu"), 2, 0),
        (a_dead_composite, of(a="nn.relu nn.gelu"), None, None),
    ],
)
def test_replay_on_a_known_module_equals_tvm_s_result(
    body: Any, table: Any, regions: int | None, kept_apart: int | None
) -> None:
    found = as_tvm_merges(dataflow(body), table)
    if regions is not None:
        assert found == (regions, kept_apart)


@pytest.mark.parametrize("mod", [SMALL, resnet()])
def test_replay_on_a_network_equals_tvm_s_result(mod: Any) -> None:
    regions, _ = as_tvm_merges(mod, patterns())
    assert regions > 0


def drawn_as_tvm_merges(seed: int) -> int:
    draw = random.Random(seed)
    mod = drawn_module(draw)
    entries = [entry for _ in range(draw.randint(1, 5)) for entry in drawn_table(draw)]
    table = list({name: (name, *rest) for name, *rest in entries}.values())
    try:
        return as_tvm_merges(mod, table)[0]
    except RuntimeError as error:  # TVM's FuseOpsByPattern forms a cycle, or loses a variable
        assert any(known in str(error) for known in ("cyclic dependency", "memo_.count"))
        return 0


def test_replay_on_drawn_modules_equals_tvm_s_results() -> None:
    assert sum(map(drawn_as_tvm_merges, range(30))) > 30


@pytest.mark.slow
def test_replay_on_many_drawn_modules_equals_tvm_s_results() -> None:
    assert sum(map(drawn_as_tvm_merges, range(30, 30 + some(1000)))) > some(1000)
