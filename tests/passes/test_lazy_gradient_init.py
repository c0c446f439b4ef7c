"""LazyGradientInit: cells instead of tensors. The expected texts are TVM 0.16's results (with a
`gradient.rly` of that content: the installed TVM comes without), but for the cell of zeros_like."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import gradient
from byoc_lab.relay import IRModule
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import InferType, LazyGradientInit

T, CELL = "Tensor[(3, 4), float32]", "GradCell[Tensor[(3, 4), float32]]"
X = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")


def typed(text: str) -> IRModule:
    return InferType()(relay.parse('#[version = "0.0.5"]\n' + text))


def with_cells(text: str) -> IRModule:
    """A module of `text`, which may call the functions of cells."""
    mod = IRModule()
    mod.import_from_std("gradient.rly")
    mod.update(relay.parse('#[version = "0.0.5"]\n' + text, init_module=mod, infer=False))
    return InferType()(mod)


COMBINE = f"fn (%lhs: {T}, %rhs: {T}) -> {T} {{ NAME(%lhs, %rhs) }}"
RESULTS = {
    "a parameter": (
        f"def @main(%x: {T}) {{ %x }}",
        f"""def @main(%x: {T}) -> {T} {{
          let %a = fn (%x: {CELL}) -> {CELL} {{ %x }}(Raw(%x));
          @FromGradCell(%a)
        }}""",
    ),
    "sum and product, others by value": (
        f'def @main(%x: {T}, %y: {T}, mark="inside") {{ multiply(add(%x, %y), exp(%y)) }}',
        f"""def @main(%x: {T}, %y: {T}) -> {T} {{
          let %a = fn (%x: {CELL}, %y: {CELL}, mark="inside") -> {CELL} {{
            @MultiplyGradCell({COMBINE.replace("NAME", "multiply")},
              @AddGradCell({COMBINE.replace("NAME", "add")}, %x, %y),
              Raw(exp(@FromGradCell(%y))))
          }}(Raw(%x), Raw(%y));
          @FromGradCell(%a)
        }}""",
    ),
    "ones and zeros, a broadcast": (
        f"""def @main(%x: {T}) {{
          let %o = ones(shape=[3, 4], dtype="float32");
          (zeros(shape=[3, 4], dtype="float32"), ones_like(%o), add(%o, 2f))
        }}""",
        f"""def @main(%x: {T}) -> ({T}, {T}, {T}) {{
          let %a = fn (%x: {CELL}) -> ({CELL}, {CELL}, {CELL}) {{
            let %o: {CELL} = One(fn () -> {T} {{ ones(shape=[3, 4], dtype="float32") }});
            (Zero(fn () -> {T} {{ zeros(shape=[3, 4], dtype="float32") }}),
             One(fn () -> {T} {{ ones_like(@FromGradCell(%o)) }}),
             Raw(add(@FromGradCell(%o), @FromGradCell(Raw(2f)))))
          }}(Raw(%x));
          let %b = %a.0;
          let %c = %a.1;
          let %d = %a.2;
          (@FromGradCell(%b), @FromGradCell(%c), @FromGradCell(%d))
        }}""",
    ),
    "tuples of tuples": (
        f"def @main(%x: ({T}, ({T}, {T}))) {{ %x.1 }}",
        f"""def @main(%x: ({T}, ({T}, {T}))) -> ({T}, {T}) {{
          let %a = %x.0;
          let %b = %x.1;
          let %c = %b.0;
          let %d = %b.1;
          let %e = fn (%x: ({CELL}, ({CELL}, {CELL}))) -> ({CELL}, {CELL}) {{
            %x.1
          }}((Raw(%a), (Raw(%c), Raw(%d))));
          let %f = %e.0;
          let %g = %e.1;
          (@FromGradCell(%f), @FromGradCell(%g))
        }}""",
    ),
    "closures and references": (
        f"""def @main(%x: {T}) {{
          let %f = fn (%y: {T}) -> {T} {{ exp(%y) }};
          let %r = ref(%x);
          let %u = ref_write(%r, %f(ref_read(%r)));
          ref_read(%r)
        }}""",
        f"""def @main(%x: {T}) -> {T} {{
          let %a = fn (%x: {CELL}) -> {CELL} {{
            let %f = fn (%y: {CELL}) -> {CELL} {{ Raw(exp(@FromGradCell(%y))) }};
            let %r = ref(%x);
            let %u = ref_write(%r, %f(ref_read(%r)));
            ref_read(%r)
          }}(Raw(%x));
          @FromGradCell(%a)
        }}""",
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_result_is_that_of_tvm(name: str) -> None:
    before, after = RESULTS[name]
    relay.assert_structural_equal(LazyGradientInit()(typed(before)), with_cells(after))


MORE = {
    "zeros_like in sums and products": f"""def @main(%x: {T}) {{
      %0 = zeros_like(%x);
      (multiply(%0, ones_like(%x)), multiply(%x, ones_like(%x)), add(%x, %0), multiply(%x, %0))
    }}""",
    "a branch": f"""def @main(%x: {T}) {{
      if (less(sum(%x), 1f)) {{ zeros_like(%x) }} else {{ multiply(%x, %x) }}
    }}""",
    "tuples of operators": f"""def @main(%x: {T}) {{
      %0 = split(%x, indices_or_sections=2, axis=1);
      %1 = (%0.1, %0.0, ones(shape=[3, 1], dtype="float32"));
      (%0, concatenate(%1, axis=1))
    }}""",
    "shared values": f"def @main(%x: {T}) {{ %0 = exp(%x); %1 = add(%0, %0); multiply(%1, %1) }}",
    "global functions": f"""def @main(%x: {T}) {{ %0 = @pair(%x); @id(%0.1) }}
    def @pair(%x: {T}) -> ({T}, {T}) {{ (%x, exp(%x)) }}
    def @id[A](%x: A) -> A {{ %x }}""",
}


@pytest.mark.parametrize("name", [*RESULTS, *MORE])
def test_the_values_stay_the_same(name: str) -> None:
    mod = typed(MORE[name] if name in MORE else RESULTS[name][0])
    out = LazyGradientInit()(mod)
    assert out["main"].checked_type == mod["main"].checked_type
    values = [_value(p.checked_type, n) for n, p in enumerate(mod["main"].params)]
    found, expected = (_tensors(evaluate(m, values).value) for m in (out, mod))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def _value(ty: relay.Type, add: float) -> object:
    """Numbers of a type made of tensors like X."""
    if isinstance(ty, relay.TupleType):
        return tuple(_value(field, add + n) for n, field in enumerate(ty.fields))
    return X + np.float32(add)


def _tensors(value: object) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [tensor for field in value for tensor in _tensors(field)]
    return [value]


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
def test_gradients_stay_the_same(mode: str) -> None:
    func = typed(f"def @main(%x: {T}, %y: {T}) {{ multiply(multiply(%x, %y), %y) }}")["main"]
    back = run_infer_type(gradient(func, mode=mode))
    out = LazyGradientInit()(IRModule.from_expr(back))
    _, (dx, dy) = evaluate(out, [X, X + 1]).value
    np.testing.assert_allclose(dx, (X + 1) ** 2, rtol=1e-5)
    np.testing.assert_allclose(dy, 2 * X * (X + 1), rtol=1e-5)


def test_what_has_cells_already_is_left_alone() -> None:
    once = LazyGradientInit()(typed("def @id[A](%x: A) -> A { %x }"))
    assert [gv.name_hint for gv in once.functions] == [
        "id", "FromGradCell", "AddGradCell", "MultiplyGradCell",
    ]  # fmt: skip
    relay.assert_structural_equal(LazyGradientInit()(once), once)


def test_its_events_do_its_work_again() -> None:
    mod = typed(f"def @main(%x: {T}) {{ let %y = exp(%x); add(%y, zeros_like(%x)) }}")
    trace = byoc_lab.trace(mod, [InferType(), LazyGradientInit()])
    assert trace.error is None
    stage = trace.stages[-1]
    again = InferType()(stage.state_after(len(stage.events)))
    relay.assert_structural_equal(again, stage.after)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }", "type fn .* in or out"),
        ("def @main(%r: ref(float32)) { ref_read(%r) }", r"type ref\(float32\) that goes in"),
        ("type P { Q } def @main(%x: float32) { Q }", "found constructor Q"),
        ("def @main(%x: float32) { let %f = @g; %f(%x) } def @g(%x: float32) { %x }", "global @g"),
    ],
)
def test_what_is_neither_tensor_nor_tuple_is_said(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        LazyGradientInit()(typed(text))
