"""Symbolic dimensions: their arithmetic equals Python's, and modules may contain them."""

from __future__ import annotations

import copy
import operator
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import ElidedMetadataWarning, TypeInferenceError
from byoc_lab.relay.ir.dims import (
    Any,
    Symbolic,
    UndecidedError,
    as_dim,
    computed,
    longest,
    shortest,
    symbol,
)
from byoc_lab.relay.ir.dims.symbolic import MAX_LEAVES
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json

N, M = symbol("n"), symbol("m")
BINARY = {
    "tir.Add": operator.add,
    "tir.Sub": operator.sub,
    "tir.Mul": operator.mul,
    "tir.Max": max,
    "tir.Min": min,
}
BY_NUMBER = {"tir.FloorDiv": operator.floordiv, "tir.FloorMod": operator.mod}


def trees() -> st.SearchStrategy:
    """(key, a, b) of numbers and the names "n" and "m"; divisors are positive numbers."""
    leaves = st.sampled_from(["n", "m"]) | st.integers(0, 6)
    return st.recursive(
        leaves,
        lambda below: (
            st.tuples(st.sampled_from(sorted(BINARY)), below, below)
            | st.tuples(st.sampled_from(sorted(BY_NUMBER)), below, st.integers(1, 5))
        ),
        max_leaves=8,
    )


def value(tree, names):
    """The tree's value in Python's own arithmetic."""
    if not isinstance(tree, tuple):
        return names.get(tree, tree)
    key, a, b = tree
    return (BINARY | BY_NUMBER)[key](value(a, names), value(b, names))


def dimension(tree):
    """The tree as a dimension."""
    if not isinstance(tree, tuple):
        return {"n": N, "m": M}.get(tree, tree)
    key, a, b = tree
    return computed(key, dimension(a), dimension(b))


def at(made, n, m):
    return made.replace({N.symbol: n, M.symbol: m}) if isinstance(made, Symbolic) else made


@given(trees(), st.integers(0, 30), st.integers(0, 30))
def test_dimension_equals_python_s_result(tree, n, m) -> None:
    assert at(dimension(tree), n, m) == value(tree, {"n": n, "m": m})


@given(trees(), trees())
def test_equal_dimensions_are_equal_for_every_value(one, other) -> None:
    a, b = dimension(one), dimension(other)
    if a == b:
        assert hash(a) == hash(b)
        assert all(at(a, n, n + k) == at(b, n, n + k) for n in range(9) for k in range(9))


