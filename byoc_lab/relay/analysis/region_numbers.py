"""The numbers of regions: "region 3" is the same region in all sentences, findings and pictures.

A region has the number of its first `compiler_begin`. In a module without earlier stages,
PartitionGraph gives the region's function the same number: TVM counts the begins of all compilers
but "default". Begins keep their numbers in later stages, so a region does too, and a merged region
has the number of its first member.
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
"""begin -> the number of the region that it opens. In a module with earlier stages also: external
function -> the number of its former region."""


def region_numbers(func: Expr, known: Numbers | None = None) -> dict[Expr, int]:
    """The number of the region of each begin of a function.

    known: the numbers of begins in earlier stages. A region gets the number of its first begin that
    is in `known`. Other regions get the next unused numbers, first the regions of back ends, then
    the regions of "default".
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
        assert region is not None  # every begin opens a region
        fresh = new[regions.opened[region.id]]
        number = next((known[begin] for begin in begins if begin in known), fresh)
        numbers.update(dict.fromkeys(begins, number))
    return numbers


def module_numbers(mod: IRModule, known: Numbers | None = None) -> dict[Expr, int]:
    """`region_numbers` of all functions of a module; each function is numbered separately, as in
    TVM."""
    if isinstance(mod, UnparsedModule):
        return {}
    numbers: dict[Expr, int] = {}
    for func in mod.functions.values():
        numbers |= region_numbers(func, known)
        if known and func in known:
            numbers[func] = known[func]
    return numbers


def _ignore(kind: str, node: Expr, details: Mapping[str, Any]) -> None:
    """Ignores problems of the RegionSet: malformed annotations are numbered too."""
