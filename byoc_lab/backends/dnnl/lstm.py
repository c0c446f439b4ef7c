"""The cell of an LSTM among the operators of a region: the native operation `lstm_cell`.

    cell = sigmoid(forget) * before + sigmoid(input) * tanh(new)
    state = sigmoid(output) * tanh(cell)

with four gates that are the quarters of one matrix, in any order. The cell has two results, but a
pattern matches a single result. Therefore code generation finds cells, instead of MergeComposite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.op.tensor.slice import slices_of


@dataclass(frozen=True)
class Cell:
    """parts: input, output, forget and new, as slices of `gates`. order: the index of each part's
    quarter.
    inner: the calls that compute the cell and the state."""

    gates: Expr
    before: Expr
    cell: Call
    state: Call
    parts: tuple[Call, ...]
    order: tuple[int, ...]
    inner: tuple[Call, ...]


def find_cells(nodes: Sequence[Expr], uses: Counter[Expr]) -> Iterator[Cell]:
    """The cells among the typed nodes of a region whose inner calls have no other users."""
    for node in nodes:
        found = _read(node)
        if found is not None and all(uses[call] == 1 for call in found.inner):
            yield found


def _read(state: Expr) -> Cell | None:
    """The cell with this expression as its state; None if there is none."""
    for output, bounded in _operands(state, "multiply"):
        cell = _operand(bounded, "tanh")
        for kept, added in _operands(cell, "add"):
            for forget, before in _operands(kept, "multiply"):
                for first, new in _operands(added, "multiply"):
                    parts = [_operand(gate, "sigmoid") for gate in (first, output, forget)]
                    slices = [*parts, _operand(new, "tanh")]
                    calls = tuple(part for part in slices if isinstance(part, Call))
                    order = _quarters(calls)
                    if order is None or before.checked_type != state.checked_type:
                        continue
                    inner = (bounded, kept, added, output, forget, first, new)
                    assert isinstance(cell, Call) and isinstance(state, Call)
                    of = tuple(call for call in inner if isinstance(call, Call))
                    return Cell(calls[0].args[0], before, cell, state, calls, order, of)
    return None


def _operands(expr: Expr | None, name: str) -> list[tuple[Expr, Expr]]:
    """The operands of a commutative call in both orders; none if it calls another operator."""
    if not isinstance(expr, Call) or not expr.is_op(name):
        return []
    first, second = expr.args
    return [(first, second), (second, first)]


def _operand(expr: Expr, name: str) -> Expr | None:
    return expr.args[0] if isinstance(expr, Call) and expr.is_op(name) else None


def _quarters(parts: Sequence[Call]) -> tuple[int, ...] | None:
    """The number of the quarter of one matrix's columns that each part is; None if the parts are
    not all four quarters."""
    if len(parts) != 4 or not all(part.is_op("strided_slice") for part in parts):
        return None
    if len({part.args[0] for part in parts}) != 1:
        return None
    shape = parts[0].args[0].checked_type.shape
    if len(shape) != 2 or not all(isinstance(n, int) for n in shape):
        return None
    (rows, columns), found = shape, []
    for part in parts:
        cuts = slices_of(part.attrs, shape)
        cut = range(*cuts.get(1, slice(None)).indices(columns))
        if range(*cuts.get(0, slice(None)).indices(rows)) != range(rows):
            return None
        if cut != range(cut.start, cut.start + columns // 4) or cut.start % (columns // 4):
            return None
        found.append(cut.start // (columns // 4))
    return tuple(found) if sorted(found) == [0, 1, 2, 3] else None
