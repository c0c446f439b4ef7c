"""Executables of Relax modules: cards of regions, inputs, options and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relax as byoc_relax
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import (
    ArgumentError,
    BuildError,
    EvaluationError,
    ImporterError,
    InputError,
    OffloadError,
)
from byoc_lab.relay.analysis.costs import Cost
from byoc_lab.run.stand_in import in_place_of

from .test_partition import const, module, random, symbol, var

tvm = pytest.importorskip("tvm")
relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = pytest.mark.native
SHAPE = (1, 4, 6, 6)
CONV_FLOPS = 2 * 4 * 36 * 4 * 9


def two_regions(batch: Any = 1) -> Any:
    """conv, relu; cumsum on the host; conv, gelu."""

    def body(emit: Any, x: Any) -> Any:
        y = emit(op.nn.relu(emit(op.nn.conv2d(x, const(4, 4, 3, 3), padding=1))))
        host = emit(op.cumsum(y, axis=3))
        return emit(op.nn.gelu(emit(op.nn.conv2d(host, const(4, 4, 1, 1)))))

    return module([var("x", batch, *SHAPE[1:])], body)


def test_cards_of_a_relax_module_are_counted_by_the_native_runtime() -> None:
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions()))
    with pytest.raises(OffloadError, match="has not run yet"):
        exe.assert_offloaded()
    exe(random(*SHAPE))
    with exe.profiling():
        exe.run(x=random(*SHAPE))
    first, second = exe.cards()
    assert (first.calls, first.native, first.operators) == (2, True, 2)
    assert first.facts.flops == CONV_FLOPS + 4 * 36 and first.facts.bytes == 2 * 4 * 4 * 36
    assert second.operators == 2 and second.gflops and second.share_of_peak
    assert first.ops[0].fused == ("relu",) and first.ops[0].impl
    assert exe.cards().host == Cost(0, 1, 1)  # the cumulative sum, which has an unknown cost
    exe.assert_offloaded(regions=2, min_flops=CONV_FLOPS)
    with pytest.raises(OffloadError, match="expected 3 offloaded regions, found 2"):
        exe.assert_offloaded(regions=3)


def test_module_with_a_batch_known_at_run_time_has_cards() -> None:
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions(symbol("n"))))
    for size in (1, 3):
        exe(random(size, *SHAPE[1:]))
    assert [card.calls for card in exe.cards()] == [2, 2]


def test_card_says_that_a_region_ran_only_after_a_call() -> None:
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions()))
    assert ": runs on dnnl, 0 calls" in str(exe.cards()[0])
    exe(random(*SHAPE))
    assert ": ran on dnnl, 1 call" in str(exe.cards()[0])


def test_values_of_each_region_call_are_recorded() -> None:
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions()))
    outputs, calls = exe.observed([random(*SHAPE)])
    first, second = calls
    np.testing.assert_array_equal(first.inputs[0], random(*SHAPE))
    np.testing.assert_allclose(second.inputs[0], np.cumsum(first.outputs[0], 3), rtol=1e-6)
    np.testing.assert_array_equal(second.outputs[0], outputs[0])


def test_region_of_another_code_generator_is_counted_by_tvm() -> None:
    """A hostile code generator that replaces DNNL's module: there is no native card."""
    import tvm_ffi

    from byoc_lab.backends import PythonRegion
    from byoc_lab.relax.to_relay import to_relay

    def zeros(functions: Any, options: Any, names: Any) -> list[Any]:
        found = (to_relay(f) for f in functions)
        return [PythonRegion(np.zeros_like).bind(f, name).forwarding_module() for f, name in found]

    real = tvm_ffi.get_global_func(byoc_relax.CODEGEN)
    tvm_ffi.register_global_func(byoc_relax.CODEGEN, zeros, override=True)
    try:
        exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions()))
    finally:
        tvm_ffi.register_global_func(byoc_relax.CODEGEN, real, override=True)
    exe(random(*SHAPE))
    assert [(c.native, c.calls) for c in exe.cards()] == [(False, 1)] * 2


def test_numpy_computes_regions_without_the_extension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "available", lambda: False)
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(two_regions()))
    report = byoc_relax.validate(two_regions(), exe, [random(*SHAPE)])
    assert report.ok and in_place_of("DNNL") in str(report)
    assert [(c.ran_on, c.calls) for c in exe.cards()] == [("NumPy", 1)] * 2
    with pytest.raises(OffloadError, match="ran on NumPy, not dnnl"):
        exe.assert_offloaded()
    exe.assert_offloaded(regions=2, accept_numpy=True)
    assert in_place_of("DNNL") in str(byoc_relax.coverage(two_regions()))


@pytest.mark.parametrize("layouts", ["fixed", "measured"])
def test_layouts_option_is_applied(layouts: str) -> None:
    weight = const(64, 64, 3, 3)
    mod = module(
        [var("x", 1, 64, 57, 57)],
        lambda emit, x: emit(op.nn.relu(emit(op.nn.conv2d(x, weight, padding=1)))),
    )
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(mod), layouts=layouts)
    exe(random(1, 64, 57, 57))
    assert f"; {layouts}" in str(exe.cards()[0].layouts)


