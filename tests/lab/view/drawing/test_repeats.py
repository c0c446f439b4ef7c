"""Detection of repeated blocks in a graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.lab.view.drawing.repeats import Unit, repeats


def chain(signs: str) -> tuple[list[Unit], set[tuple[int, int]]]:
    units = [Unit(s, heavy=s == "c") for s in signs]
    return units, {(n, n + 1) for n in range(len(signs) - 1)}


def test_repeated_blocks_in_a_chain_are_found() -> None:
    (run,) = repeats(*chain("xcrcrcry"))
    assert run == (1, [[1, 2], [3, 4], [5, 6]])


def test_two_repetitions_do_not_form_a_run() -> None:
    assert repeats(*chain("xcrcry")) == []


def test_block_begins_at_an_expensive_operator() -> None:
    (run,) = repeats(*chain("brcbrcbrcbr"))
    assert run == (2, [[2, 3, 4], [5, 6, 7], [8, 9, 10]])


def test_residual_blocks_are_found() -> None:
    """Three blocks: two convolutions and an addition of the block's input."""
    units, edges = [Unit("stem")], set()
    for _ in range(3):
        last = len(units) - 1
        units += [Unit("c", heavy=True), Unit("c", heavy=True), Unit("+")]
        edges |= {(last, last + 1), (last + 1, last + 2), (last + 2, last + 3), (last, last + 3)}
    (run,) = repeats(units, edges)
    assert run == (1, [[1, 2, 3], [4, 5, 6], [7, 8, 9]])


def test_attached_unit_is_in_the_block_of_its_user() -> None:
    units = [Unit("x"), *[Unit("w", attached=True), Unit("c")] * 3]
    edges = {(1, 2), (3, 4), (5, 6), (0, 2), (2, 4), (4, 6)}
    (run,) = repeats(units, edges)
    assert run == (1, [[1, 2], [3, 4], [5, 6]])


@given(st.text("abc", max_size=40))
def test_blocks_of_a_run_are_equal_and_in_order(signs: str) -> None:
    taken: list[int] = []
    for first, blocks in repeats(*chain(signs)):
        assert len(blocks) >= 3 and blocks[0][0] == first
        assert len({tuple(signs[n] for n in block) for block in blocks}) == 1
        taken += [n for block in blocks for n in block]
    assert taken == sorted(set(taken))
