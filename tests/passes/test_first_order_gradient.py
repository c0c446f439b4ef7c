"""FirstOrderGradient; `tests/golden/FirstOrderGradient` holds TVM's results, `test_gradient.py`
compares the numbers with differences."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.relay_testing import count_ops
from byoc_lab.errors import PassError
from byoc_lab.passes import gradient
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import FirstOrderGradient, InferType


def typed(text: str) -> IRModule:
    return InferType()(relay.parse('#[version = "0.0.5"]\n' + text))


def gradients(func: relay.Function, *values: np.ndarray) -> list[np.ndarray]:
    _, found = evaluate(run_infer_type(func), list(values)).value
    return list(found)


def test_each_call_of_a_literal_function_has_its_own_result() -> None:
    """TVM gives exp(x) for both of two calls, exp(exp(x)) here."""
    mod = typed("""def @main(%x: Tensor[(3), float64]) {
      %0 = fn (%a: Tensor[(3), float64]) { exp(%a) };
      %0(%0(%x))
    }""")
    x = np.array([-1.0, 0.0, 0.5])
    (found,) = gradients(FirstOrderGradient()(mod)["main"], x)
    np.testing.assert_allclose(found, np.exp(np.exp(x)) * np.exp(x))


def test_nothing_is_computed_twice() -> None:
    mod = typed("""def @main(%x: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32]) {
      %0 = nn.dense(%x, %y);
      %1 = sigmoid(%0);
      sum(subtract(%1, sum(%0, keepdims=True)))
    }""")
    counts = count_ops(FirstOrderGradient()(mod)["main"])
    assert counts["nn.dense"] == 3  # one forward, one back for each operand
    assert counts["sigmoid"] == 1


def test_padding_in_two_numbers_is_that_in_four() -> None:
    """A text may have the short form, which the functions of `relay` write out."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 2, 4, 5)), rng.normal(size=(3, 2, 2, 2))
    found = []
    for padding in ([1, 2], [1, 2, 1, 2]):
        mod = typed(f"""def @main(%x: Tensor[(1, 2, 4, 5), float64],
                                  %w: Tensor[(3, 2, 2, 2), float64]) {{
          nn.conv2d(%x, %w, padding={padding}, channels=3, kernel_size=[2, 2])
        }}""")
        found.append(gradients(FirstOrderGradient()(mod)["main"], *values))
    for short, long in zip(*found, strict=True):
        np.testing.assert_array_equal(short, long)


def test_what_was_not_typed_is_typed_first() -> None:
    x = relay.var("x", shape=(3,))
    mod = IRModule.from_expr(relay.Function([x], relay.exp(x)))
    assert structural_equal(FirstOrderGradient()(mod), FirstOrderGradient()(InferType()(mod)))


def test_the_mode_first_order_is_this_pass() -> None:
    func = typed("def @main(%x: Tensor[(3), float32]) { multiply(%x, %x) }")["main"]
    whole = FirstOrderGradient()(IRModule.from_expr(func))
    assert structural_equal(gradient(func, mode="first_order"), whole["main"])
    with pytest.raises(PassError, match=r"FirstOrderGradient\(\)"):
        gradient(func, whole, mode="first_order")


def test_a_long_chain() -> None:
    x = y = relay.var("x", shape=(2,))
    for _ in range(5_000):
        y = relay.negative(y)
    out = FirstOrderGradient()(InferType()(IRModule.from_expr(relay.Function([x], y))))
    assert count_ops(out["main"])["negative"] == 10_000


def test_the_change_is_one_event_for_each_function() -> None:
    mod = typed("""def @main(%x: Tensor[(3), float32]) { exp(%x) }
    def @other(%x: Tensor[(3), float32]) { %x }""")
    (stage,) = byoc_lab.trace(mod, [FirstOrderGradient()])
    assert [(e.function, e.rule) for e in stage.events] == [
        ("main", "differentiate"),
        ("other", "differentiate"),
    ]
    assert structural_equal(stage.state_after(2), stage.after)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @main[A](%x: A) -> A { %x }", "without type parameters"),
        ("def @main(%x: Tensor[(3), float32]) { fn () { %x } }", "found function of 0 parameters"),
        ("def @main(%x: Tensor[(3), float32]) { ref(%x) }", "found RefCreate"),
        ("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }", "is for tensors"),
        ("def @main(%x: (Tensor[(?), float32],)) { %x.0 }", "of known shape"),
        ("def @main(%x: Tensor[(4), float32]) { cumsum(%x, axis=0) }", "cumsum has no gradient"),
    ],
)
def test_what_has_no_gradient_is_said(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        FirstOrderGradient()(typed(text))
