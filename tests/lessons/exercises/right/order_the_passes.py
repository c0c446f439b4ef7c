"""Other right answers to "order-the-passes"."""

from __future__ import annotations

from byoc_lab.lessons.solutions.order_the_passes import ORDER


def folded_twice(names):
    return ["FoldConstant", *ORDER[:3], "FoldConstant", *ORDER[3:]]


def a_tuple(names):
    return tuple(n for n in ORDER if n in names)


def composites_early(names):
    first = ["SimplifyInference", "FoldScaleAxis", "MergeComposite", "FoldConstant"]
    return first + [n for n in ORDER if n not in first]


def a_region_for_each_block(names):
    return [*ORDER[:3], "MergeCompilerRegions", "MergeComposite", "AnnotateTarget", ORDER[-1]]


RIGHT = (folded_twice, a_tuple, composites_early, a_region_for_each_block, ORDER)
