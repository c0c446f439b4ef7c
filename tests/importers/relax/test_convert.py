"""from_relax: round trips of every operator's sample calls, regions, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, BuildError, ImporterError
from byoc_lab.importers.relax import from_relax
from byoc_lab.relay.frontend import from_relax as from_the_facade
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op import IN_COMPAT
from byoc_lab.run import evaluate
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample
from tests.relay.op.test_relax import translated

tvm = pytest.importorskip("tvm")
relax = pytest.importorskip("tvm.relax")
op = relax.op
TENSOR = relax.TensorType


def known(sample: Sample) -> bool:
    """Whether the translation to Relax supports the operator and produces only operators."""
    names = {n.op.name for n in post_order(sample.function()) if isinstance(n, Call)}
    return not names & IN_COMPAT


def there(sample: Sample) -> Any:
    try:
        return translated({"main": sample.function()})
    except BuildError:
        return None


def calls_code(mod: Any) -> bool:
    return any(not isinstance(f, relax.Function) for f in mod.functions.values())


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(s, id=s.label, marks=[pytest.mark.slow] if n % 10 else [])
        for n, s in enumerate(SAMPLES)
        if known(s)
    ],
)
def test_relax_module_converted_there_and_back_computes_the_same(sample: Sample) -> None:
    mod = there(sample)
    if mod is None:
        pytest.skip("the operator has no translation to Relax")
    if calls_code(mod):
        with pytest.raises(ImporterError, match="is lowered code without a counterpart"):
            from_relax(mod)
        return
    back, params = from_relax(mod)
    assert params == {}
    wanted = evaluate(sample.function(), sample.data()).outputs
    found = evaluate(back, sample.data()).outputs
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.slow
def test_nearly_all_samples_are_converted_back() -> None:
    """The others have a translation with TIR code."""
    mods = [there(s) for s in SAMPLES if known(s)]
    back = [mod for mod in mods if mod is not None and not calls_code(mod)]
    assert len(back) > 300


def built(params: list[Any], write: Any, attrs: dict[str, Any] | None = None) -> Any:
    builder = relax.BlockBuilder()
    with builder.function("main", params, attrs=attrs or {}):
        with builder.dataflow():
            result = builder.emit_output(write(builder.emit, *params))
        builder.emit_func_output(result)
    return builder.get()


def var(name: str, *shape: Any, dtype: str = "float32") -> Any:
    return relax.Var(name, TENSOR(shape, dtype))


@pytest.mark.parametrize(
    ("rows", "axes"), [((2,), None), ((2, 3), [1, 0]), ((2,), [-1, -2]), ((2,), [0, 1])]
)
def test_linear_layer_becomes_dense(rows: tuple[int, ...], axes: list[int] | None) -> None:
    exchanged = axes != [0, 1]
    shape = (4, 8) if exchanged else (8, 4)

    def write(emit: Any, x: Any, w: Any) -> Any:
        return emit(op.matmul(x, emit(op.permute_dims(w, axes))))

    mod, _ = from_relax(built([var("x", *rows, 8), var("w", *shape)], write))
    dense = mod["main"].body
    assert dense.is_op("nn.dense") and dense.attrs.out_dtype == ""
    assert (dense.args[1] is mod["main"].params[1]) == exchanged
    x, w = np.random.default_rng(0).standard_normal((2, 3, 8)), np.ones(shape)
    x = x[:, 0] if len(rows) == 1 else x
    found = evaluate(mod, [x.astype("float32"), w.astype("float32")]).value
    np.testing.assert_allclose(found, x @ (w.T if exchanged else w), rtol=1e-4)


def test_partitioned_module_has_external_functions() -> None:
    from byoc_lab.relax import partition_for_dnnl

    def write(emit: Any, x: Any) -> Any:
        weight = relax.const(np.ones((4, 4, 3, 3), np.float32))
        return emit(op.nn.relu(emit(op.nn.conv2d(x, weight, padding=1))))

    plain = built([var("x", 1, 4, 6, 6)], write)
    mod, _ = from_relax(partition_for_dnnl(plain))
    (region,) = [f for f in mod.functions.values() if f.attrs.get("Compiler") == "dnnl"]
    inside = [n.op for n in post_order(region) if isinstance(n, Call)]
    assert {f.attrs["Composite"] for f in inside if isinstance(f, Function)} == {
        "dnnl.conv2d", "dnnl.relu"
    }  # fmt: skip
    x = np.linspace(-1, 1, 144, dtype=np.float32).reshape(1, 4, 6, 6)
    (wanted,), (found,) = (evaluate(m, [x]).outputs for m in (from_relax(plain)[0], mod))
    np.testing.assert_array_equal(found, wanted)
    byoc_lab.build(mod)(x)


def test_shape_argument_replaces_sizes_known_only_at_run_time() -> None:
    n = tvm.tirx.Var("n", "int64")
    mod = built([var("x", n, 3)], lambda emit, x: emit(op.nn.relu(x)))
    with pytest.raises(ImporterError, match=r"%x must be a tensor of known shape.*shape="):
        from_relax(mod)
    back, _ = from_relax(mod, shape={"x": (5, 3)})
    assert str(back["main"].checked_type.ret_type) == "Tensor[(5, 3), float32]"
    for shape, message in (
        ({"y": (5, 3)}, "no parameter of @main has that name"),
        ({"x": (5,)}, "has 1 sizes"),
        ({"x": (5, 4)}, r"is \[5, 4\]"),
        ({"x": (1.5, 3)}, "must be a dict of sizes by parameter.*found dict"),
        ({"x": (2**70, 3)}, "must be a dict of sizes by parameter"),
        ({"x": (-1, 3)}, "must be a dict of sizes by parameter"),
        ({"x": "53"}, "must be a dict of sizes by parameter"),
        ({"x": 5}, "must be a dict of sizes by parameter"),
        ({None: (5, 3)}, "must be a dict of sizes by parameter"),
        ((5, 3), "must be a dict of sizes by parameter.*found tuple"),
    ):
        with pytest.raises(ArgumentError, match=message):
            from_relax(mod, shape=shape)


def test_bound_parameters_are_returned_by_name() -> None:
    mod = built([var("x", 2), var("w", 2)], lambda emit, x, w: emit(op.add(x, w)))
    weight = np.arange(2, dtype=np.float32)
    back, params = from_relax(mod, {"main": [weight]})
    assert list(params) == ["w"] and isinstance(back, IRModule)
    np.testing.assert_array_equal(params["w"], weight)
    for wrong, message in (
        ({"main": [weight] * 3}, "has 3 arrays for @main, which has 2"),
        ({"other": []}, 'must be of "main", found other'),
        ({"main": None}, 'must be a dict such as {"main"'),
        ({1: [weight]}, 'must be a dict such as {"main"'),
        (weight, 'must be a dict such as {"main".*found ndarray'),
        ({"main": [weight[:1]]}, r"of %w has shape \(1,\).*expected Tensor\[\(2\), float32\]"),
    ):
        with pytest.raises(ArgumentError, match=message):
            from_relax(mod, wrong)


def test_branches_functions_and_tuples_are_imported() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.add(x, x)
        else:
            y = R.negative(x)
        z = Module.twice(y)
        return (y, z)

    @R.function
    def twice(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        gv = R.multiply(x, x)
        return gv
"""
    mod = tvm.script.from_source(text)
    back, _ = from_the_facade(mod)
    x = np.array([1.0, -3.0], np.float32)
    for choice, wanted in ((True, 2 * x), (False, -x)):
        y, z = evaluate(back, [x, np.bool_(choice)]).outputs
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(z, wanted * wanted)