def test_wrong_arguments_raise_errors_that_name_them() -> None:
    with pytest.raises(ArgumentError, match=r"relax\.build: layouts must be 'fixed' or 'measured'"):
        byoc_relax.build(two_regions(), layouts="best")
    with pytest.raises(ArgumentError, match=r"relax\.build takes a module of TVM's Relax, found"):
        byoc_relax.build(3)
    with pytest.raises(ArgumentError, match='"main", found one without functions of Relax'):
        byoc_relax.build(tvm.IRModule({}))
    others = tvm.IRModule({name: two_regions()["main"] for name in ("f", "g")})
    with pytest.raises(ArgumentError, match='with a Relax function "main", found one with f, g'):
        byoc_relax.build(others)
    exe = byoc_relax.build(two_regions())
    assert len(exe.cards()) == 0
    with pytest.raises(OffloadError, match="nothing is offloaded"):
        exe.assert_offloaded()
    with pytest.raises(InputError, match="expected the inputs x, found y"):
        exe.run(y=1)
    with pytest.raises(InputError, match=r"expected 1 input \(x\), found 2"):
        exe(1, 2)
    x = random(*SHAPE)
    for wrong in (x[:, :2], x[0], x.astype("float64")):
        with pytest.raises(InputError, match=r"^input x: expected R\.Tensor.*, found an array of"):
            exe(wrong)


def test_two_values_of_one_unknown_size_are_refused() -> None:
    k = symbol("k")
    params = [var("x", 2, k), var("w", k, 4)]
    mod = module(params, lambda emit, x, w: emit(op.matmul(x, w)))
    exe = byoc_relax.build(mod)
    assert exe(random(2, 3), random(3, 4))[0].shape == (2, 4)
    with pytest.raises(InputError, match=r"input w: expected .* with k = 3, as before, found an"):
        exe(random(2, 3), random(5, 4))


def test_errors_of_tvm_at_build_and_run_are_explained() -> None:
    call = op.call_dps_packed("mychip.absent", (x := var("x", 2, 4),), out_ty=x.ty)
    with pytest.raises(BuildError, match=r"calls mychip\.absent, and no linked library"):
        byoc_relax.build(module([x], lambda emit, _: emit(call)))
    shape = relax.Var("s", relax.ShapeType([4, 2]))
    mod = module([x, shape], lambda emit, x, s: emit(op.reshape(x, s)))
    with pytest.raises(BuildError, match=r"the module: AssertionError in reshape_call_te: assert "):
        byoc_relax.build(mod)


def test_tuple_as_input_is_refused_with_advice() -> None:
    ty = var("x", 2, 3).ty
    pair = relax.Var("x", tvm.ir.TupleType([ty, ty]))
    mod = module([pair], lambda emit, x: emit(relax.TupleGetItem(x, 0)))
    built = byoc_relax.build(mod)
    for use in (lambda: built.run([random(2, 3)]), lambda: byoc_relax.validate(mod, built)):
        with pytest.raises(InputError, match=r"^input x is a tuple.* one parameter for each field"):
            use()


def shape_and_number() -> Any:
    """relu(x) with the shape s, and an unused number."""
    x, s = var("x", 2, 4), relax.Var("s", relax.ShapeType(ndim=2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, s, relax.Var("k", tvm.ir.PrimType("int64"))]):
        with builder.dataflow():
            y = builder.emit(op.nn.relu(x))
            out = builder.emit_output(op.reshape(y, s))
        builder.emit_func_output(out)
    return builder.get()


def test_inputs_may_be_shapes_and_numbers() -> None:
    mod = shape_and_number()
    exe = byoc_relax.build(byoc_relax.partition_for_dnnl(mod))
    x = random(2, 4)
    assert np.array_equal(exe(x, (4, 2), 3)[0], np.maximum(x, 0).reshape(4, 2))
    for wrong in ((8,), (4.0, 2.0), 3):
        with pytest.raises(InputError, match=r"input s: expected R\.Shape\(ndim=2\), found"):
            exe(x, wrong, 3)
    with pytest.raises(InputError, match="input k: expected int64, found an array of shape"):
        exe(x, (4, 2), [3])
    with pytest.raises(EvaluationError, match="the compiled module failed in a run: "):
        exe(x, (4, 3), 3)
    with pytest.raises(InputError, match=r"input s is R\.Shape\(ndim=2\), but only arrays"):
        byoc_lab.validate(mod, exe)
    with pytest.raises(ImporterError, match=r"%s must be a tensor, found R\.Shape\(ndim=2\)"):
        byoc_lab.bisect(mod, "dnnl")


def test_functions_for_relay_forward_relax_modules() -> None:
    mod = two_regions()
    cut = byoc_lab.relax.partition_for_dnnl(mod)
    assert str(byoc_lab.coverage(mod, "dnnl")) == str(byoc_lab.relax.coverage(mod))
    assert byoc_lab.explain(mod, "dnnl").summary == byoc_lab.relax.explain(mod).summary
    assert str(byoc_lab.validate(mod, cut)) == str(byoc_lab.relax.validate(mod, cut))


def test_build_for_relay_names_the_function_for_relax() -> None:
    with pytest.raises(ArgumentError, match=r"found IRModule of TVM \(for Relax: the functions"):
        byoc_lab.build(two_regions())
