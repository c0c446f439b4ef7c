"""Passes that may prepare a module for a back end: they simplify, fold, or convert it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.passes.framework.passes import Pass, passes_replacing
from byoc_lab.passes.layout.convert_layout import ConvertLayout
from byoc_lab.passes.quantize.to_mixed_precision import ToMixedPrecision
from byoc_lab.relay.ir.expr import Call, Expr, Op, TupleGetItem

FOLDING = ("FoldConstant", "FoldScaleAxis", "FoldConstant")
"""The passes that move what a norm becomes into the weights before it."""
FOLDED = "multiply"
"""The operator that FoldScaleAxis moves into weights."""


def simplifiers(found: Diagnosis) -> list[str]:
    """The passes that replace the call, or the expression that a pattern found in its place or next
    to it."""
    nodes: list[Expr] = [found.subject]
    if found.cause == "no-pattern":  # it is not offloaded as long as it is there
        return passes_replacing({found.subject.op_name})
    nodes += [s.found for s in (found.attempt.fit.stops if found.attempt else ())]
    nodes += [n.tuple_value for n in nodes if isinstance(n, TupleGetItem)]
    nodes += [a for n in nodes if isinstance(n, Call) for a in n.args if isinstance(a, Call)]
    nodes += [n.tuple_value for n in nodes if isinstance(n, TupleGetItem)]
    return passes_replacing(
        {n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)}
    )


def other_forms(calls: Iterable[Call]) -> Iterator[tuple[str, Pass, bool]]:
    """The passes that write convolutions in their other layout, or compute in float16: as text, the
    pass, and whether the network computes the same numbers then."""
    layouts = {
        c.op_name: [other, "default"]
        for c in calls
        if isinstance(c.op, Op)
        and c.op.get_attr("FTVMConvertOpLayout") is not None
        and (other := _other_layout(str((c.attrs or {}).get("data_layout"))))
    }
    if layouts:
        yield f"ConvertLayout({layouts})", ConvertLayout(layouts), True
    yield "ToMixedPrecision('float16')", ToMixedPrecision("float16"), False


def _other_layout(layout: str) -> str:
    """The layout of a convolution's data with the channels elsewhere: NCHW for NHWC, and so on. ""
    for any other layout, such as one of blocks."""
    spatial = layout.strip("NC")
    first, last = f"NC{spatial}", f"N{spatial}C"
    return {first: last, last: first}.get(layout, "") if spatial.isupper() else ""