@given(trees(), trees(), trees())
def test_sums_and_products_are_commutative_and_associative(one, other, third) -> None:
    a, b, c = map(dimension, (one, other, third))
    assert a + b == b + a and a * b == b * a
    assert (a + b) + c == a + (b + c) and (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0 and longest(a, b) == longest(b, a) and shortest(a, b) == shortest(b, a)


@given(trees())
def test_apache_tvm_computes_the_same_dimensions(tree) -> None:
    te = pytest.importorskip("tvm.te", reason="apache-tvm is not installed")
    names = {"n": te.var("n"), "m": te.var("m")}
    made = {
        "tir.Max": te.max,
        "tir.Min": te.min,
        "tir.FloorDiv": lambda a, b: a // b,
        "tir.FloorMod": lambda a, b: a % b,
    }

    def theirs(tree):
        if not isinstance(tree, tuple):
            return names.get(tree, tree)
        key, a, b = tree
        a, b = theirs(a), theirs(b)
        if isinstance(a, int) and isinstance(b, int):
            return value((key, a, b), {})
        return {**BINARY, **made}[key](a, b)

    found, wanted = theirs(tree), dimension(tree)
    if not isinstance(found, int):
        known = {as_dim(names[k]).symbol: d for k, d in (("n", N), ("m", M))}
        found = as_dim(found)
        found = found.replace(known) if isinstance(found, Symbolic) else found
    assert found == wanted


@given(trees())
def test_text_and_json_keep_a_symbolic_dimension(tree) -> None:
    made = dimension(tree)
    if not isinstance(made, Symbolic):
        return
    x = relay.var("x", shape=(N, M, made))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    by_json = read_node_json(write_node_json(mod))
    copies = (copy.deepcopy(mod), pickle.loads(pickle.dumps(mod)))
    for other in (relay.parse(mod.astext()), by_json, *copies):
        relay.assert_structural_equal(other, mod)
        assert relay.structural_hash(other) == relay.structural_hash(mod)


@pytest.mark.parametrize("made", [N - 20_000, N * N * N * N * N], ids=str)
def test_hash_of_dimensions_that_are_negative_or_large_for_some_sizes(made) -> None:
    """The hash evaluates a dimension for one size; a type accepts neither result as a dimension."""
    one, other = (relay.Function([x], x) for x in (relay.var("x", shape=(made,)) for _ in range(2)))
    assert relay.structural_hash(one) == relay.structural_hash(other)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (N + 1, "n + 1"),
        (2 * N - 3, "2*n - 3"),
        ((3 * N + M) // 2, "(n + m)//2 + n"),
        (N // 2 * 2, "2*n//2"),
        (N % 4, "n%4"),
        (longest(N, 4), "max(n, 4)"),
        (N * N, "n*n"),
        (1 - N, "-n + 1"),
    ],
)
def test_dimensions_are_printed_as_sums(made, shown) -> None:
    assert str(made) == shown


def test_any_combined_with_a_symbol_is_any() -> None:
    for made in (N + Any(), Any() + N, N * Any(), Any() - N, N - Any(), longest(N, Any())):
        assert isinstance(made, Any)


def test_invalid_comparison_or_dimension_raises_error() -> None:
    with pytest.raises(UndecidedError, match="n and 3 cannot be compared"):
        N < 3  # noqa: B015
    with pytest.raises(UndecidedError, match=r"2\.5"):
        N * 2.5
    with pytest.raises(ValueError, match=r"tir\.Select does not compute a dimension"):
        computed("tir.Select", N, M)
    assert isinstance(computed("tir.Mul", N, 2.5), Any)
    te = pytest.importorskip("tvm.te", reason="apache-tvm is not installed")
    with pytest.raises(TypeInferenceError, match=r"sum, product.*found .*EQ"):
        relay.TensorType((te.var("n").equal(3),))


# Modules -----------------------------------------------------------------------------------------


def function(*shapes, result=0):
    params = [relay.var(f"p{k}", shape=shape) for k, shape in enumerate(shapes)]
    return relay.Function(params, params[result])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (function((N, 3)), function((M, 3)), True),
        (function((N, 3)), function((Any(), 3)), False),
        (function((N, N)), function((N, M)), False),
        (function((N, N)), function((M, M)), True),
        (function((N, M)), function((M, N)), True),
        (function((N,), (M,)), function((M,), (M,)), False),
        (function((N + 1, 2 * N)), function((1 + M, M + M)), True),
        (function((N + M, 2 * N, M)), function((N + M, 3 * M, N)), False),
    ],
)
def test_names_of_symbolic_sizes_are_ignored_in_functions(one, other, same) -> None:
    assert relay.structural_equal(one, other) is same
    assert relay.structural_equal(other, one) is same
    if same:
        assert relay.structural_hash(one) == relay.structural_hash(other)


def test_names_of_symbolic_sizes_are_compared_in_types_alone() -> None:
    one, other = relay.TensorType((N, 3)), relay.TensorType((M, 3))
    assert one != other and not relay.structural_equal(one, other)
    assert relay.structural_equal(one, other, map_free_vars=True)
    assert not relay.structural_equal(relay.TensorType((N, N)), relay.TensorType((N, M)), True)
    assert str(one) == "Tensor[(n, 3), float32]"
    assert not one.is_static
    with pytest.raises(TypeError, match="known only at run time"):
        _ = one.concrete_shape


