"""`reduce`: the remaining parts of modules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, ForeignModuleError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Constant, Function, If, Let, Tuple, Var
from byoc_lab.relay.ir.visit import post_order
from tests.lab.reducing.networks import chain, convolution, operators, tanh_then_sigmoid

HEAD = '#[version = "0.0.5"]\n'


def nodes(mod: IRModule, kind: type) -> list:
    return [n for f in mod.functions.values() for n in post_order(f.body) if isinstance(n, kind)]


def has(*names: str) -> Callable[[IRModule], bool]:
    return lambda mod: set(names) <= set(operators(mod))


def test_chain_is_reduced_to_the_required_operators() -> None:
    found = byoc_lab.reduce(chain(60, {10: "tanh", 40: "sigmoid"}), tanh_then_sigmoid)
    assert operators(found.module) == ["tanh", "sigmoid"] and found.minimal
    assert found.passing is not None and not tanh_then_sigmoid(found.passing)
    assert len(operators(found.passing)) == 1


def test_convolution_keeps_only_the_required_shape() -> None:
    def strided(mod: IRModule) -> bool:
        calls = [c for c in nodes(mod, Call) if c.is_op("nn.conv2d")]
        return any(tuple(c.attrs.strides) == (2, 2) for c in calls)

    found = byoc_lab.reduce(convolution(), strided)
    assert operators(found.module) == ["nn.conv2d"]
    (call,) = nodes(found.module, Call)
    data, weight = (tuple(map(int, a.checked_type.shape)) for a in call.args)
    assert found.passing is not None
    assert operators(found.passing) == ["nn.conv2d"], "with other strides it does not hold"
    assert data == (1, 1, 1, 1) and weight == (1, 1, 1, 1)
    assert tuple(call.attrs.padding) == (0, 0) and call.attrs.channels is None


def test_dependent_dimensions_shrink_together() -> None:
    def wide(mod: IRModule) -> bool:
        calls = [c for c in nodes(mod, Call) if c.is_op("nn.dense")]
        return any(c.checked_type.shape[1] >= 3 for c in calls)

    found = byoc_lab.reduce(convolution(), wide)
    (call,) = nodes(found.module, Call)
    assert [tuple(map(int, a.checked_type.shape)) for a in call.args] == [(1, 1), (3, 1)]


def test_branches_lets_tuples_and_functions_are_removed() -> None:
    text = f"""{HEAD}
    def @helper(%h: Tensor[(3, 4), float32]) {{ exp(tanh(%h)) }}
    def @unused(%h: Tensor[(3, 4), float32]) {{ abs(%h) }}
    def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32], %c: bool) {{
      let %v = nn.relu(%x);
      %0 = if (%c) {{ @helper(%v) }} else {{ negative(%y) }};
      %1 = fn (%p: Tensor[(3, 4), float32]) {{ sigmoid(%p) }};
      %2 = (%1(%0), %v);
      add(%2.0, %2.1)
    }}"""
    found = byoc_lab.reduce(relay.parse(text), has("tanh"))
    assert operators(found.module) == ["tanh"] and len(found.module) == 1
    assert len(found.module["main"].params) == 1
    assert not any(nodes(found.module, kind) for kind in (If, Let, Tuple, Function))


def test_body_of_a_region_is_reduced_and_its_call_adapted() -> None:
    text = f"""{HEAD}
    def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]) {{
      %0 = nn.relu(%x);
      %1 = @mine_0(%0, %w);
      abs(%1)
    }}
    def @mine_0(%a: Tensor[(3, 4), float32], %b: Tensor[(5, 4), float32], Compiler="mine",
                Primitive=1, global_symbol="mine_0") {{
      %2 = tanh(%a);
      %3 = nn.dense(%2, %b);
      sigmoid(%3)
    }}"""

    def dense_in_region(mod: IRModule) -> bool:
        regions = [f for f in mod.functions.values() if f.attrs.get("Compiler") == "mine"]
        return any("nn.dense" in operators(IRModule.unchecked(f)) for f in regions)

    found = byoc_lab.reduce(relay.parse(text), dense_in_region)
    assert operators(found.module) == ["nn.dense"]
    (region,) = (f for f in found.module.functions.values() if f.attrs.get("Compiler") == "mine")
    assert list(region.attrs) == ["Compiler"] and isinstance(region.body, Call)


def test_recursive_functions_are_reduced() -> None:
    """A recursive function bound by a let, and a recursive global function."""
    text = f"""{HEAD}
    def @again(%n: int32, %y: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {{
      if (less(%n, 1)) {{ %y }} else {{ @again(subtract(%n, 1), sigmoid(%y)) }}
    }}
    def @main(%x: Tensor[(3, 4), float32]) {{
      let %loop = fn (%n: int32, %y: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {{
        if (less(%n, 1)) {{ %y }} else {{ %loop(subtract(%n, 1), tanh(%y)) }}
      }};
      abs(@again(3, %loop(2, exp(%x))))
    }}"""
    for name in ("tanh", "sigmoid", "abs", "less"):
        found = byoc_lab.reduce(relay.parse(text), has(name))
        assert operators(found.module) == [name], str(found)

    def recursive(mod: IRModule) -> bool:
        lets = nodes(mod, Let)
        return any(isinstance(n.value, Function) and n.var in post_order(n.value) for n in lets)

    found = byoc_lab.reduce(relay.parse(text), recursive)
    assert operators(found.module) == [] and recursive(found.module)


def test_function_that_cannot_be_inlined_becomes_main() -> None:
    text = f"""{HEAD}
    def @main(%x: Tensor[(6, 8), float32]) {{
      %0 = annotation.compiler_begin(@f, compiler="A");
      %1 = %0(%x);
      abs(%1)
    }}
    def @f(%p: Tensor[(6, 8), float32]) -> Tensor[(6, 8), float32] {{ nn.relu(exp(%p)) }}"""
    found = byoc_lab.reduce(relay.parse(text), has("nn.relu"))
    assert operators(found.module) == ["nn.relu"] and len(found.module) == 1


def test_shapes_shrink_through_functions_with_declared_results() -> None:
    """A text declares result types of global functions and of function literals."""
    text = f"""{HEAD}
    def @main(%x: Tensor[(6, 8), float32]) -> Tensor[(6, 8), float32] {{
      %0 = fn (%p: Tensor[(6, 8), float32], Composite="mine.tanh") -> Tensor[(6, 8), float32] {{
        tanh(%p)
      }};
      %1 = %0(%x);
      @mine_0(%1)
    }}
    def @mine_0(%a: Tensor[(6, 8), float32], Compiler="mine") -> Tensor[(6, 8), float32] {{
      abs(%a)
    }}"""

    def both(mod: IRModule) -> bool:
        literals = [f.attrs.get("Composite") for f in nodes(mod, Function)]
        regions = [f.attrs.get("Compiler") for f in mod.functions.values()]
        return "mine.tanh" in literals and "mine" in regions and has("tanh", "abs")(mod)

    found = byoc_lab.reduce(relay.parse(text), both)
    assert "(1, 1)" in str(found.module) and "6" not in str(found.module)


@pytest.mark.parametrize(
    "value", ["@f", "fn (%y: Tensor[(2), float32]) { nn.relu(%y) }"], ids=["global", "literal"]
)
def test_function_used_as_a_value_becomes_a_parameter(value: str) -> None:
    mod = relay.parse(
        '#[version = "0.0.5"]\ndef @f(%x: Tensor[(2), float32]) { tanh(%x) }\n'
        f'def @main() {{ annotation.compiler_begin({value}, compiler="A") }}'
    )
    found = byoc_lab.reduce(mod, lambda m: "annotation.compiler_begin" in operators(m))
    (main,) = found.module.functions.values()
    (param,) = main.params
    assert str(param.checked_type) == "Tensor[(1), float32]"
    assert main.body.args[0] is param


def test_constants_become_parameters_or_zeros() -> None:
    x = relay.var("x", shape=(2, 6))
    weight = relay.const(np.arange(24, dtype="float32").reshape(4, 6))
    mod = IRModule.from_expr(relay.nn.relu(relay.nn.dense(x, weight)))
    found = byoc_lab.reduce(mod, has("nn.dense"))
    assert not nodes(found.module, Constant)

    def constant_weight(m: IRModule) -> bool:
        calls = [c for c in nodes(m, Call) if c.is_op("nn.dense")]
        return any(isinstance(c.args[1], Constant) for c in calls)

    found = byoc_lab.reduce(mod, constant_weight)
    (constant,) = nodes(found.module, Constant)
    assert constant.numpy().tolist() == [[0.0]]


def test_constant_that_must_stay_becomes_a_scalar_if_it_is_broadcast() -> None:
    x = relay.var("x", shape=(2, 6))
    values = relay.const(np.arange(1, 7, dtype="float32"))
    mod = IRModule.from_expr(relay.add(x, values))
    found = byoc_lab.reduce(mod, lambda m: bool(nodes(m, Constant)) and has("add")(m))
    (constant,) = nodes(found.module, Constant)
    assert constant.data.shape == () and float(constant.numpy()) == 0


def test_parameters_of_one_type_are_merged() -> None:
    x, y, z = (relay.var(n, shape=(2, 2)) for n in "xyz")
    found = byoc_lab.reduce(IRModule.from_expr(x * y + z), has("add", "multiply"))
    assert len(found.module["main"].params) == 1
    two = byoc_lab.reduce(
        IRModule.from_expr(x * y + z), lambda mod: has("add")(mod) and len(mod["main"].params) > 1
    )
    assert len(two.module["main"].params) == 2


def test_results_are_removed_one_by_one() -> None:
    x = relay.var("x", shape=(2, 2))
    results = [relay.tanh(x), relay.abs(x), relay.sigmoid(x), relay.exp(x)]
    mod = IRModule.from_expr(relay.Tuple(results))
    found = byoc_lab.reduce(mod, has("abs", "exp"))
    assert sorted(operators(found.module)) == ["abs", "exp"]


def test_unused_parameters_stay_if_the_predicate_requires_them() -> None:
    x, y, z = (relay.var(n, shape=(2, 2)) for n in "xyz")
    mod = IRModule.from_expr(Function([x, y, z], relay.tanh(relay.abs(x))))
    found = byoc_lab.reduce(mod, lambda m: len(m["main"].params) > 1 and has("tanh")(m))
    assert operators(found.module) == ["tanh"]
    assert len(found.module["main"].params) == 2


def test_same_arguments_give_the_same_result() -> None:
    runs = [byoc_lab.reduce(convolution(), has("nn.batch_norm", "nn.dense")) for _ in range(2)]
    assert len({str(run.module) for run in runs}) == len({str(run.passing) for run in runs}) == 1
    assert runs[0].steps == runs[1].steps and runs[0].calls == runs[1].calls


def test_wrong_arguments_raise_argument_error() -> None:
    mod = chain(4, {})
    for arguments in ((mod, 3), ("text", tanh_then_sigmoid), (mod, "finding")):
        with pytest.raises(ArgumentError):
            byoc_lab.reduce(*arguments)  # type: ignore[arg-type]
    for budget in (0, -1, 1.5, True):
        with pytest.raises(ArgumentError, match="budget"):
            byoc_lab.reduce(mod, tanh_then_sigmoid, budget=budget)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="seconds"):
        byoc_lab.reduce(mod, tanh_then_sigmoid, seconds="1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="predicates with a name"):
        byoc_lab.reduce(mod, tanh_then_sigmoid, target="dnnl")


def test_predicate_that_always_holds_leaves_one_parameter() -> None:
    found = byoc_lab.reduce(convolution(), lambda mod: True)
    assert isinstance(found.module["main"].body, Var) and found.passing is None
    assert "no smaller module was found" in str(found)


def test_relax_module_is_refused_with_the_conversion_to_relay() -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    from byoc_lab.importers.relax import from_relax
    from tests.relax.tracing.networks import relu_module

    with pytest.raises(ForeignModuleError, match="from_relax") as caught:
        byoc_lab.reduce(relu_module(), lambda mod: True)
    assert "\n" not in str(caught.value)
    mod, _ = from_relax(relu_module())
    assert "nn.relu" in str(byoc_lab.reduce(mod, lambda mod: "nn.relu" in str(mod)).module)
    with pytest.raises(
        ArgumentError, match=r"build expects an IRModule, found .*from_relax"
    ) as raised:
        byoc_lab.build(relu_module())
    assert "\n" not in str(raised.value)
