"""`gradient` against central differences, operator by operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat.analysis import check_basic_block_normal_form
from byoc_lab.compat.relay_testing import check_grad
from byoc_lab.errors import PassError
from byoc_lab.passes import InferType, gradient
from byoc_lab.relay.op.gradients import ELEMENTWISE
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.run.reference import evaluate

Build = Callable[..., Any]


def function(shapes: list[tuple[int, ...]], build: Build) -> relay.Function:
    params = [relay.var(f"x{n}", shape=s, dtype="float64") for n, s in enumerate(shapes)]
    body = build(*params)
    return relay.Function(params, getattr(body, "tuple_value", body))


def check(
    shapes: list[tuple[int, ...]], build: Build, near: float = 0.0, scale: float = 1.0, **how
):
    np.random.seed(3)
    check_grad(function(shapes, build), mean=near, scale=scale, eps=1e-5, **how)


def uneven(*shape: int) -> relay.Expr:
    """Other weights for each element of the result, so that no order of them is as good."""
    return relay.const(np.linspace(0.5, 2, int(np.prod(shape))).reshape(shape), "float64")


POSITIVE = {"log", "log2", "log10", "sqrt", "acosh"}


@pytest.mark.parametrize("name", sorted(set(ELEMENTWISE) - {"annotation.checkpoint", "nn.relu"}))
def test_functions_of_one_argument(name: str) -> None:
    build = (lambda x: relay.cast(x, "float64")) if name == "cast" else getattr(relay, name)
    near, scale = (3.0, 0.1) if name in POSITIVE else (0.0, 0.1)
    check([(3, 4)], build, near, scale)


REDUCTIONS = {
    f"{op}-{axis}-{keep}": ([(2, 3, 4)], lambda x, op=op, axis=axis, keep=keep: op(x, axis, keep))
    for op in (relay.sum, relay.mean, relay.max, relay.variance)
    for axis in (None, 1, (0, 2))
    for keep in (False, True)
}
MATMULS = {
    f"batch_matmul-{a}-{b}": (
        [(2, 4, 3) if a else (2, 3, 4), (2, 5, 4) if b else (2, 4, 5)],
        lambda x, y, a=a, b=b: (
            relay.nn.batch_matmul(x, y, transpose_a=a, transpose_b=b) * uneven(2, 3, 5)
        ),
    )
    for a in (False, True)
    for b in (False, True)
}
CONVOLUTIONS = {
    f"conv2d-{attrs}": (
        [(1, 4, 6, 7), (4, 4 // attrs.get("groups", 1), 3, 3)],
        lambda x, w, attrs=attrs: relay.nn.conv2d(x, w, **attrs),
    )
    for attrs in (
        {},
        {"padding": (1, 1), "strides": (2, 2)},
        {"dilation": (2, 1)},
        {"padding": (1, 0, 2, 1)},
        {"groups": 2, "channels": 4, "kernel_size": (3, 3)},
    )
}
CONVOLUTIONS["conv2d of a depthwise weight by inputs"] = (
    [(1, 4, 6, 7), (4, 2, 3, 3)],
    lambda x, w: relay.nn.conv2d(x, w, groups=4, channels=8, kernel_size=(3, 3)),
)
INDICES = [[0, 2], [1, 0]]
CASES: dict[str, tuple[list[tuple[int, ...]], Build]] = {
    **REDUCTIONS,
    **MATMULS,
    **CONVOLUTIONS,
    "add": ([(3, 1, 4), (2, 1)], relay.add),
    "subtract": ([(3, 1, 4), (2, 1)], relay.subtract),
    "multiply": ([(3, 1, 4), (2, 1)], relay.multiply),
    "divide": ([(3, 4), (4,)], lambda x, y: x / relay.exp(y)),
    "where": ([(3, 4), (3, 4)], lambda x, y: relay.where(relay.less(x, y), x * y, y)),
    "clip": ([(3, 4)], lambda x: relay.clip(x, -0.5, 0.5)),
    "sum of the others": ([(2, 3, 4)], lambda x: relay.sum(x, 1, False, True)),
    "unbiased variance": ([(2, 3, 4)], lambda x: relay.variance(x, 1, unbiased=True)),
    "reshape": ([(2, 3, 4)], lambda x: relay.reshape(x, (-1, 4)) * uneven(6, 4)),
    "transpose": ([(2, 3, 4)], lambda x: relay.transpose(x, (1, 2, 0)) * uneven(3, 4, 2)),
    "transpose all": ([(2, 3)], lambda x: relay.transpose(x) * uneven(3, 2)),
    "expand_dims": ([(2, 3)], lambda x: relay.expand_dims(x, 1, 2) * uneven(2, 1, 1, 3)),
    "squeeze": ([(2, 1, 3)], lambda x: relay.squeeze(x, [1]) * uneven(2, 3)),
    "concatenate": (
        [(2, 2, 3), (2, 1, 3)],
        lambda x, y: relay.concatenate([x, y], 1) * uneven(2, 3, 3),
    ),
    "stack": ([(2, 3), (2, 3)], lambda x, y: relay.stack([x, y], -1) * uneven(2, 3, 2)),
    **{
        f"take-{axis}": (
            [(3, 4)],
            lambda x, axis=axis: relay.exp(relay.take(x, relay.const(INDICES), axis)),
        )
        for axis in (None, 0, 1)
    },
    "gather_nd": ([(3, 4)], lambda x: relay.exp(relay.gather_nd(x, relay.const(INDICES)))),
    "one_hot": (
        [(), ()],
        lambda on, off: relay.one_hot(relay.const([1, 2]), on, off, 4, 0, "float64"),
    ),
    "bias_add": ([(1, 3, 2, 2), (3,)], lambda x, b: relay.nn.bias_add(x, b) * x),
    "dense": ([(2, 4), (3, 4)], lambda x, w: relay.nn.dense(x, w) * uneven(2, 3)),
    "batch_matmul, broadcast": ([(1, 3, 4), (2, 5, 4)], relay.nn.batch_matmul),
    "softmax": ([(2, 5)], lambda x: relay.nn.softmax(x) * uneven(2, 5)),
    "log_softmax": ([(2, 5)], lambda x: relay.nn.log_softmax(x) * uneven(2, 5)),
    "cross_entropy": (
        [(2, 5), (2, 5)],
        lambda x, y: relay.nn.cross_entropy(relay.exp(x), y),
    ),
    "cross_entropy_with_logits": ([(2, 5), (2, 5)], relay.nn.cross_entropy_with_logits),
    "relu": ([(2, 5)], relay.nn.relu),
    "batch_flatten": ([(2, 3, 2)], lambda x: relay.nn.batch_flatten(x) * uneven(2, 6)),
    "max_pool2d": ([(1, 2, 6, 6)], lambda x: relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=1)),
    "avg_pool2d": ([(1, 2, 6, 6)], lambda x: relay.nn.avg_pool2d(x, (3, 3), (2, 2), padding=1)),
    "global_avg_pool2d": ([(1, 2, 5, 6)], relay.nn.global_avg_pool2d),
    "tuple": ([(2, 3)], lambda x: relay.Tuple([relay.exp(x), x])),
    "a field": ([(2, 4)], lambda x: relay.TupleGetItem(relay.Tuple([relay.exp(x), x]), 0)),
    "parameter not used": ([(2, 3), (2,)], lambda x, y: relay.sin(x)),
    "checkpoint": ([(2, 4)], lambda x: relay.annotation.checkpoint(relay.exp(x))),
}


OF_EACH_SHAPE = (
    "add", "concatenate", "stack", "take-1", "one_hot", "conv2d-{}", "softmax", "tuple", "a field",
    "parameter not used", "batch_matmul-False-True",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str) -> None:
    check(*CASES[name])


@pytest.mark.parametrize("name", OF_EACH_SHAPE)
def test_operators_in_first_order(name: str) -> None:
    """The same rules, put together otherwise: one of each kind of arguments."""
    check(*CASES[name], mode="first_order")


def test_let_and_shared_values() -> None:
    v = relay.var("v")
    check([(2, 4)], lambda x: relay.Let(v, relay.exp(x), v * v + x))


@pytest.mark.parametrize("least", [-100.0, 100.0])
def test_branches(least: float) -> None:
    """Nested ones, with a value that is shared, and a variable that one side alone uses."""

    def build(x: relay.Expr, y: relay.Expr) -> relay.Expr:
        shared = relay.exp(x)
        inner = relay.If(relay.const(True), shared * y, y)
        above = relay.less(relay.const(least, "float64"), relay.sum(x))
        taken = relay.If(above, relay.Tuple([inner, shared]), relay.Tuple([x * x, x]))
        return relay.TupleGetItem(taken, 0) * shared + relay.TupleGetItem(taken, 1)

    check([(2, 4), (2, 4)], build)
    both = gradient(run_infer_type(function([(2, 4), (2, 4)], build)))
    assert check_basic_block_normal_form(both), "branches share no node, but a name"


def test_the_other_side_of_a_branch_is_not_computed() -> None:
    """Its gradient is not a number."""
    x = relay.var("x", shape=(), dtype="float64")
    zero = relay.const(0.0, "float64")
    guarded = relay.If(relay.less(zero, x), relay.sqrt(x), zero)
    both = run_infer_type(gradient(run_infer_type(relay.Function([x], guarded))))
    assert evaluate(both, [np.array(0.0)]).value[1][0] == 0.0


PROGRAMS = {
    "functions of functions": (
        """def @twice(%f: fn (float64) -> float64, %x: float64) -> float64 { %f(%f(%x)) }
        def @main(%x: float64) -> float64 {
          let %y = exp(%x);
          @twice(fn (%z: float64) -> float64 { multiply(%y, %z) }, %x)
        }""",
        lambda x: np.exp(2 * x) * (1 + 2 * x),
    ),
    "references": (
        """def @main(%x: float64) -> float64 {
          let %r = ref(%x);
          let %u = ref_write(%r, multiply(ref_read(%r), ref_read(%r)));
          multiply(ref_read(%r), %x)
        }""",
        lambda x: 3 * x**2,
    ),
    "data": (
        """type Nat { Zero, Succ(Nat) }
        def @power(%n: Nat[]) -> fn (float64) -> float64 {
          fn (%x: float64) -> float64 {
            match (%n) { Zero => %x, Succ(%m) => { %0 = @power(%m); multiply(%x, %0(%x)) } }
          }
        }
        def @main(%x: float64) -> float64 { %0 = @power(Succ(Succ(Zero))); %0(%x) }""",
        lambda x: 3 * x**2,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_worked_out_first(name: str) -> None:
    text, slope = PROGRAMS[name]
    mod = InferType()(relay.parse('#[version = "0.0.5"]\n' + text))
    both = run_infer_type(gradient(mod.get_global_var("main"), mod))
    for x in (-0.5, 1.25):
        _, (found,) = evaluate(both, [np.array(x)]).value
        np.testing.assert_allclose(found, slope(x))


def test_a_recursion_that_tensors_end_is_refused() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: float64) -> float64 { @halve(%x) }
    def @halve(%x: float64) -> float64 {
      if (less(%x, 1.0f64)) { %x } else { @halve(multiply(%x, 0.5f64)) }
    }"""
    mod = InferType()(relay.parse(text))
    with pytest.raises(PassError, match=r"call of global @halve: .* known without the arguments"):
        gradient(mod["main"], mod)


