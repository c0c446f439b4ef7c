"""`reduce` on random modules: properties of the result for any predicate."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.reducing.edits import bypasses, composites, edited, may_be_parameter
from byoc_lab.lab.reducing.measures import size_of
from byoc_lab.lab.reducing.simplifying import CHANGES
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from tests.lab.reducing.networks import operators
from tests.strategies import modules
from tests.sweeps import some


class Wanted:
    """Holds for modules with at least the given numbers of calls, and with the given edges
    between operators."""

    def __init__(self, counts: dict[str, int], edges: set[tuple[str, str]]):
        self.counts, self.edges = counts, edges

    def __call__(self, mod: IRModule) -> bool:
        found = Counter(operators(mod))
        return all(found[n] >= c for n, c in self.counts.items()) and self.edges <= edges(mod)


def edges(mod: IRModule) -> set[tuple[str, str]]:
    """Pairs of operator names: the first one's result is an operand of the second."""
    return {
        (node.op.name, part.op.name)
        for func in mod.functions.values()
        for node in post_order(func.body)
        if isinstance(node, Call) and isinstance(node.op, Op)
        for part in node.args
        if isinstance(part, Call) and isinstance(part.op, Op)
    }


@st.composite
def predicates(draw: st.DrawFn, mod: IRModule) -> Wanted:
    """Strategy: a predicate that holds for the module."""
    found = Counter(operators(mod))
    names = draw(st.lists(st.sampled_from(sorted(found)), min_size=1, max_size=3, unique=True))
    counts = {n: draw(st.integers(1, found[n])) for n in names}
    between = sorted(edges(mod))
    some = draw(st.lists(st.sampled_from(between), max_size=2)) if between else []
    return Wanted(counts, set(some))


def single_reductions(mod: IRModule, keep: bool = False) -> Iterator[IRModule]:
    """Typed modules that are one change smaller; keep: unused parameters stay."""
    candidates = []
    for node in composites(mod):
        candidates += [edited(mod, {node: other}, keep=keep) for other in bypasses(node)]
        if may_be_parameter(node):
            candidates.append(edited(mod, {node: None}, keep=keep))
    for changes in CHANGES:
        candidates += [make() for _, make in changes(mod, keep)]
    for candidate in candidates:
        if candidate is None:
            continue
        try:
            typed = relay.transform.InferType()(candidate)
        except ByocLabError:
            continue
        if size_of(typed) < size_of(mod):
            yield typed


@settings(max_examples=some(15))
@given(st.data())
def test_result_satisfies_the_predicate_is_minimal_and_has_a_failing_neighbour(
    data: st.DataObject,
) -> None:
    mod = data.draw(modules())
    if not operators(mod):
        return
    wanted = data.draw(predicates(mod))
    found = byoc_lab.reduce(mod, wanted, budget=10_000)
    assert found.minimal and wanted(found.module)
    assert found.passing is not None and not wanted(found.passing)
    for each in (found.module, found.passing):
        again = relay.transform.InferType()(relay.parse(each.astext(exact=True)))
        byoc_lab.assert_structural_equal(again, each)
    assert size_of(found.passing) < size_of(found.module) <= size_of(mod)
    assert not any(wanted(smaller) for smaller in single_reductions(found.module))


@given(st.data())
def test_every_cut_is_well_typed_and_contains_only_calls_of_the_module(data: st.DataObject) -> None:
    mod = data.draw(modules())
    nodes = [n for n in composites(mod) if may_be_parameter(n)]
    removed = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=5, unique=True))
    made = relay.transform.InferType()(edited(mod, dict.fromkeys(removed)))
    assert not Counter(operators(made)) - Counter(operators(mod))


@settings(max_examples=some(15))
@given(modules(), st.integers(2, 5), st.integers(0, 99))
def test_result_for_a_random_predicate_is_minimal_and_repeatable(
    mod: IRModule, of: int, seed: int
) -> None:
    """The predicate holds for the given module and, by a hash of the text, for one in `of` other
    modules."""
    given_text = mod.astext()

    def lottery(each: IRModule) -> bool:
        text = each.astext()
        return text == given_text or zlib.crc32(f"{seed} {text}".encode()) % of == 0

    runs = [byoc_lab.reduce(mod, lottery, budget=10_000) for _ in range(2)]
    assert runs[0].steps == runs[1].steps and runs[0].minimal and lottery(runs[0].module)
    if runs[0].passing is not None:
        assert not lottery(runs[0].passing)
    unused = relay.transform.InferType()(edited(mod, {}))
    keep = size_of(unused) < size_of(mod) and not lottery(unused)
    assert not any(lottery(smaller) for smaller in single_reductions(runs[0].module, keep))
