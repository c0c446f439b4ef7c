"""Random and deep graphs are printed and parsed back."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.relay.text.printer import STYLES, print_text
from tests.sweeps import some


@st.composite
def graphs(draw) -> relay.Expr:
    """A function with lets, branches, tuples and shared values, all of type Tensor[(2, 3)]."""
    params = [relay.var(n, shape=(2, 3)) for n in ("a", "b")]
    cond = relay.var("c", "bool")
    shape = st.just((2, 3))
    pool = list(params)
    for _ in range(draw(st.integers(1, 12))):
        one, two = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        kind = draw(
            st.sampled_from(["add", "exp", "const", "scalar", "let", "if", "tuple", "fn", "begin"])
        )
        if kind == "add":
            made = relay.add(one, two)
        elif kind == "exp":
            made = relay.exp(one)
        elif kind == "const":
            made = relay.const(np.full(draw(shape), draw(st.floats(width=32)), "float32"))
        elif kind == "scalar":
            made = relay.add(one, relay.const(draw(st.floats(width=32)), "float32"))
        elif kind == "let":
            var = relay.var(draw(st.sampled_from(["x", "y", "_", ""])), shape=(2, 3))
            made = relay.Let(var, one, relay.add(var, two))
        elif kind == "if":
            made = relay.If(cond, one, two)
        elif kind == "tuple":
            made = relay.TupleGetItem(relay.Tuple([one, two]), draw(st.integers(0, 1)))
        elif kind == "fn":
            p = relay.var("p", shape=(2, 3))
            inner = relay.Function([p], relay.add(p, two), attrs={"Primitive": 1})
            made = relay.Call(inner, [one])
        else:
            made = relay.annotation.compiler_begin(one, draw(st.sampled_from(["dnnl", 'q"'])))
        pool.append(made)
    return relay.Function([*params, cond], pool[-1])


@settings(max_examples=some(150))
@given(graphs(), st.booleans())
def test_printed_and_parsed_graph_is_equal(func, typed: bool):
    mod = IRModule.from_expr(func)
    if typed:
        mod = relay.parse(mod.astext(exact=True))
    again = relay.parse(mod.astext(exact=True), infer=False)
    if not typed:
        relay.assert_structural_equal(again, mod)
    assert again.astext(exact=True, show_types=False) == mod.astext(exact=True, show_types=False)


DEPTH = 2_000


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "text",
    [
        "free_var %x: float32; " + "abs(" * DEPTH + "%x" + ")" * DEPTH,
        "if (True) {" * DEPTH + "1" + "} else { 2 }" * DEPTH,
        "fn () {" * DEPTH + "1" + "}" * DEPTH,
        "let %x = 1; " * DEPTH + "%x",
        "let %x = " * DEPTH + "1" + "; abs(%x)" * DEPTH,
        "1;" * DEPTH + "1",
        "ref(" * DEPTH + "1" + ")" * DEPTH,
        "(" * DEPTH + "1" + ",)" * DEPTH,
        "free_var %f; %f" + "(1)" * DEPTH,
    ],
    ids=lambda t: t[:12],
)
def test_deep_graph_is_printed_and_parsed(text: str, style: str):
    node = relay.parse_expr(text)
    started = time.process_time()
    printed = print_text(node, style=style, show_types=False)
    assert time.process_time() - started < 10
    assert print_text(relay.parse_expr(printed), style=style, show_types=False) == printed
