"""Static information on operators is in their definitions: precision, kinks and branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import byoc_lab.compat.op  # noqa: F401 - its operators have facts as well
from byoc_lab.backends.dnnl.operators import OPERATORS
from byoc_lab.compat.op import mixed_precision
from byoc_lab.lab.checking.bounds.functions import ROUNDING
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.precision import MixedPrecision
from byoc_lab.relay.op.framework.registry import identity, same_result

CONVERSION = "FTVMMixedPrecisionConversionType"
STEP = 1e-3
MARGIN = 1000
FEW = 3
"""A function with more kinks rounds or is periodic; its pieces are not branches."""


def definitions() -> list[OpDef]:
    names = (name for name in Op.list_op_names() if not name.startswith("test."))
    return [Op.get(name).definition for name in names if isinstance(Op.get(name).definition, OpDef)]


def test_mixed_precision_lists_of_tvm_equal_the_definitions() -> None:
    listed = {
        category: getattr(mixed_precision, f"DEFAULT_{category.name}_LIST")
        for category in MixedPrecision
    }
    for d in definitions():
        own = [category for category, names in listed.items() if d.name in names]
        conversion = Op.get(d.name).get_attr(CONVERSION)
        if isinstance(d.mixed_precision, MixedPrecision):
            assert own == [d.mixed_precision], d.name
            assert conversion(None, "float16") == [d.mixed_precision, "float16", "float16"]
        else:
            assert not own, d.name
            assert conversion is d.mixed_precision, d.name


def kinks(d: OpDef) -> int:
    """The number of points, except poles and undefined values, at which a curve jumps or has a
    kink."""
    assert d.reference is not None
    x = np.arange(-3, 3, STEP) + STEP / 2
    others = [np.full_like(x, 0.5)] * (len(d.inputs) - 1)
    with np.errstate(all="ignore"):
        value = np.asarray(d.reference(sample_attributes(d), x, *others), np.float64)
        bends = np.abs(np.diff(value, 2)) / STEP
    undefined = ~np.isfinite(value) | (np.abs(value) > 50)
    near = np.convolve(undefined, np.ones(MARGIN), mode="same")[1:-1] > 0
    places = np.flatnonzero((bends > 0.05) & ~near)
    return int(np.sum(np.diff(places) > 2) + bool(places.size))


def sample_attributes(d: OpDef) -> Any:
    given = {"a_min": -1.0, "a_max": 1.0, "dtype": "float64"}
    names = {f.name for f in d.attrs.fields} if d.attrs else set()
    return d.attrs.make({n: v for n, v in given.items() if n in names}) if d.attrs else None


def of_floats() -> Iterator[OpDef]:
    """The element-wise operators on one or two float tensors."""
    for d in definitions():
        elementwise = d.pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST)
        integral = d.name.startswith(("bitwise", "qnn.", "left_shift", "right_shift"))
        if elementwise and d.reference and 1 <= len(d.inputs) <= 2 and not integral:
            yield d


def lacks_branches(d: OpDef) -> bool:
    return d.branches is None and "branches" not in d.lacks and 0 < kinks(d) <= FEW


def test_operator_with_a_kink_defines_its_branches() -> None:
    checked = []
    for d in of_floats():
        try:
            lacking = lacks_branches(d)
        except (TypeError, ValueError, IndexError):  # operators that do not take vectors of floats
            continue
        checked.append(d.name)
        assert not lacking, f"{d.name}: give its definition `branches`"
    assert {"nn.relu", "clip", "abs", "maximum", "less", "exp", "add"} <= set(checked)


def test_operator_without_its_branches_is_detected() -> None:
    relu6 = define_op(
        "test.relu6",
        "data",
        identity,
        reference=same_result(lambda x: np.minimum(np.maximum(x, 0), 2)),
        pattern=OpPattern.ELEMWISE,
    )
    assert lacks_branches(relu6.definition)


@pytest.mark.parametrize("d", [d for d in of_floats() if d.branches], ids=lambda d: d.name)
def test_single_element_does_not_take_all_branches(d: OpDef) -> None:
    assert d.branches is not None and d.reference is not None
    attrs = sample_attributes(d)
    for number in (-9.0, 0.5, 9.0):
        args = [np.full(1, number), *[np.full(1, 0.5)] * (len(d.inputs) - 1)]
        found = d.branches(attrs, tuple(args), d.reference(attrs, *args))
        assert found and not all(found.values())


def test_usual_cost_follows_from_arithmetic_and_pattern() -> None:
    shape = TensorType((2, 3))

    def usual(**facts: Any) -> int | None:
        flops = OpDef("test.cost", ("a",), identity, None, **facts).flops
        return None if flops is None else flops(None, [shape], shape)

    assert usual(pattern=OpPattern.ELEMWISE) == usual(pattern=OpPattern.BROADCAST) == 6
    assert usual(pattern=OpPattern.INJECTIVE) == 0  # it copies, unless it states another arithmetic
    assert usual(pattern=OpPattern.OPAQUE, arithmetic=Arithmetic.COPY) == 0
    assert usual(pattern=OpPattern.INJECTIVE, arithmetic=Arithmetic.OTHER) is None
    assert usual(pattern=OpPattern.OPAQUE) is None
    assert usual(pattern=OpPattern.ELEMWISE, flops=lambda attrs, args, result: 7) == 7


def test_every_function_of_dnnl_is_a_kind_of_arithmetic() -> None:
    """Bounds of errors, special values and branches are stated for kinds."""
    functions = [Op.get(n).definition for n, own in OPERATORS.items() if own.kind == "eltwise"]
    assert functions and not [
        d.name for d in functions if d.arithmetic in (None, Arithmetic.FUNCTION)
    ]


def test_functions_of_one_element_have_a_kind_each() -> None:
    kinds = [kind for kind in ROUNDING if kind not in (Arithmetic.SOFTMAX, Arithmetic.LOG_SOFTMAX)]
    names = {kind: [d.name for d in definitions() if d.arithmetic is kind] for kind in kinds}
    assert names == {kind: [kind.name.lower()] for kind in kinds}
