"""Special values on DNNL: every operator agrees with the reference, or the table of causes names
it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends.dnnl.operators import OPERATORS, why_not
from byoc_lab.lab.checking.bounds.causes import OVERFLOW, SPECIAL_VALUES, UNDEFINED
from byoc_lab.relay import Call, Expr, Function, GlobalVar, IRModule, nn
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample

pytestmark = pytest.mark.native
SPECIAL = np.float32(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 0.5, 3e38, -3e38, 88.8, -104]
)


def const(value: float) -> Expr:
    return relay.const(np.float32(value))


def spelled(name: str, build: object) -> Sample:
    return Sample(name, build, (SPECIAL.shape,))  # type: ignore[arg-type]


UNNAMED = (OVERFLOW, UNDEFINED)  # causes that name no operator


# Expressions that DNNL runs as one function.
GELU = spelled("gelu", lambda x: x * (relay.erf(x / const(2**0.5)) + const(1)) * const(0.5))
SWISH = spelled("swish", lambda x: x * relay.sigmoid(x))
MISH = spelled("mish", lambda x: x * relay.tanh(relay.log(relay.exp(x) + const(1))))
CLIPS = [
    Sample("clip", lambda x: relay.clip(x, -np.inf, 1.0), note="-inf"),
    Sample("clip", lambda x: relay.clip(x, 0.0, np.inf), note="0 to inf"),
]
WIDE = Sample("nn.relu", nn.relu, ((3, 71),), note="vectors and a tail")


def computed_by_dnnl(sample: Sample) -> bool:
    """Whether DNNL computes all operators of a sample, and the data are float32."""
    function = infer_expr(sample.function())
    calls = [node for node in post_order(function) if isinstance(node, Call)]
    data = function.params[0].checked_type  # type: ignore[attr-defined]
    return getattr(data, "dtype", None) == "float32" and not any(map(why_not, calls))


FORMS = [
    *(s for s in SAMPLES if s.op in OPERATORS and computed_by_dnnl(s)),
    GELU, SWISH, MISH, *CLIPS, WIDE,
]  # fmt: skip


def offloaded(sample: Sample) -> tuple[IRModule, IRModule]:
    """A sample as a module, and as a module that calls it as a region of DNNL."""
    function = sample.function()
    region = function.with_attr("Compiler", "dnnl").with_attr("global_symbol", "dnnl_0")
    region = region.with_attr("Primitive", 1)
    symbol = GlobalVar("dnnl_0")
    params = [relay.var(p.name_hint, p.type_annotation) for p in function.params]
    main = Function(params, Call(symbol, params))
    return (
        infer_module(IRModule.from_expr(function)),
        infer_module(IRModule({GlobalVar("main"): main, symbol: region})),
    )


def fed(sample: Sample) -> Iterator[list[np.ndarray]]:
    """Inputs: different special values, then each one alone among ordinary numbers, and the most
    special ones everywhere."""
    ordinary = sample.data()
    yield [np.resize(SPECIAL, ordinary[0].shape), *ordinary[1:]]
    for number in SPECIAL:
        one = ordinary[0].copy()
        one.flat[one.size // 2] = number
        yield [one, *ordinary[1:]]
        if not abs(number) < 1e38:
            yield [np.full_like(one, number), *ordinary[1:]]


@pytest.mark.parametrize("sample", FORMS, ids=lambda s: s.label)
def test_special_values_agree_or_the_operator_is_named(sample: Sample) -> None:
    mod, part = offloaded(sample)
    exe = byoc_lab.build(part)
    assert exe.linked
    names = {n.op.name for n in post_order(mod["main"]) if isinstance(n, Call)}
    for inputs in fed(sample):
        report = byoc_lab.validate(mod, exe, inputs)
        assert report.comparisons and not report.wrong, f"{inputs[0].ravel()}: {report}"
        for cause in (c for found in report.regions for c in found.causes):
            assert cause in UNNAMED or any(name in cause for name in names), cause


def test_every_operator_on_floats_is_tested() -> None:
    integers = {name for name, operator in OPERATORS.items() if operator.integers}
    assert {s.op for s in FORMS} >= set(OPERATORS) - integers


def test_every_cause_names_its_operator() -> None:
    assert all("{op}" in fact.words for facts in SPECIAL_VALUES.values() for fact in facts)


@pytest.mark.parametrize(
    ("moved", "count"),
    [
        (lambda y: relay.expand_dims(y, axis=2), 3),
        (lambda y: relay.repeat(y, 2, axis=0), 6),
        (lambda y: relay.tile(y, (2, 3)), 18),
    ],
)
def test_uncompared_elements_keep_their_cause_when_operators_move_them(moved, count) -> None:
    """Operators with a broadcast pattern that move elements to other positions."""
    tiny = relay.sin(relay.var("x", shape=(2, 3))) * relay.const(np.float32(1e-20))
    logarithm = relay.log(relay.abs(tiny * relay.const(np.float32(1e-22))))
    mod = IRModule.from_expr(moved(logarithm))
    data = np.float32([[1, 2, 3], [0, 0, 0]])
    report = byoc_lab.validate(mod, byoc_lab.build(mod), [data])
    assert f"output: ok; {count} elements not compared (log of denormal numbers" in str(report)
