"""`validate`: correct results are valid with a margin, and wrong results fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import ValidationError
from byoc_lab.lab.checking.tolerances import bounded, outlier_factor
from byoc_lab.lab.checking.validation import Report, compare, validate
from byoc_lab.passes import PassContext, Sequential
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import build, evaluate
from byoc_lab.run.inline import inlined
from byoc_lab.run.metering.cards import RegionErrors
from tests.sweeps import some


def random(*shape: int, seed: int = 0, offset: float = 0) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape) + offset
    return values.astype(np.float32)


def builder(name: str) -> Any:
    return relay.op.builder(Op.get(name))


def net() -> IRModule:
    """Two blocks of conv2d, batch norm, relu, and a classifier with a bias."""
    x = body = relay.var("x", shape=(1, 3, 12, 12))
    for n, channels in enumerate((3, 8)):
        conv = nn.conv2d(body, relay.const(random(8, channels, 3, 3, seed=n) / 4), padding=1)
        scale, shift, mean = (random(8, seed=10 * n + k, offset=0.5) for k in range(3))
        variance = np.abs(random(8, seed=n + 77)) + 0.5
        vectors = [relay.const(v) for v in (scale, shift, mean, variance)]
        body = nn.relu(nn.batch_norm(conv, *vectors)[0])
    scores = nn.dense(nn.batch_flatten(nn.global_avg_pool2d(body)), relay.const(random(5, 8)))
    result = nn.softmax(nn.bias_add(scores, relay.const(random(5, seed=3))))
    return infer_module(IRModule.from_expr(Function([x], result)))


X = random(1, 3, 12, 12, seed=9)


def changed(mod: IRModule, rewrite: Callable[[Call], Expr | None]) -> IRModule:
    """`mod` with one call rewritten: the first for which `rewrite` returns an expression."""
    done = False

    def step(pre: Expr, post: Expr) -> Expr:
        nonlocal done
        new = rewrite(post) if isinstance(post, Call) and not done else None
        done = done or new is not None
        return post if new is None else new

    out = mod.copy()
    out["main"] = rebuild(mod["main"], step)
    assert done
    return infer_module(out)


def wrong_epsilon(call: Call) -> Expr | None:
    if not call.is_op("nn.batch_norm"):
        return None
    assert call.attrs is not None
    return Call(call.op, call.args, call.attrs.replace(epsilon=1e-3))


def dropped_bias(call: Call) -> Expr | None:
    return call.args[0] if call.is_op("nn.bias_add") else None


def dropped_relu(call: Call) -> Expr | None:
    return call.args[0] if call.is_op("nn.relu") else None


@pytest.mark.native
def test_correct_results_are_valid_on_dnnl_and_on_the_host() -> None:
    after = dnnl.partition_for_dnnl(net())
    exe = build(after)
    report = validate(net(), exe, {"x": X}).check()
    assert [c.errors for c in exe.cards()] == [
        RegionErrors(c.largest_error, c.error, c.tolerance) for c in report.regions
    ]
    assert len(report.regions) == 1 and len(report.outputs) == 1
    for comparison in (*report.regions, *report.outputs):
        assert 0 < comparison.error < comparison.tolerance / 2
        assert comparison.tolerance < 1e-4 * comparison.scale
    host = validate(net(), build(after, offload=False), [X])
    assert host.ok and not host.regions
    assert str(report).startswith("valid\n  @tvmgen_default_dnnl_main_0: ok; largest error ")


@pytest.mark.native
@pytest.mark.parametrize("mistake", [wrong_epsilon, dropped_bias, dropped_relu])
def test_pass_that_changes_the_result_is_found(mistake: Callable[[Call], Expr | None]) -> None:
    after = dnnl.partition_for_dnnl(changed(net(), mistake))
    report = validate(net(), after, [X])
    assert all(c.ok for c in report.regions)  # the regions compute what the wrong module specifies
    assert [c.ok for c in report.outputs] == [False] and not report.ok
    assert report.outputs[0].error > 2 * report.outputs[0].tolerance
    assert str(report).startswith("NOT VALID") and "WRONG at [0, " in str(report)
    with pytest.raises(ValidationError, match="NOT VALID"):
        report.check()


@pytest.mark.native
def test_wrongly_compiled_region_is_found() -> None:
    """Code generation drops the bias: that region and the output are wrong, other regions are
    right."""

    def codegen(function: Function, symbol: str) -> Any:
        made = dnnl.region_graph(function, symbol)
        for op in made.graph["ops"]:
            if op["kind"] == "dense":
                del op["inputs"][2:]
        return native.DnnlRegion(made.graph, made.constants)

    after = dnnl.partition_for_dnnl(
        net(), beyond_tvm=False
    )  # nn.batch_flatten separates two regions
    exe = build(after, backends={"dnnl": codegen})
    report = validate(net(), exe, [X])
    assert [c.ok for c in report.regions] == [True, False]
    assert [c.ok for c in report.outputs] == [False]


@pytest.mark.native
def test_wrong_epsilon_in_a_kernel_is_found() -> None:
    def codegen(function: Function, symbol: str) -> Any:
        made = dnnl.region_graph(function, symbol)
        for op in made.graph["ops"]:
            if op["kind"] == "batch_norm":
                op["attrs"]["epsilon"] = 1e-3
        return native.DnnlRegion(made.graph, made.constants)

    # Without SimplifyInference the batch norms stay.
    with PassContext(disabled_pass=["SimplifyInference"]):
        mod = Sequential(dnnl.pipeline())(net())
    assert validate(net(), mod, [X]).ok
    report = validate(net(), build(mod, backends={"dnnl": codegen}), [X])
    assert not report.regions[0].ok and not report.outputs[0].ok


def test_report_as_html_escapes_names_and_shows_wrong_elements() -> None:
    comparison = compare("<output>", np.float32([1, 2]), np.float64([1, 2.5]), 0.1)
    page = Report((), (comparison,))._repr_html_()
    assert "&lt;output&gt;" in page and "WRONG at [1]" in page and "5.00e-01" in page


@pytest.mark.parametrize(
    ("got", "wanted", "ok"),
    [
        ([1.0, np.inf], [1.0, np.inf], True),
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [1.0, 2.0], False),
        ([1.0, -np.inf], [1.0, np.inf], False),
        ([1.0, 2.0], [1.0, 2.2], False),
        ([], [], True),
    ],
)
def test_compare_reports_the_worst_element(got: list[float], wanted: list[float], ok: bool) -> None:
    found = compare("x", np.array(got, np.float32), np.array(wanted), 0.1)
    assert found.ok is ok
    if not ok:
        assert found.place == (1,)


def test_compare_of_different_shapes_raises_validation_error() -> None:
    with pytest.raises(ValidationError, match=r"x: expected shape \(3,\), found \(2,\)"):
        compare("x", np.zeros(2), np.zeros(3), 0.1)


def test_outlier_factor_bounds_the_largest_of_n_normal_numbers() -> None:
    # P(|z| > t) < 2 exp(-t^2 / 2), so for n values: below 1e-9 at this t.
    for n in (1, 1000, 10**6):
        assert 2 * n * np.exp(-(outlier_factor(n) ** 2) / 2) == pytest.approx(1e-9)


# Correct float32 evaluations always pass; an error of a few units fails
# --------------------------


def share_of_tolerance(expr: Expr, inputs: list[np.ndarray], run: Any = None) -> float:
    """The error of a float32 evaluation divided by its tolerance."""
    func = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(func, Function)
    got = run(func, inputs) if run else evaluate(func, inputs).outputs
    bound = bounded(
        inlined(func), dict(zip(func.params, inputs, strict=True)), exact_constants=True
    )
    groups = zip(got, bound.outputs, bound.tolerances, strict=True)
    return max(compare("x", *group).share for group in groups)


def on_dnnl(func: Function, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return dnnl.compile_region(func, "r")(*inputs)


def one_by_one(func: Function, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """A dense layer that adds one product at a time."""
    x, w = inputs
    total = np.zeros((len(x), len(w)), np.float32)
    for k in range(x.shape[1]):
        total += x[:, k : k + 1] * w[:, k]
    return [total]


KINDS = st.sampled_from(["normal", "positive", "offset", "cancelling", "small"])


def numbers(kind: str, *shape: int, seed: int) -> np.ndarray:
    values = random(*shape, seed=seed)
    if kind == "positive":
        return np.abs(values)
    if kind == "offset":
        return values + np.float32(100)
    if kind == "cancelling":  # the second half of the last axis cancels the first
        half = shape[-1] // 2
        values[..., half : 2 * half] = -values[..., :half] * np.float32(1.0001)
    return values * np.float32(1e-6) if kind == "small" else values


@given(st.integers(1, 4), st.integers(1, 3000), KINDS, KINDS, st.integers(0, 99))
@settings(max_examples=some(40))
def test_dense_with_any_order_of_sums_uses_less_than_the_tolerance(
    rows: int, k: int, a: str, b: str, seed: int
) -> None:
    x, w = relay.var("x", shape=(rows, k)), relay.var("w", shape=(3, k))
    inputs = [numbers(a, rows, k, seed=seed), numbers(b, 3, k, seed=seed + 1)]
    for run in (one_by_one, *([on_dnnl] if native.available() else [])):
        assert share_of_tolerance(nn.dense(x, w), inputs, run) < 0.7


@pytest.mark.native
@given(
    st.integers(1, 40),
    st.integers(1, 20),
    st.sampled_from([1, 3]),
    KINDS,
    KINDS,
    st.integers(0, 99),
)
@settings(max_examples=some(25))
def test_conv2d_on_dnnl_uses_less_than_the_tolerance(
    c: int, o: int, size: int, a: str, b: str, seed: int
) -> None:
    x, w = relay.var("x", shape=(1, c, 7, 7)), relay.var("w", shape=(o, c, size, size))
    inputs = [numbers(a, 1, c, 7, 7, seed=seed), numbers(b, o, c, size, size, seed=seed + 1)]
    assert share_of_tolerance(nn.conv2d(x, w, padding=1), inputs, on_dnnl) < 0.7


@pytest.mark.native
def test_gelu_on_dnnl_uses_less_than_the_tolerance() -> None:
    """Its erf has the same error near 0 as elsewhere, because 1 + erf is about 1 there."""
    x = relay.var("x", shape=(100_000,))
    error = relay.erf(x / relay.const(np.float32(2**0.5)))
    gelu = x * (error + relay.const(np.float32(1))) * relay.const(np.float32(0.5))
    values = np.linspace(-8, 8, 100_000, dtype=np.float32)
    assert share_of_tolerance(gelu, [values], on_dnnl) < 0.7


@pytest.mark.native
@pytest.mark.parametrize("classes", [5, 1000])
def test_log_softmax_on_dnnl_uses_less_than_the_tolerance(classes: int) -> None:
    """Its log is up to 58 roundings off, equally in all elements of a row."""
    x = relay.var("x", shape=(500_000 // classes, classes))
    scales = np.tile(np.float32([[0.1], [0.5], [1], [3], [20]]), (100_000 // classes, 1))
    values = scales * numbers("normal", len(scales), classes, seed=3)
    assert share_of_tolerance(nn.log_softmax(x), [values], on_dnnl) < 0.7


@pytest.mark.native
@pytest.mark.parametrize("kind", ["normal", "positive", "offset", "small", "near 1"])
@pytest.mark.parametrize(
    "name", ["tanh", "sigmoid", "exp", "log", "nn.softmax", "nn.global_avg_pool2d", "sqrt", "abs"]
)
def test_operators_on_dnnl_use_less_than_the_tolerance(name: str, kind: str) -> None:
    values = numbers(kind, 2, 8, 9, 9, seed=5)
    if kind == "near 1":
        values = 1 + values * np.float32(1e-4)
    if name in ("sqrt", "log"):
        values = np.abs(values) + np.float32(1e-12)
    if name == "exp":
        values = np.minimum(values, 50)
    share = share_of_tolerance(builder(name)(relay.var("x", shape=values.shape)), [values], on_dnnl)
    assert share < 0.7


@pytest.mark.parametrize("kind", ["normal", "offset"])
@pytest.mark.parametrize(
    "name", ["nn.layer_norm", "variance", "mean", "sum", "nn.log_softmax", "erf"]
)
def test_operators_of_the_host_use_less_than_the_tolerance(name: str, kind: str) -> None:
    """Includes operators without a special rule; they run in float32 NumPy."""
    values = numbers(kind, 6, 50, seed=6)
    x = relay.var("x", shape=values.shape)
    vectors = [relay.const(random(50, seed=n)) for n in (1, 2)]
    expr = {
        "nn.layer_norm": lambda: nn.layer_norm(x, *vectors),
        "variance": lambda: builder("variance")(
            x, axis=1, with_mean=builder("mean")(x, axis=1, keepdims=True)
        ),
        "mean": lambda: builder("mean")(x, axis=1),
        "sum": lambda: builder("sum")(x, axis=1),
    }.get(name, lambda: builder(name)(x))()
    assert share_of_tolerance(expr, [values]) < 0.7


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "log", "sqrt", "erf", "rsqrt"])
def test_functions_in_other_dtypes_use_less_than_the_tolerance(name: str, dtype: str) -> None:
    """Their bounds scale with the rounding error of the dtype."""
    values = np.linspace(-9, 9, 4001).astype(dtype)
    if name in ("log", "sqrt", "rsqrt"):
        values = np.abs(values) + np.asarray(1e-3, dtype)
    x = relay.var("x", shape=values.shape, dtype=dtype)
    mod = infer_module(IRModule.from_expr(Function([x], builder(name)(x))))
    (found,) = validate(mod, build(mod), [values]).outputs
    assert found.ok and found.share < 0.7
    assert found.tolerance < (0.03 if dtype == "float16" else 1e-14) * found.scale


def test_infinite_results_leave_other_tolerances_unchanged() -> None:
    x = relay.var("x", shape=(3,))
    func = infer_expr(Function([x], builder("log")(x)))
    assert isinstance(func, Function)
    with np.errstate(divide="ignore"):
        found = bounded(func, {func.params[0]: np.float32([0, 2, 3])})
    assert found.outputs[0][0] == -np.inf
    assert np.all((found.tolerances[0][1:] > 0) & (found.tolerances[0][1:] < 1e-4))


def test_sample_count_below_one_is_refused() -> None:
    x = relay.var("x", shape=(2,))
    func = infer_expr(Function([x], nn.relu(x)))
    assert isinstance(func, Function)
    with pytest.raises(ValueError, match="samples must be at least 1, found 0"):
        bounded(func, {func.params[0]: random(2)}, samples=0)


@pytest.mark.parametrize(
    ("dtypes", "words"),
    [
        (["int8"], ["8-bit integers from their whole range"]),
        (["bool", "int64"], ["wider integers from 0 to 7", "truth values"]),
        (["float32", "int32"], ["standard normal numbers", "wider integers from 0 to 7"]),
        ([], ["none"]),
    ],
)
def test_generated_inputs_are_described_in_the_report(dtypes: list[str], words: list[str]) -> None:
    params = [relay.var(f"x{n}", shape=(2,), dtype=d) for n, d in enumerate(dtypes)]
    mod = IRModule.from_expr(Function(params, relay.Tuple([*params, relay.const(1.0)])))
    told = validate(mod, mod).inputs
    assert all(word in told[0] for word in words)
    numbers = "float32" in dtypes
    assert ("normal" in told[0]) == numbers and len(told) == (3 if numbers else 1)
