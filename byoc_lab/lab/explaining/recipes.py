"""Passes that may prepare a module for a back end, by simplifying, folding or converting it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.setups import PARTITIONING
from byoc_lab.passes.fold.fold_constant import FOLD_QNN, FoldConstant
from byoc_lab.passes.framework.passes import Pass, passes_composing, passes_replacing
from byoc_lab.passes.layout.convert_layout import ConvertLayout
from byoc_lab.passes.quantize.fake_quantization_to_integer import FakeQuantizationToInteger
from byoc_lab.passes.quantize.to_mixed_precision import ToMixedPrecision
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, TupleGetItem

FOLDING = ("FoldConstant", "FoldScaleAxis", "FoldConstant")
"""The passes that fold a decomposed norm into the weights before it."""
FOLDED = "multiply"
"""The operator that FoldScaleAxis moves into weights."""


def simplifiers(found: Diagnosis) -> list[str]:
    """The passes that replace the call, or the expression that a pattern found instead of it or
    next to it."""
    nodes: list[Expr] = [found.subject]
    if found.cause == "no-pattern":  # the call is not offloaded as long as this expression exists
        return passes_replacing({found.subject.op_name})
    nodes += [s.found for s in (found.attempt.fit.stops if found.attempt else ())]
    nodes += [n.tuple_value for n in nodes if isinstance(n, TupleGetItem)]
    nodes += [a for n in nodes if isinstance(n, Call) for a in n.args if isinstance(a, Call)]
    nodes += [n.tuple_value for n in nodes if isinstance(n, TupleGetItem)]
    return passes_replacing(
        {n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)}
    )


def composers(inquiry: Inquiry, subject: Call) -> dict[str, str]:
    """The passes that move calls of an operator into composites of the target, each with its
    condition; none if the pipeline only offloads the same operators as TVM."""
    annotate = inquiry.annotate_target
    if annotate is None or not annotate[1].beyond_tvm:
        return {}
    return passes_composing(inquiry.target, subject.op_name)


def integer_forms(calls: Iterable[Call]) -> list[str]:
    """The pass that converts fake quantisations, and calls between them, to integers, if the module
    has any."""
    fake = FakeQuantizationToInteger
    return [fake.__name__] if any(c.op_name in fake.replaces for c in calls) else []


def misplaced(passes: Sequence[Pass], matching: int) -> Iterator[tuple[int, int]]:
    """The positions of passes that may be misplaced, and the position of the pass before which they
    should run. matching: the position of the pass that looks for operators to offload.

    FoldConstant(fold_qnn=True) evaluates the constants that FakeQuantizationToInteger needs; and a
    pass that runs after matching does not affect matches.
    """
    integers = [n for n, p in enumerate(passes) if isinstance(p, FakeQuantizationToInteger)]
    for place in quantised_folding(passes):
        if integers and place < integers[-1]:
            yield place, integers[-1] + 1
    for place, p in enumerate(passes):
        if place > matching and not isinstance(p, PARTITIONING):
            yield place, matching


def quantised_folding(passes: Sequence[Pass]) -> list[int]:
    """The positions of passes that evaluate quantised operators on constants."""
    return [n for n, p in enumerate(passes) if isinstance(p, FoldConstant) and p.fold_qnn]


def called(p: Pass) -> str:
    """A pass in words: its name, with the option that decides what FoldConstant evaluates."""
    return FOLD_QNN if isinstance(p, FoldConstant) and p.fold_qnn else p.name


def undone(inquiry: Inquiry, found: Diagnosis, call: Call) -> list[str]:
    """The passes that replaced a call, the passes that removed an operand of it, and the passes
    that replaced an expression that a pattern expects near it."""
    names = [inquiry.pass_that_replaced(call)] if found.subject.op is not call.op else []
    at = found.stop.found if found.stop is not None else None
    origin = inquiry.origin(at) if isinstance(at, Call) else None
    if isinstance(at, Call) and origin is not None and origin.op is not at.op:
        names.append(inquiry.pass_that_replaced(origin))
    operands = (a for a in call.args if isinstance(a, Call))
    gone = (a for a in operands if not inquiry.outcome.images(a, inquiry.matching))
    names += [inquiry.pass_that_replaced(a) for a in gone]
    if isinstance(at, Constant):
        names += [p.name for p in inquiry.setup.passes if isinstance(p, FoldConstant)]
    return list(dict.fromkeys(names))


def merging(found: Diagnosis) -> tuple[str, ...]:
    """The passes that merge two consecutive additions or multiplications with constants, if a
    pattern expects an operator other than the second one."""
    stop = found.stop
    if stop is None:
        return ()
    pair = (stop.found, stop.user if stop.user is not None else stop.below)
    if all(isinstance(n, Call) and any(isinstance(a, Constant) for a in n.args) for n in pair):
        names = {n.op_name for n in pair if isinstance(n, Call)}
        if names in ({"add"}, {"multiply"}):
            return ("SimplifyExpr", "FoldConstant")
    return ()


def other_forms(calls: Iterable[Call]) -> Iterator[tuple[str, Pass, bool]]:
    """The passes that convert convolutions and pools to the other layout, or compute in float16:
    the text, the pass, and whether the network then computes the same numbers."""
    layouts: dict[str, list[str]] = {}
    with_pools: dict[str, list[str]] = {}
    for c in calls:
        if isinstance(c.op, Op) and c.op.get_attr("FTVMConvertOpLayout") is not None:
            attrs = dict(c.attrs or {})
            if other := _other_layout(str(attrs.get("data_layout"))):
                layouts[c.op_name] = [other, "default"]
            elif other := _other_layout(str(attrs.get("layout"))):
                with_pools[c.op_name] = [other]
    for wanted in (layouts, {**layouts, **with_pools} if with_pools else {}):
        if wanted:
            yield f"ConvertLayout({wanted})", ConvertLayout(wanted), True
    yield "ToMixedPrecision('float16')", ToMixedPrecision("float16"), False


def _other_layout(layout: str) -> str:
    """The layout of a convolution's data with the channels at the other position: NCHW for NHWC,
    and so on. "" for any other layout, such as a blocked one."""
    spatial = layout.strip("NC")
    first, last = f"NC{spatial}", f"N{spatial}C"
    return {first: last, last: first}.get(layout, "") if spatial.isupper() else ""
