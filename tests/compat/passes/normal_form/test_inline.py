"""Inline, on functions that TVM 0.16 fails to inline."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.compat.passes import Inline
from byoc_lab.relay import IRModule, assert_structural_equal, parse
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import InferType
from tests.parity.cases import HERE
from tests.parity.golden import golden_test


def _inlined(case: str) -> tuple[IRModule, IRModule]:
    mod = parse((HERE / "inlining" / f"{case}.relay").read_text(encoding="utf-8"))
    return mod, InferType()(Inline()(mod))


@pytest.mark.parametrize("case", ["twice", "nested_arguments", "value"])
def test_every_call_of_a_marked_function_is_inlined(case: str) -> None:
    mod, after = _inlined(case)
    assert [gv.name_hint for gv in after.functions] == ["main"]
    x = np.array([-1.5, 0.25, 2, 3], "float32")
    np.testing.assert_array_equal(evaluate(after, [x]).value, evaluate(mod, [x]).value)


def test_marked_function_used_as_a_value_becomes_a_closure() -> None:
    _, after = _inlined("value")
    wanted = parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %f = fn (%p: Tensor[(4), float32], Inline=1) -> Tensor[(4), float32] { add(%p, 1f) };
  %f(%x)
}""")
    assert_structural_equal(after, InferType()(wanted))


# Golden files

test_golden = golden_test("Inline")
