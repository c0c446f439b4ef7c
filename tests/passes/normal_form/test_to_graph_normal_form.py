"""ToGraphNormalForm gives TVM 0.16's modules, and keeps the order of reads and writes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import ToGraphNormalForm
from tests.parity.golden import golden_test

test_golden = golden_test("ToGraphNormalForm")

STEPS = (
    "let %u{n} = ref_write(%r, add({a}, {b}));",
    "let %v{n} = ref_read(%r);",
    "let %v{n} = multiply({a}, 2f);",
    "let %v{n} = @read(%r);",
    "let %u{n} = @write(%r, {a});",
)
FUNCTIONS = """
def @read(%r: ref(Tensor[(2), float32])) { let %v = ref_read(%r); add(%v, 1f) }
def @write(%r: ref(Tensor[(2), float32]), %x: Tensor[(2), float32]) { ref_write(%r, %x) }
"""


def _module(steps: list[int]) -> IRModule:
    """A sequence of reads, writes and arithmetic; the result is every value that was read."""
    lines, values = ["let %r = ref(%x);"], ["%x"]
    for n, step in enumerate(steps):
        lines.append(STEPS[step].format(n=n, a=values[-1], b=values[n % len(values)]))
        if lines[-1].startswith("let %v"):
            values.append(f"%v{n}")
    body = "\n  ".join([*lines, f"({', '.join(values)},)"])
    text = f"def @main(%x: Tensor[(2), float32]) {{\n  {body}\n}}"
    return relay.parse(f'#[version = "0.0.5"]\n{text}\n{FUNCTIONS}')


@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=8))
def test_references_are_read_and_written_in_order(steps: list[int]) -> None:
    mod = _module(steps)
    inputs = [np.float32([0.5, -2])]
    wanted = evaluate(mod, inputs).value
    found = evaluate(ToGraphNormalForm()(mod), inputs).value
    np.testing.assert_array_equal(np.array(found), np.array(wanted))


def test_pure_values_between_writes_are_not_bound_by_lets() -> None:
    text = ToGraphNormalForm()(_module([2, 0, 2, 1])).astext(show_types=False)
    assert text.count("let %") == 3  # the write, the read, and the read in @read
    assert "let %v0" not in text and "let %v2" not in text


def test_fault_of_tvm_is_reproduced_on_request() -> None:
    mod = _module([0, 1])
    dropped = ToGraphNormalForm(era="0.16")(mod)
    assert "ref_write" not in dropped["main"].astext()
    assert "ref_write" in ToGraphNormalForm()(mod)["main"].astext()
    with pytest.raises(PassError, match="found '2020-01'"):
        ToGraphNormalForm(era="2020-01")
