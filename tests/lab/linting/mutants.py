"""Mutants: valid annotated modules with one annotation deleted, doubled, renamed or moved.

For each: the error of PartitionGraph, alone and after MergeCompilerRegions; whether the result
computes the same numbers; and whether the linter has a finding near the annotation. `sweep.py`
examines all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from byoc_lab import lint, relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.linting.edits import Begin, Edit, End, Remove, Retarget, edited_nodes
from byoc_lab.lab.linting.edits import without_annotations as bare
from byoc_lab.lessons.cases import live
from byoc_lab.passes import InferType, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, users
from tests.lab.linting.values import inputs_of, values_of
from tests.parity.goldens.files import GoldenFile, golden_files

KINDS = ("delete", "double", "rename", "move up", "move down")
OTHER = "another"


@dataclass(eq=False)
class Mutant:
    """A module with one annotation changed.

    origin: the valid module. name: the name of the changed function. annotation: the annotation of
    `origin` that was changed. mod: the mutant. near: the nodes of the mutant that are at most one
    operator away from the edge of the annotation.
    """

    origin: IRModule
    name: str
    kind: str
    annotation: Call
    mod: IRModule
    near: set[Expr]

    @cached_property
    def fault(self) -> str:
        """The failure when the mutant is partitioned; empty if there is none."""
        try:
            results = [PartitionGraph()(InferType()(self.mod))]
            results.append(PartitionGraph()(MergeCompilerRegions()(InferType()(self.mod))))
        except ByocLabError as error:
            return f"{type(error).__name__}: {str(error)[:100]}"
        return _wrong_numbers(self.origin, results)

    @cached_property
    def findings(self) -> list[Finding]:
        return lint(self.mod).all

    @property
    def found(self) -> bool:
        """Whether a finding is near the annotation."""
        places = ({f.node, *f.others} for f in self.findings)
        return any(not self.near.isdisjoint(place) for place in places)

    def __str__(self) -> str:
        at = f"{self.annotation.op.name}[{compiler_of(self.annotation)}]"
        return f"{self.kind} {at} in @{self.name}:\n{self.mod}\nfault: {self.fault}"


def mutants(mod: IRModule) -> Iterator[Mutant]:
    """Every mutant of a module."""
    for gv, func in mod.functions.items():
        for node in post_order(func):
            if is_annotation(node):
                for kind in KINDS:
                    for edits in _edits(kind, node, func):
                        yield _mutant(mod, gv.name_hint, kind, node, edits)


def _edits(kind: str, node: Call, func: Function) -> Iterator[list[Edit]]:
    make = Begin if is_annotation(node, BEGIN) else End
    compiler, value = compiler_of(node), node.args[0]
    if kind == "delete":
        yield [Remove(node)]
    elif kind == "double":
        yield [make(((node, 1),), compiler)]
    elif kind == "rename":
        yield [Retarget(node, OTHER)]
    elif kind == "move up":
        for n, part in enumerate(value.parts()):
            if not isinstance(part, (relay.Op, relay.GlobalVar, Function)):
                yield [Remove(node), make(((value, n),), compiler)]
    else:
        for user in users(func)[node]:
            over = [(u, n) for u in users(func)[user] for n, p in enumerate(u.parts()) if p is user]
            if over and not isinstance(user, Function):
                yield [Remove(node), make(tuple(over), compiler)]


def _mutant(mod: IRModule, name: str, kind: str, node: Call, edits: list[Edit]) -> Mutant:
    func = mod[name]
    became = edited_nodes(func, edits)
    changed = mod.with_functions(
        {gv: became[func] if f is func else f for gv, f in mod.functions.items()}
    )
    edge = [node.args[0], *users(func)[node]]
    return Mutant(mod, name, kind, node, changed, _near({became[n] for n in edge}, became[func]))


def _near(edge: set[Expr], func: Expr) -> set[Expr]:
    """The nodes at most one operator from an edge; annotations do not count as operators."""
    over = users(func)
    found = _with_annotations(edge, over)
    beside = {n for node in found for n in (*node.parts(), *over.get(node, ()))}
    return found | _with_annotations(beside, over)


def _with_annotations(nodes: set[Expr], over: dict[Expr, list[Expr]]) -> set[Expr]:
    """The nodes, and nodes connected to them through annotations only."""
    found, todo = set(nodes), list(nodes)
    while todo:
        node = todo.pop()
        beside = [u for u in over.get(node, ()) if is_annotation(u)]
        if is_annotation(node):
            beside += [*node.args, *over.get(node, ())]
        else:
            beside += [p for p in node.parts() if is_annotation(p)]
        fresh = [n for n in beside if n not in found]
        found.update(fresh)
        todo += fresh
    return found


def _wrong_numbers(origin: IRModule, results: list[IRModule]) -> str:
    """Whether the partitioned mutant and its origin compute different results."""
    inputs = inputs_of(origin)
    if inputs is None:
        return ""
    expected = values_of(bare(origin), inputs)
    for result in results:
        found = values_of(result, inputs)
        if not all(np.allclose(a, b, equal_nan=True) for a, b in zip(expected, found, strict=True)):
            return "other numbers"
    return ""


@cache
def corpus() -> dict[str, IRModule]:
    """The valid annotated modules of the golden files and of the case studies, by name."""
    found = {f"case {case.name}": case.fixed() for case in live()}
    for folder in ("MergeCompilerRegions", "PartitionGraph"):
        for path in golden_files(folder):
            if not path.stem.startswith("annotations_M"):  # these modules are malformed on purpose
                found[f"{folder}/{path.stem}"] = _read(path)
    return {name: mod for name, mod in found.items() if mod is not None and is_valid(mod)}


def _read(path: Path) -> IRModule | None:
    try:
        return InferType()(relay.parse(GoldenFile.read(path).text_before))
    except ByocLabError:
        return None  # saved without the metadata of its constants


def is_valid(mod: IRModule) -> bool:
    """Whether a module has annotations, and can be partitioned with and without merging."""
    if not any(is_annotation(n) for f in mod.functions.values() for n in post_order(f)):
        return False
    try:
        PartitionGraph()(mod)
        PartitionGraph()(MergeCompilerRegions()(mod))
    except ByocLabError:
        return False
    return True
