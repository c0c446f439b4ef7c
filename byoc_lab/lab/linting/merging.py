"""Predicts the regions that MergeCompilerRegions would form in a function."""

from __future__ import annotations

from byoc_lab.lab.linting.cycles import cycles
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Expr, Var


def merge_cycles(subject: Subject) -> list[tuple[Region, list[Expr], list[Call]]]:
    """The cycles that merging would create: paths on which the result of a merged region returns to
    it.

    Each comes with the region, and the calls on the path that merging would see if they were
    annotated; none for a path through a `let`, which merging does not follow.
    """
    if subject.merged is None or cycles(subject, subject.regions):
        return []
    found = []
    for region, path in cycles(subject, subject.merged):
        between = [
            n
            for n in path
            if isinstance(n, Call) and not is_annotation(n) and subject.regions.of(n) is None
        ]
        crosses_let = any(isinstance(n, Var) for n in path)
        found.append((region, path, [] if crosses_let else between))
    return found
