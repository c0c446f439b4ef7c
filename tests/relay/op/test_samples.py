"""Properties of every operator, checked on every sample call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import Any, IRModule, Op, TensorType, TupleType
from byoc_lab.relay.ir.attrs import Attr
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op import OpDef
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample, called_op


def test_every_operator_has_a_sample() -> None:
    defined = {n for n in Op.list_op_names() if not n.startswith("test.")}
    assert defined == {s.op for s in SAMPLES}


def missing_parts(definition: OpDef) -> list[str]:
    """The parts that a definition lacks without giving a reason."""
    missing = [] if definition.doc else ["doc"]
    fields = definition.attrs.fields if definition.attrs else ()
    missing += [f"doc of {f.name}" for f in fields if not f.doc]
    parts = {"reference": definition.reference, "relax": definition.relax}
    missing += [name for name, part in parts.items() if not part and not definition.lacks.get(name)]
    if definition.flops is None:
        missing.append("flops")
    doubled = [name for name in definition.lacks if parts.get(name)]
    return missing + [f"no reason for lacking {name}, because it exists" for name in doubled]


def test_every_operator_has_every_part_or_a_reason() -> None:
    names = (n for n in Op.list_op_names() if not n.startswith("test."))
    missing = {name: missing_parts(Op.get(name).definition) for name in names}
    assert {name: parts for name, parts in missing.items() if parts} == {}


def test_missing_parts_are_detected() -> None:
    schema = SimpleNamespace(fields=(Attr("axis", int),))
    bare = OpDef("test.bare", ("x",), lambda attrs, x: (x, x), None, attrs=schema)
    assert missing_parts(bare) == ["doc", "doc of axis", "reference", "relax", "flops"]
    says = replace(bare, lacks={"relax": "reasons"}, relax=lambda *a: None)
    assert missing_parts(says)[-1] == "no reason for lacking relax, because it exists"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.label)
def test_sample_has_its_type_text_value_and_cost(sample: Sample) -> None:
    mod = infer_module(IRModule.from_expr(sample.function()))
    narrow = evaluate(sample.function(), sample.data())
    check_type(narrow.value, mod["main"].body.checked_type)
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
    check_wide(sample, narrow.outputs)
    check_cost(sample, mod["main"])


def check_type(value: object, ty: object) -> None:
    """Type relation and reference agree on shape and dtype."""
    if isinstance(ty, TupleType):
        assert isinstance(value, tuple) and len(value) == len(ty.fields)
        for v, t in zip(value, ty.fields, strict=True):
            check_type(v, t)
    else:
        assert isinstance(value, np.ndarray) and isinstance(ty, TensorType)
        known = [a if isinstance(b, Any) else b for a, b in zip(value.shape, ty.shape, strict=True)]
        assert (value.dtype.name, value.shape) == (ty.dtype, tuple(known))


def check_wide(sample: Sample, narrow: Sequence[np.ndarray]) -> None:
    """float64 gives the same value more exactly."""
    wide = evaluate(sample.function(), sample.data(), dtype="float64").outputs
    for a, b in zip(narrow, wide, strict=True):
        assert b.dtype == (np.float64 if a.dtype == np.float32 else a.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def check_cost(sample: Sample, function: relay.Function) -> None:
    call = called_op(sample)
    definition = call.op.definition
    inner = next(n for n in post_order(function.body) if getattr(n, "op", None) is call.op)
    types = [a.checked_type for a in inner.args]
    flops = definition.flops(call.attrs, types, inner.checked_type)
    assert isinstance(flops, int) and flops >= 0
    assert call.op.get_attr("TOpPattern") == int(definition.pattern)
