"""`Subject`: the function under examination, with the analyses that several rules need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from byoc_lab.backends.registry import get as get_backend
from byoc_lab.backends.registry import is_registered
from byoc_lab.errors import ByocLabError, PartitionError
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.merge_compiler_regions import merged_regions
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
    DEFAULT,
    END,
    compiler_of,
    is_annotation,
)
from byoc_lab.relay.analysis.region_numbers import Numbers, region_numbers
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr, Function, Let, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module


@dataclass(frozen=True)
class Problem:
    """A problem that the region analysis reported (`RegionSet.problem` lists the kinds)."""

    kind: str
    node: Expr
    details: dict[str, Any]


@dataclass(eq=False)
class Subject:
    """The function under examination. Analyses that several rules need are computed once."""

    func: Function
    name: str
    mod: IRModule
    context: Context = field(default_factory=Context)
    _known: dict[str, frozenset[str] | None] = field(default_factory=dict, repr=False)

    @property
    def regions(self) -> RegionSet:
        return self._analysis[0]

    @property
    def problems(self) -> list[Problem]:
        """The problems that the region analysis reported."""
        return self._analysis[1]

    @cached_property
    def _analysis(self) -> tuple[RegionSet, list[Problem]]:
        problems: list[Problem] = []

        def note(kind: str, node: Expr, details: dict[str, Any]) -> None:
            problems.append(Problem(kind, node, details))

        return RegionSet(self.func, note), problems

    @property
    def merged(self) -> RegionSet | None:
        """The regions after MergeCompilerRegions; None if it refuses the function."""
        return self._merging[0]

    @property
    def merging_fails(self) -> bool:
        """Whether MergeCompilerRegions finds regions that depend on themselves."""
        return self._merging[1]

    @cached_property
    def _merging(self) -> tuple[RegionSet | None, bool]:
        """The merged regions, or None, and whether merging fails."""
        if not self.annotated or self.problems_found or not self.context.may_merge:
            return None, False
        try:
            return merged_regions(self.func), False
        except PartitionError:
            return None, True

    @property
    def problems_found(self) -> bool:
        """Whether the analysis reported problems other than regions of mixed targets."""
        return any(p.kind != "mixed-targets" for p in self.problems)

    @cached_property
    def nodes(self) -> list[Expr]:
        return list(post_order(self.func))

    @cached_property
    def typed(self) -> dict[Expr, Expr]:
        """Map each node to its typed copy; empty if types cannot be inferred."""
        if self.func.is_typed:
            return {n: n for n in self.nodes}
        try:
            known = self.mod if self.func in self.mod.functions.values() else None
            typed = infer_module(known)[self.name] if known is not None else None
        except ByocLabError:
            return {}  # other rules, or the passes, report the error
        typed_nodes = list(post_order(typed)) if typed is not None else []
        if len(typed_nodes) != len(self.nodes):
            return {}
        return dict(zip(self.nodes, typed_nodes, strict=True))

    @cached_property
    def annotated(self) -> bool:
        return any(is_annotation(n) for n in self.nodes)

    @cached_property
    def place(self) -> dict[Expr, int]:
        """The position of each node in `nodes`."""
        return {n: i for i, n in enumerate(self.nodes)}

    @cached_property
    def users(self) -> dict[Expr, list[Expr]]:
        """The users of each node, without duplicates."""
        found: dict[Expr, list[Expr]] = {n: [] for n in self.nodes}
        for node in self.nodes:
            for part in dict.fromkeys(node.parts()):
                found[part].append(node)
        return found

    def in_order(self, region: Region) -> list[Expr]:
        """The nodes of a region, operands before users."""
        return sorted(region.nodes, key=self.place.__getitem__)

    @cached_property
    def let_values(self) -> set[Expr]:
        """The values that `let` binds."""
        return {n.value for n in self.nodes if isinstance(n, Let)}

    @cached_property
    def unmerged(self) -> bool:
        """Whether an end of a compiler is directly in a begin of the same compiler, as before
        merging."""
        return any(
            is_annotation(n, BEGIN)
            and is_annotation(n.args[0], END)
            and compiler_of(n) == compiler_of(n.args[0]) != DEFAULT
            for n in self.nodes
        )

    @cached_property
    def operators_of(self) -> dict[str, set[str]]:
        """For each compiler, the operators in its closed regions; for "", the operators outside of
        regions. This is evidence, not proof, of the operators that each compiler supports.
        """
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, Call) and isinstance(node.op, Op) and not is_annotation(node):
                region = self.regions.of(node)
                if region is None or region.outputs:
                    key = region.target if region is not None else ""
                    found.setdefault(key, set()).add(node.op.name)
        return found

    def operators_known_to(self, compiler: str) -> frozenset[str] | None:
        """The operators that a registered back end supports; None if they are unknown."""
        if compiler not in self._known:
            known = is_registered(compiler)
            self._known[compiler] = get_backend(compiler).operators() if known else None
        return self._known[compiler]

    def problems_of(self, kind: str) -> Iterator[Problem]:
        return (p for p in self.problems if p.kind == kind)

    def number(self, region: Region) -> int:
        """The number of a region in messages."""
        return self._numbers[self.regions.first_begin(region)]

    @cached_property
    def _numbers(self) -> Numbers:
        return region_numbers(self.func, self.context.region_numbers)

    def function_number(self, region: Region) -> int:
        """The number in the name of the function that PartitionGraph creates for a region."""
        return self._function_numbers[self.regions.first_begin(region)]

    @cached_property
    def _function_numbers(self) -> Numbers:
        """Numbers without earlier stages, because PartitionGraph does not know those."""
        return region_numbers(self.func) if self.context.region_numbers else self._numbers

    @cached_property
    def all_regions(self) -> list[Region]:
        return list(self.regions) if self.annotated else []

    @cached_property
    def offloaded(self) -> list[Region]:
        """The regions of which PartitionGraph creates functions."""
        return [r for r in self.all_regions if not self.is_dropped(r.target)]

    def is_dropped(self, compiler: str) -> bool:
        """Whether PartitionGraph drops the annotations of a compiler, as of "default"."""
        return compiler == DEFAULT and self.context.drops_default

    def offloaded_region(self, node: Expr) -> Region | None:
        """The region of a node, if PartitionGraph creates a function for it."""
        region = self.regions.of(node)
        return None if region is None or self.is_dropped(region.target) else region
