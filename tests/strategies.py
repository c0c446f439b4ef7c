"""Random Relay modules for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import IRModule

SHAPE = (3, 4)
TYPE = relay.TensorType(SHAPE, "float32")
UNARY = ("abs", "tanh", "negative", "nn.relu", "exp", "sigmoid")
BINARY = ("add", "subtract", "multiply", "maximum")


def _call(name: str, *args: relay.Expr) -> relay.Call:
    return relay.Call(relay.Op.get(name), list(args))


@st.composite
def constants(draw: st.DrawFn) -> relay.Constant:
    """A float32 constant that broadcasts with SHAPE."""
    shape = draw(st.sampled_from([SHAPE, (4,), (1, 4), (3, 1), ()]))
    if not shape:  # TVM prints scalars with six digits: take one that survives
        return relay.const(draw(st.sampled_from([0.5, -2.0, 0.0, 1.25])))
    seed = draw(st.integers(0, 99))
    return relay.const(np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32"))


@st.composite
def functions(draw: st.DrawFn, captured: relay.Expr) -> relay.Function:
    """A function literal of one parameter, which may use a value from outside; or a Primitive."""
    param = relay.var("p", TYPE)
    inner = _call(draw(st.sampled_from(BINARY)), param, draw(constants()))
    if draw(st.booleans()):
        inner = _call(draw(st.sampled_from(BINARY)), inner, captured)
    attrs = {"Primitive": 1} if draw(st.booleans()) else None
    return relay.Function([param], inner, TYPE, attrs=attrs)


@st.composite
def dataflow(
    draw: st.DrawFn,
    leaves: list[relay.Expr],
    size: int = 8,
    tuples: bool = True,
    closures: bool = True,
) -> relay.Expr:
    """A graph with sharing over `leaves`: calls, tuples and projections, of type TYPE."""
    pool = list(leaves)
    kinds = ["unary", "binary", "constant"]
    kinds += [*(["pair"] if tuples else []), *(["function"] if closures else [])]
    for _ in range(draw(st.integers(1, size))):
        kind = draw(st.sampled_from(kinds))
        pick = st.sampled_from(pool)
        if kind == "unary":
            pool.append(_call(draw(st.sampled_from(UNARY)), draw(pick)))
        elif kind == "binary":
            pool.append(_call(draw(st.sampled_from(BINARY)), draw(pick), draw(pick)))
        elif kind == "constant":
            name = draw(st.sampled_from(BINARY))
            pool.append(_call(name, draw(pick), draw(constants())))
        elif kind == "function":
            # It captures variables only: of other values TVM's printer makes unreadable text.
            captured = draw(st.sampled_from(leaves))
            pool.append(relay.Call(draw(functions(captured)), [draw(pick)]))
        else:
            pair = relay.Tuple([draw(pick), draw(pick)])
            pool.append(relay.TupleGetItem(pair, draw(st.integers(0, 1))))
    return pool[-1]


@st.composite
def modules(
    draw: st.DrawFn, lets: bool = True, tuples: bool = True, closures: bool = True
) -> IRModule:
    """A typed module whose @main takes two tensors: dataflow, lets, an if, in any nesting."""
    params = [relay.var(name, TYPE) for name in ("x", "y")]
    scope: list[relay.Expr] = list(params)
    bindings = []
    for n in range(draw(st.integers(0, 3)) if lets else 0):
        value = draw(dataflow(scope, 4, tuples, closures))
        name = relay.var(f"v{n}", TYPE)
        bindings.append((name, value))
        scope.append(name)
    body = draw(dataflow(scope, tuples=tuples, closures=closures))
    if lets and draw(st.booleans()):
        test = relay.const(draw(st.booleans()))
        body = relay.If(test, body, draw(dataflow(scope, 3, tuples, closures)))
    for name, value in reversed(bindings):
        body = relay.Let(name, value, body)
    return relay.transform.InferType()(IRModule.from_expr(relay.Function(params, body)))


def inputs() -> dict[str, np.ndarray]:
    """Values for the parameters of `modules`."""
    random = np.random.RandomState(7)
    return {n: random.uniform(-1, 1, SHAPE).astype("float32") for n in ("x", "y")}
