"""The NumPy executor: every kind of node, checked inputs, float64, depth without recursion."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import EvaluationError, InputError, UnknownNameError
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.testing import mobilenet
from byoc_lab.run.reference import evaluate


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


x = relay.var("x", shape=(3,))
y = relay.var("y", shape=(3,))
X, Y = f32(1, -2, 3), f32(10, 20, 30)
scalar_int = relay.TensorType((), "int32")


def test_function_takes_inputs_by_name_or_in_order() -> None:
    func = Function([x, y], x + y)
    for inputs in ({"y": Y, "x": X}, [X, Y], (X, Y), {"x": relay.const(X).data, "y": [10, 20, 30]}):
        result = evaluate(func, inputs)
        np.testing.assert_array_equal(result.value, X + Y)
        assert result.value.dtype == np.float32 and result.values == {}


def test_expression_takes_its_free_variables() -> None:
    np.testing.assert_array_equal(
        evaluate(nn.relu(x) - y, {"x": X, "y": Y}).value, f32(-9, -20, -27)
    )
    assert evaluate(relay.const(3)).value == 3


def test_tuples_nest_and_outputs_are_flat() -> None:
    pair = relay.Tuple([x, relay.Tuple([y, x + y])])
    result = evaluate(pair, [X, Y])
    assert isinstance(result.value[1], tuple)
    for found, wanted in zip(result.outputs, (X, Y, X + Y), strict=True):
        np.testing.assert_array_equal(found, wanted)
    inner = relay.TupleGetItem(relay.TupleGetItem(pair, 1), 0)
    np.testing.assert_array_equal(evaluate(inner, [X, Y]).value, Y)


def test_shared_nodes_are_computed_once() -> None:
    """A reference that is incremented at each evaluation counts them."""
    cell = relay.RefCreate(relay.const(0))
    write = relay.RefWrite(cell, relay.RefRead(cell) + relay.const(1))
    count = relay.TupleGetItem(relay.Tuple([relay.RefRead(cell), relay.Tuple([write, write])]), 0)
    in_order = relay.Let(relay.var("a"), relay.Tuple([write, write]), relay.RefRead(cell))
    assert evaluate(in_order).value == 1
    assert evaluate(count).value == 0


def test_references_are_read_and_written_in_order() -> None:
    cell, old, done = relay.var("cell"), relay.var("old"), relay.var("done")
    program = relay.Let(
        cell,
        relay.RefCreate(relay.const(1)),
        relay.Let(
            old,
            relay.RefRead(cell),
            relay.Let(
                done,
                relay.RefWrite(cell, relay.const(5)),
                relay.Tuple([old, relay.RefRead(cell), done]),
            ),
        ),
    )
    assert evaluate(program).value == (1, 5, ())


def test_let_binds_its_value() -> None:
    a, b = relay.var("a"), relay.var("b")
    program = relay.Let(a, x + x, relay.Let(b, a * a, b - a))
    np.testing.assert_array_equal(evaluate(program, [X]).value, (2 * X) ** 2 - 2 * X)


def test_only_one_branch_is_evaluated() -> None:
    cond = relay.var("cond", shape=(), dtype="bool")
    unbound = relay.Call(relay.GlobalVar("nowhere"), [x])
    choice = relay.If(cond, x + x, unbound)
    func = Function([cond, x], choice)
    np.testing.assert_array_equal(evaluate(func, [np.bool_(True), X]).value, 2 * X)
    with pytest.raises(EvaluationError, match="@nowhere is called but not defined"):
        evaluate(func, [np.bool_(False), X])


def test_closures_use_the_variables_around_them() -> None:
    """As the regions of the first partitioner: an inline function that uses an outer value."""
    outer = nn.relu(x)
    p = relay.var("p", shape=(3,))
    region = Function([p], p + outer, attrs={"Compiler": "dnnl", "Primitive": 1})
    np.testing.assert_array_equal(
        evaluate(relay.Call(region, [y]) + outer, {"x": X, "y": Y}).value, Y + 2 * np.maximum(X, 0)
    )


def test_function_may_be_a_value() -> None:
    f, a = relay.var("f"), relay.var("a")
    twice = Function([f, a], relay.Call(f, [relay.Call(f, [a])]))
    b = relay.var("b")
    increment = Function([b], b + y)
    program = relay.Call(twice, [increment, x])
    np.testing.assert_array_equal(evaluate(program, {"x": X, "y": Y}).value, X + 2 * Y)


def test_external_and_composite_functions_are_called_like_others() -> None:
    a, b, c = (relay.var(n, shape=(3,)) for n in "abc")
    composite = Function([a], nn.relu(a), attrs={"Composite": "dnnl.relu"})
    mod = IRModule()
    region = relay.GlobalVar("dnnl_0")
    mod[region] = Function(
        [b], relay.Call(composite, [b]) + b, attrs={"Compiler": "dnnl", "global_symbol": "dnnl_0"}
    )
    mod["main"] = Function([c], relay.Call(region, [relay.Call(region, [c])]))
    once = np.maximum(X, 0) + X
    np.testing.assert_array_equal(evaluate(mod, [X]).value, np.maximum(once, 0) + once)


def test_let_bound_function_may_call_itself() -> None:
    """0 + 1 + ... + n, deeper than Python could recurse."""
    n, total = relay.var("n", scalar_int), relay.var("total")
    one, zero = relay.const(1), relay.const(0)
    body = relay.If(relay.equal(n, zero), zero, n + relay.Call(total, [relay.subtract(n, one)]))
    program = relay.Let(total, Function([n], body), relay.Call(total, [relay.const(2000)]))
    assert evaluate(program).value == 2000 * 2001 // 2


@pytest.mark.slow
def test_endless_recursion_ends_with_an_error() -> None:
    f, a = relay.var("f"), relay.var("a")
    program = relay.Let(f, Function([a], relay.Call(f, [a])), relay.Call(f, [relay.const(1)]))
    with pytest.raises(EvaluationError, match="endless recursion"):
        evaluate(program)


def test_annotations_are_identities() -> None:
    begin = relay.annotation.compiler_begin(x, "dnnl")
    end = relay.annotation.compiler_end(nn.relu(begin), "dnnl")
    np.testing.assert_array_equal(evaluate(end, [X]).value, np.maximum(X, 0))


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_annotation_of_a_function_is_the_function(dtype: str | None) -> None:
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    mod, callee = IRModule(), relay.GlobalVar("f")
    mod[callee] = Function([x], nn.relu(x))
    inner = Function([y], nn.relu(y))
    called = relay.Call(begin(callee, "dnnl"), [begin(x, "dnnl")])
    mod["main"] = Function([x], end(relay.Call(begin(inner, "dnnl"), [called]), "dnnl"))
    np.testing.assert_array_equal(evaluate(mod, [X], dtype=dtype).value, [1, 0, 3])


@pytest.mark.parametrize("kind", ["calls", pytest.param("lets", marks=pytest.mark.slow)])
def test_chain_of_100000_nodes_is_evaluated(kind: str) -> None:
    length = 100_000
    assert sys.getrecursionlimit() < length
    one = relay.const(np.float32(1))
    if kind == "calls":
        body: relay.Expr = x
        for _ in range(length):
            body = relay.add(body, one)
    else:
        names = [x, *(relay.var(f"v{n}") for n in range(length))]
        body = names[-1]
        for before, after in zip(names[-2::-1], names[:0:-1], strict=True):
            body = relay.Let(after, relay.add(before, one), body)
    np.testing.assert_array_equal(evaluate(body, [X]).value, X + length)


def test_keep_returns_the_value_of_every_node() -> None:
    inner = relay.var("p", shape=(3,))
    region = Function([inner], nn.relu(inner))
    call = relay.Call(region, [x])
    result = evaluate(call + y, {"x": X, "y": Y}, keep=True)
    np.testing.assert_array_equal(result.values[call], np.maximum(X, 0))
    np.testing.assert_array_equal(result.values[inner], X)
    np.testing.assert_array_equal(result.values[region.body], np.maximum(X, 0))
    np.testing.assert_array_equal(result.values[y], Y)


# float64 ------------------------------------------------------------------------------------------


def test_float64_widens_inputs_constants_and_attributes() -> None:
    third = relay.const(np.float32(1) / np.float32(3))
    weight = relay.const(np.full((2, 3), 0.1, np.float32))
    dense = nn.dense(relay.expand_dims(x, 0), weight, out_dtype="float32")
    program = relay.Tuple([x * third, relay.cast(x, "float32"), relay.cast(x, "int32"), dense])
    result = evaluate(program, {"x": X.astype(np.float64) + 1e-12}, dtype="float64")
    kinds = [a.dtype.name for a in result.outputs]
    assert kinds == ["float64", "float64", "int32", "float64"]
    assert result.outputs[1][0] == 1 + 1e-12
    assert result.outputs[3][0, 0] != np.float32(result.outputs[3][0, 0])


def test_float64_of_mobilenet_is_close_to_float32() -> None:
    mod, params = mobilenet.get_workload(image_shape=(3, 64, 64))
    data = np.random.default_rng(0).uniform(-1, 1, (1, 3, 64, 64)).astype(np.float32)
    inputs = {"data": data, **params}
    narrow, wide = evaluate(mod, inputs).value, evaluate(mod, inputs, dtype="float64").value
    assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
    assert 0 < np.abs(narrow - wide).max() < 1e-7
    np.testing.assert_allclose(wide.sum(), 1, rtol=1e-12)


def test_dtype_other_than_float64_is_refused() -> None:
    with pytest.raises(InputError, match="'float64', found 'float16'"):
        evaluate(x, [X], dtype="float16")


# Inputs -------------------------------------------------------------------------------------------

pair = relay.var("pair", relay.TupleType([x.type_annotation, scalar_int]))
any_rows = relay.var("rows", shape=(relay.Any(), 2))
REFUSED = [
    (Function([x, y], x), {"x": X}, r"missing inputs: %y: Tensor\[\(3\), float32\]"),
    (Function([x], x), {"x": X, "z": Y}, "no input is called 'z'; the inputs are %x"),
    (Function([x, y], x), [X], r"expected 2 inputs \(x, y\), found 1"),
    (Function([x], x), [f32(1, 2)], r"input %x: expected Tensor\[\(3\).*found Tensor\[\(2\)"),
    (Function([x], x), [X.astype(np.float64)], r"expected .*float32\], found .*float64\]"),
    (Function([x], x), ["words"], "input %x: expected"),
    (Function([x], x), [[1, 2, {}]], "array of numbers"),
    (Function([any_rows], x), [np.zeros((4, 3), np.float32)], r"\(\?, 2\).*\(4, 3\)"),
    (Function([pair], x), [X], "input %pair: expected"),
    (Function([pair], x), [(X, np.float32(1))], r"input %pair\.1: expected int32, found float32"),
    (Function([x, relay.var("x")], x), {"x": X}, "several inputs are called x"),
]


@pytest.mark.parametrize(("func", "inputs", "message"), REFUSED, ids=range(len(REFUSED)))
def test_unfit_input_is_named(func, inputs, message) -> None:
    with pytest.raises(InputError, match=f"(?s){message}"):
        evaluate(func, inputs)


def test_inputs_of_other_types_that_fit_are_accepted() -> None:
    func = Function([pair, any_rows], relay.Tuple([relay.TupleGetItem(pair, 0), any_rows]))
    rows = np.zeros((5, 2), np.float32)
    result = evaluate(func, [(X, np.int32(1)), rows])
    assert result.outputs[1].shape == (5, 2)


# Expressions without a value
# ---------------------------------------------------------------------


def test_evaluating_a_module_without_main_raises_error() -> None:
    with pytest.raises(UnknownNameError, match="@main"):
        evaluate(IRModule())


def test_free_variable_is_named() -> None:
    with pytest.raises(EvaluationError, match="%y has no value"):
        evaluate(Function([x], x + y), [X])


def test_wrong_calls_are_named() -> None:
    two = Function([x, y], x)
    with pytest.raises(EvaluationError, match="takes 2 arguments, found 1"):
        evaluate(Function([x], relay.Call(two, [x])), [X])
    with pytest.raises(EvaluationError, match="%x is called but is not a function"):
        evaluate(Function([x], relay.Call(x, [x])), [X])
    with pytest.raises(EvaluationError, match="field 2 does not exist"):
        evaluate(Function([x], relay.TupleGetItem(relay.Tuple([x, x]), 2)), [X])
    with pytest.raises(EvaluationError, match="is not a reference"):
        evaluate(Function([x], relay.RefRead(x)), [X])


def test_shapes_that_do_not_fit_each_other_are_shown() -> None:
    untyped = relay.var("a")
    with pytest.raises(EvaluationError, match=r"add .* \(float32\[3\], float32\[2\]\)"):
        evaluate(Function([x, untyped], x + untyped), [X, f32(1, 2)])


@pytest.fixture
def bare_operator() -> Iterator[relay.Op]:
    """An operator with nothing but a type relation."""
    op = relay.op.define_op("test.bare", "data", lambda attrs, data: (data, data))
    yield op
    del relay.Op._registry[op.name]


def test_operator_without_reference_says_so(bare_operator: relay.Op) -> None:
    with pytest.raises(EvaluationError, match=r"test\.bare has no NumPy reference"):
        evaluate(relay.Call(bare_operator, [x]), [X])
