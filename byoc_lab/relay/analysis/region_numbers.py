"""The numbers of regions: "region 3" is the same region in a sentence, a finding and a picture.

A region has the number of its first begin. In a module without a past, that is the number that
PartitionGraph gives the region's function: TVM counts the begins of all compilers but "default".
Begins that passes keep, keep their numbers, so a region keeps its number from stage to stage, and a
merged region has the number of its first member.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from byoc_lab.relay.analysis.annotations import DEFAULT, compiler_of
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule

Numbers = Mapping[Expr, int]
"""By begin: the number of the region that it opens. In a module with a past also by external
function: the number of the region that it was."""


def region_numbers(func: Expr, known: Numbers | None = None) -> dict[Expr, int]:
    """The number of the region of each begin of a function.

    known: the numbers that begins had before. A region has that of its first begin that has one.
    Other regions get the next numbers, those of "default" after those of back ends.
    """
    known = {} if known is None else known
    regions = RegionSet(func, _ignore)
    opened: dict[Region | None, list[Call]] = {}
    for begin in regions.opened:
        opened.setdefault(regions.of(begin), []).append(begin)
    start = 1 + max((known[begin] for begin in regions.opened if begin in known), default=-1)
    in_turn = sorted(regions.opened, key=lambda begin: compiler_of(begin) == DEFAULT)
    new = dict(zip(in_turn, count(start), strict=False))
    numbers: dict[Expr, int] = {}
    for region, begins in opened.items():
        assert region is not None  # every begin opens one
        fresh = new[regions.opened[region.id]]
        number = next((known[begin] for begin in begins if begin in known), fresh)
        numbers.update(dict.fromkeys(begins, number))
    return numbers


def module_numbers(mod: IRModule, known: Numbers | None = None) -> dict[Expr, int]:
    """The same for all functions of a module; each is numbered by itself, as in TVM."""
    if isinstance(mod, UnparsedModule):
        return {}
    numbers: dict[Expr, int] = {}
    for func in mod.functions.values():
        numbers |= region_numbers(func, known)
        if known and func in known:
            numbers[func] = known[func]
    return numbers


def _ignore(kind: str, node: Expr, details: Mapping[str, Any]) -> None:
    """Malformed annotations have numbers too."""
