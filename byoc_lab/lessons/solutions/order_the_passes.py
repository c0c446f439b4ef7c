"""Answers to "order-the-passes"."""

from __future__ import annotations

ORDER = [
    "SimplifyInference", "FoldScaleAxis", "FoldConstant", "MergeComposite", "AnnotateTarget",
    "MergeCompilerRegions", "PartitionGraph",
]  # fmt: skip


def answer(names):
    return sorted(names, key=ORDER.index)


# Typical mistakes


def one_name(names):
    return "SimplifyInference"


def invented(names):
    return [*answer(names), "FuseOps"]


def without_folding(names):
    return [name for name in answer(names) if name != "FoldScaleAxis"]


def partition_first(names):
    return ["PartitionGraph", *answer(names)[:-1]]


def annotations_first(names):
    return ["AnnotateTarget", "FoldConstant", *answer(names)]


def simplified_last(names):
    order = answer(names)
    return [*order[3:], *order[:3]]


def composites_after_annotations(names):
    order = answer(names)
    return [*order[:3], "AnnotateTarget", "MergeComposite", *order[5:]]


WRONG = {
    "kind": one_name,
    "unknown": invented,
    "left-out": without_folding,
    "no-region": partition_first,
    "refused": annotations_first,
    "host": simplified_last,
    "no-composite": composites_after_annotations,
}