def test_a_reference_that_a_branch_may_write_is_refused() -> None:
    """Also where it only decides what is computed."""
    text = """#[version = "0.0.5"]
    def @main(%x: float64, %c: bool) -> float64 {
      let %r = ref(0.0f64);
      let %u = if (%c) { ref_write(%r, 2.0f64) } else { () };
      if (less(ref_read(%r), 1.0f64)) { %x } else { multiply(%x, %x) }
    }"""
    mod = InferType()(relay.parse(text))
    with pytest.raises(PassError, match="what references hold"):
        gradient(mod["main"], mod)


def test_gradient_of_a_gradient() -> None:
    x = relay.var("x", shape=(2,), dtype="float64")
    once = run_infer_type(gradient(relay.Function([x], relay.exp(x) * x)))
    assert str(once.checked_type) == (
        "fn (Tensor[(2), float64]) -> (Tensor[(2), float64], (Tensor[(2), float64],))"
    )
    slope = relay.TupleGetItem(relay.TupleGetItem(once.body, 1), 0)
    twice = run_infer_type(gradient(run_infer_type(relay.Function(once.params, slope))))
    values = np.array([1.0, 2.0])
    _, (second,) = evaluate(twice, [values]).value
    np.testing.assert_allclose(second, np.exp(values) * (2 + values))


def test_what_has_no_gradient_says_so() -> None:
    f = function([(2, 4)], lambda x: relay.split(x, 2, 1)[0])
    with pytest.raises(PassError, match=r'split has no gradient.*set_attr\("FPrimalGradient"'):
        gradient(f)
    with pytest.raises(PassError, match="found GlobalVar"):
        gradient(relay.GlobalVar("f"))
    with pytest.raises(PassError, match="mode must be one of"):
        gradient(f, mode="third_order")
    with pytest.raises(PassError, match=r"layout NCHW.*ConvertLayout"):
        gradient(
            function(
                [(1, 6, 6, 3), (3, 3, 3, 4)],
                lambda x, w: relay.nn.conv2d(
                    x, w, channels=4, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"
                ),
            )
        )