def test_nearest_pixels_equal_relax() -> None:
    cases = [("half_pixel", "round"), ("half_pixel", ""), ("align_corners", "")]
    cases += [("asymmetric", rule) for rule in ("round", "round_prefer_ceil", "ceil", "floor")]

    def resized(emit: Any, x: Any) -> Any:
        nearest = {"method": "nearest_neighbor"}
        made = [
            op.image.resize2d(
                x, (6, 8), **nearest, coordinate_transformation_mode=mode, rounding_method=rule
            )
            for mode, rule in cases
        ]
        return relax.Tuple([emit(call) for call in made])

    mod = built([var("x", 1, 1, 4, 4)], resized)
    compiled = tvm.compile(mod, tvm.target.Target("llvm")).mod
    data = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
    wanted = relax.VirtualMachine(compiled, tvm.cpu())["main"](tvm.runtime.tensor(data))
    found = evaluate(from_relax(mod)[0], [data]).outputs
    for case, got, expected in zip(cases, found, wanted, strict=True):
        np.testing.assert_array_equal(got, expected.numpy(), err_msg=str(case))


def test_operator_without_relay_counterpart_raises_error_with_its_name() -> None:
    mod = built([var("x", 2, 3)], lambda emit, x: emit(op.unique(x)))
    with pytest.raises(ImporterError, match=r"Relay has no counterpart of relax\.unique"):
        from_relax(mod)
    legal = relax.transform.LegalizeOps()(built([var("x", 2)], lambda emit, x: emit(op.exp(x))))
    with pytest.raises(ImporterError, match=r"relax\.call_tir calls @\w*exp.*before Legal"):
        from_relax(legal)
    for wrong in (None, 3, relay.const(1.0), IRModule({})):
        with pytest.raises(ArgumentError, match="takes a module of TVM's Relax"):
            from_relax(wrong)
    with pytest.raises(ArgumentError, match='needs a function "main", found no function'):
        from_relax(tvm.ir.IRModule({}))
