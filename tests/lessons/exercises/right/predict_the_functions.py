"""Other right answers to "predict-the-functions"."""

from __future__ import annotations

import numpy as np

from byoc_lab import transform
from byoc_lab.lessons.solutions.predict_the_functions import LIBRARY
from byoc_lab.relay import Call


def by_passes(mod):
    steps = [transform.AnnotateTarget("edu"), transform.MergeCompilerRegions()]
    steps = [transform.InferType(), *steps, transform.PartitionGraph()]
    return len(transform.Sequential(steps)(mod).functions)


def from_the_text(mod):
    lines = [line for line in mod.astext(show_types=False).splitlines() if "(%" in line]
    kinds = "".join("h" if "exp(" in s or "negative(" in s else "l" for s in lines if "@" not in s)
    return 1 + sum(bool(part) for part in kinds.split("h"))


def from_the_result(mod):
    """Traverses from the result, and counts the boundaries of the library's part."""
    count, node, inside = 1, mod["main"].body, False
    while isinstance(node, Call):
        now = node.op.name in LIBRARY
        count += now and not inside
        node, inside = node.args[0], now
    return np.int64(count)


RIGHT = (by_passes, from_the_text, from_the_result)