def test_two_symbolic_sizes_do_not_broadcast() -> None:
    x, y = relay.var("x", shape=(N, 3)), relay.var("y", shape=(M, 3))
    with pytest.raises(TypeInferenceError, match="do not broadcast: dimension -2 is n and m"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], x + y)))


def test_symbolic_size_unified_with_a_number_becomes_the_number() -> None:
    x = relay.var("x", shape=(N, M))
    f = relay.Function([x], relay.nn.relu(x))
    a = relay.var("a", shape=(5, 3))
    typed = relay.transform.InferType()(
        tvm.IRModule.from_expr(relay.Function([a], relay.Call(f, [a])))
    )
    inner = typed["main"].body.op
    assert typed["main"].ret_type == inner.ret_type == relay.TensorType((5, 3))
    assert inner.params[0].type_annotation == relay.TensorType((5, 3))


def test_text_without_metadata_keeps_equal_sizes_equal() -> None:
    f = function((N, M), (M, N))
    with pytest.warns(ElidedMetadataWarning, match="2 symbolic dimensions have invented names"):
        read = relay.parse(tvm.IRModule.from_expr(f).astext(show_meta_data=False))
    assert relay.structural_equal(read["main"], relay.transform.InferType()(read)["main"])
    (a, b), (c, d) = (p.type_annotation.shape for p in read["main"].params)
    assert (a, b) == (d, c) and a != b


def typed(body: relay.Expr, *params: relay.Var) -> relay.IRModule:
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function(params, body)))


def survives(mod: relay.IRModule) -> None:
    """Its text and JSON can be read again, and findings can be printed."""
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
    assert relay.structural_equal(read_node_json(write_node_json(mod)), mod)
    assert str(tvm.lint(mod))


@pytest.mark.parametrize(("count", "exact"), [(MAX_LEAVES, True), (1_000, False)])
def test_sum_of_many_sizes_is_exact_or_unknown(count: int, exact: bool) -> None:
    parts = [relay.var(f"x{i}", relay.TensorType((symbol(f"n{i}"), 2))) for i in range(count)]
    mod = typed(relay.concatenate(parts, 0), *parts)
    assert isinstance(mod["main"].ret_type.shape[0], Symbolic if exact else Any)
    survives(mod)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [10, 300])
@pytest.mark.parametrize(
    "step",
    [
        lambda x: relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1, 1, 1)),
        lambda x: relay.concatenate([x, relay.nn.max_pool2d(x, (1, 1), (2, 1))], 2),
        lambda x: relay.nn.upsampling(x, 3, 3),
        lambda x: relay.tile(x, (1, 1, 2, 1)),
    ],
    ids=["halved", "one and a half", "three times", "twice"],
)
def test_sizes_of_a_long_chain_stay_small(step, steps: int) -> None:
    x = end = relay.var("x", relay.TensorType((1, 3, symbol("n"), symbol("m"))))
    for _ in range(steps):
        end = step(end)
    mod = typed(end, x)
    length = mod["main"].ret_type.shape[2]
    assert steps < 20 or isinstance(length, Any)
    assert isinstance(length, Any) or length.leaves <= MAX_LEAVES
    survives(mod)


def test_repeated_powers_of_a_symbolic_size_become_any() -> None:
    power = N
    for _ in range(100):
        power = power * power
    assert isinstance(power, Any)


def test_dimensions_are_limited_to_64_bits() -> None:
    assert as_dim(2**63 - 1) == 2**63 - 1
    with pytest.raises(TypeInferenceError, match="must fit 64 bits, found 9,223,372"):
        as_dim(2**63)
    with pytest.raises(TypeInferenceError, match="must fit 64 bits"):
        relay.parse("def @main(%x: Tensor[(9223372036854775807), int8]) { tile(%x, reps=[9]) }")
