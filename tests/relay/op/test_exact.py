"""`exact` of a definition against results in float32 and float64: rounded ones differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.op import OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.framework.registry import identity
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample

NAMES = sorted({s.op for s in SAMPLES})


def flat(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for each in value:
            yield from flat(each)
    else:
        yield np.asarray(value)


def arguments(call: Call, given: dict[Expr, np.ndarray], dtype: str) -> list[Any] | None:
    """The arguments with their floats in `dtype`; None if another call computes one."""

    def value(node: Expr) -> Any:
        if isinstance(node, Tuple):
            fields = [value(field) for field in node.fields]
            return None if any(field is None for field in fields) else tuple(fields)
        if not isinstance(node, (Var, Constant)):
            return None
        found = given[node] if isinstance(node, Var) else node.data.numpy()
        return found.astype(dtype) if found.dtype.kind == "f" else found

    found = [value(arg) for arg in call.args]
    return None if any(arg is None for arg in found) else found


def rounds(sample: Sample) -> tuple[Any, bool] | None:
    """The attributes of the call and whether it rounds; None if its result has no floats."""
    function = sample.function()
    call = function.body
    while isinstance(call, TupleGetItem):
        call = call.tuple_value
    if not (isinstance(call, Call) and call.op is Op.get(sample.op)):
        return None
    given = dict(zip(function.params, sample.data(), strict=True))
    results = []
    for dtype in ("float32", "float64"):
        args = arguments(call, given, dtype)
        if args is None or call.op.definition.reference is None:
            return None
        results.append(list(flat(evaluate_op(call.op, call.attrs, args))))
    pairs = [(a, b) for a, b in zip(*results, strict=True) if b.dtype == np.float64]
    if not pairs:
        return None
    same = all(np.array_equal(a.astype(np.float64), b, equal_nan=True) for a, b in pairs)
    return call.attrs, not same


@pytest.mark.parametrize("name", NAMES)
def test_exact_is_what_the_operator_is(name: str) -> None:
    d: OpDef = Op.get(name).definition
    tried = [found for s in SAMPLES if s.op == name and (found := rounds(s)) is not None]
    for attrs, rounded in tried:
        assert not (rounded and d.is_exact(attrs)), f"{name} rounds: write exact=False"
    silent = d.exact is None and d.pattern is not OpPattern.INJECTIVE
    assert not tried or not silent or any(rounded for _, rounded in tried), (
        f"{name} rounds no sample: write exact=True or exact=False"
    )


def test_a_wrong_statement_is_found() -> None:
    wrong = define_op(
        "test.third", "data", identity, reference=lambda attrs, x: x / 3, exact=True
    ).definition
    found = rounds(Sample("test.third", lambda x: Call(Op.get("test.third"), [x])))
    assert found == (None, True) and wrong.is_exact(None)


def test_a_scatter_that_adds_rounds() -> None:
    for name, attribute in (("scatter_elements", "reduction"), ("scatter_nd", "mode")):
        d: OpDef = Op.get(name).definition
        assert d.attrs is not None
        for reduction, exact in (("update", True), ("max", True), ("add", False), ("mean", False)):
            assert d.is_exact(d.attrs.make({attribute: reduction})) is exact
