"""`repeats`: runs of equal blocks in a dataflow graph, such as the residual blocks of ResNet.

The graph is cut wherever a single value leads from the earlier units to the later ones. The pieces
between the cuts are compared; consecutive equal pieces, or consecutive equal groups of up to
MAX_PERIOD pieces, form a run. The cost is linear in the number of units.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

MIN_TIMES = 3  # minimum number of equal blocks that form a run
MAX_PERIOD = 12


@dataclass(frozen=True)
class Unit:
    """A box or group to compare.

    attached: whether it belongs to its user, such as an input. heavy: whether a block should
    preferably start here.
    """

    sign: Hashable
    attached: bool = False
    heavy: bool = False


def repeats(
    units: Sequence[Unit], edges: Collection[tuple[int, int]]
) -> list[tuple[int, list[list[int]]]]:
    """Runs as (position of the first unit, the units of each block), in order.

    units: in evaluation order. edges: pairs of positions, source first.
    """
    pieces = pieces_of(units, edges)
    fed: dict[int, list[int]] = {}
    for source, target in sorted(edges):
        fed.setdefault(target, []).append(source)
    signs = _numbered([_sign(piece, units, fed) for piece in pieces])
    found = []
    n = 0
    while n < len(pieces):
        period, times, rest = _longest(signs, n)
        if times < MIN_TIMES:
            n += 1
            continue
        n += next((k for k in range(rest + 1) if any(units[i].heavy for i in pieces[n + k])), 0)
        blocks = [
            [i for piece in pieces[n + k * period : n + (k + 1) * period] for i in piece]
            for k in range(times)
        ]
        found.append((min(blocks[0]), blocks))
        n += period * times
    return found


def pieces_of(units: Sequence[Unit], edges: Collection[tuple[int, int]]) -> list[list[int]]:
    """The units between the cuts, in order; attached units are listed with their first user."""
    first_use: dict[int, int] = {}
    last_use: dict[int, int] = {}
    for source, target in edges:
        first_use[source] = min(first_use.get(source, target), target)
        last_use[source] = max(last_use.get(source, target), target)
    pieces: list[list[int]] = [[]]
    attached: dict[int, list[int]] = {}
    for n, unit in enumerate(units):
        if unit.attached and n in first_use:
            attached.setdefault(first_use[n], []).append(n)
    reach = -1  # the last user of any earlier unit
    for n, unit in enumerate(units):
        if unit.attached and n in first_use:
            continue
        pieces[-1] += [*attached.get(n, ()), n]
        if reach <= n:
            pieces.append([])
        reach = max(reach, last_use.get(n, n))
    return [piece for piece in pieces if piece]


def _sign(piece: list[int], units: Sequence[Unit], fed: dict[int, list[int]]) -> Hashable:
    """A key that is equal for equal pieces, from their units and the edges inside."""
    at = {n: k for k, n in enumerate(piece)}
    return tuple(
        (units[n].sign, tuple(at.get(source, -1) for source in fed.get(n, ()))) for n in piece
    )


def _numbered(signs: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(sign, len(numbers)) for sign in signs]


def _longest(signs: Sequence[int], start: int) -> tuple[int, int, int]:
    """The period and the number of repetitions that cover the most pieces from `start`, and by how
    many pieces the run could start later with equally many repetitions."""
    best = (1, 1, 0)
    for period in range(1, MAX_PERIOD + 1):
        end = start + period
        while end < len(signs) and signs[end] == signs[end - period]:
            end += 1
        times = (end - start) // period
        if times >= MIN_TIMES and times * period > best[0] * best[1]:
            best = (period, times, (end - start) % period)
    return best
