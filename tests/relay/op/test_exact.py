"""`arithmetic` of definitions compared with results: rounded results differ, errors are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.op import OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.framework.registry import identity
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample, call_with_arguments

NAMES = sorted({s.op for s in SAMPLES})


def flat(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for each in value:
            yield from flat(each)
    else:
        yield np.asarray(value)


def rounds(sample: Sample) -> tuple[Any, bool] | None:
    """The attributes of the call and whether it rounds; None if its result has no floats."""
    results: list[list[np.ndarray]] = []
    for dtype in ("float32", "float64"):
        found = call_with_arguments(sample, dtype)
        if found is None:
            return None
        call, args = found
        results.append(list(flat(evaluate_op(call.op, call.attrs, args))))
    pairs = [(a, b) for a, b in zip(*results, strict=True) if b.dtype == np.float64]
    if not pairs:
        return None
    same = all(np.array_equal(a.astype(np.float64), b, equal_nan=True) for a, b in pairs)
    return call.attrs, not same


@pytest.mark.parametrize("name", NAMES)
def test_operator_rounds_if_and_only_if_its_definition_says_so(name: str) -> None:
    d: OpDef = Op.get(name).definition
    tried = [found for s in SAMPLES if s.op == name and (found := rounds(s)) is not None]
    for attrs, rounded in tried:
        kind = d.arithmetic_of(attrs)
        assert not (rounded and kind.exact), f"{name} rounds: its arithmetic is not {kind}"
    silent = d.arithmetic is None and d.pattern is not OpPattern.INJECTIVE
    assert not tried or not silent or any(rounded for _, rounded in tried), (
        f"{name} rounds no sample: give its definition an `arithmetic`"
    )


def test_wrong_definition_is_detected() -> None:
    wrong = define_op(
        "test.third",
        "data",
        identity,
        reference=lambda attrs, x: x / 3,
        arithmetic=Arithmetic.EXACT,
    ).definition
    found = rounds(Sample("test.third", lambda x: Call(Op.get("test.third"), [x])))
    assert found == (None, True) and wrong.arithmetic_of(None).exact


def test_scatter_that_adds_rounds() -> None:
    for name, attribute in (("scatter_elements", "reduction"), ("scatter_nd", "mode")):
        d: OpDef = Op.get(name).definition
        assert d.attrs is not None
        for reduction, exact in (("update", True), ("max", True), ("add", False), ("mean", False)):
            assert d.arithmetic_of(d.attrs.make({attribute: reduction})).exact is exact
