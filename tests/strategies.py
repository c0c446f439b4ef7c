"""Random Relay modules for property tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import IRModule

SHAPE = (3, 4)
TYPE = relay.TensorType(SHAPE, "float32")
UNARY = ("abs", "tanh", "negative", "nn.relu", "exp", "sigmoid")
BINARY = ("add", "subtract", "multiply", "maximum")
TARGET = "strategies"  # supports some of the operators in the random modules
for _name in ("abs", "tanh", "add", "multiply"):
    relay.op.register_op_attr(_name, f"target.{TARGET}", lambda call: True)
# Chains of operators with attributes, with other shapes and types in between, that return TYPE.
CHAINS: tuple[Callable[[relay.Expr], relay.Expr], ...] = (
    lambda x: relay.clip(x, -0.5, 0.5),
    lambda x: relay.nn.softmax(x, axis=0),
    lambda x: relay.nn.leaky_relu(x, alpha=0.1),
    lambda x: relay.transpose(relay.transpose(x)),
    lambda x: relay.reshape(relay.nn.relu(relay.reshape(x, (12,))), SHAPE),
    lambda x: relay.cast(relay.cast(x, "float64"), "float32"),
    lambda x: relay.where(relay.greater(x, relay.const(0.5)), x, relay.abs(x)),
    lambda x: relay.subtract(x, relay.mean(x, axis=[1], keepdims=True)),
)


def _swapped(x: relay.Expr) -> relay.Expr:
    halves = relay.split(x, 2, axis=1)
    return relay.concatenate([halves[1], halves[0]], axis=1)


# Chains of operators that pass through tuples.
TUPLE_CHAINS: tuple[Callable[[relay.Expr], relay.Expr], ...] = (
    _swapped,
    lambda x: relay.concatenate(relay.split(x, 2, axis=1).astuple(), axis=1),
    lambda x: relay.strided_slice(relay.concatenate([x, x], axis=0), [1, 0], [4, 4]),
)


def _call(name: str, *args: relay.Expr) -> relay.Call:
    return relay.Call(relay.Op.get(name), list(args))


@st.composite
def constants(draw: st.DrawFn) -> relay.Constant:
    """A float32 constant that broadcasts with SHAPE."""
    shape = draw(st.sampled_from([SHAPE, (4,), (1, 4), (3, 1), ()]))
    if not shape:  # TVM prints scalars with six digits: this one needs no more
        return relay.const(draw(st.sampled_from([0.5, -2.0, 0.0, 1.25])))
    seed = draw(st.integers(0, 99))
    return relay.const(np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32"))


@st.composite
def functions(draw: st.DrawFn, captured: relay.Expr) -> relay.Function:
    """A function literal with one parameter, which may use an outside value; or a Primitive one."""
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
    callee: relay.GlobalVar | None = None,
) -> relay.Expr:
    """A graph with sharing over `leaves`: calls, tuples and projections, of type TYPE.

    `callee`: a function of the module, TYPE -> TYPE, that may be called.
    """
    pool = list(leaves)
    kinds = ["unary", "binary", "constant", "chain"]
    kinds += [*(["pair"] if tuples else []), *(["function"] if closures else [])]
    kinds += [] if callee is None else ["global"]
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
        elif kind == "chain":
            chain = draw(st.sampled_from(CHAINS + TUPLE_CHAINS if tuples else CHAINS))
            pool.append(chain(draw(pick)))
        elif kind == "global":
            pool.append(relay.Call(callee, [draw(pick)]))
        elif kind == "function":
            # It captures variables only: for other captured values TVM's printer writes invalid
            # text.
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
    """A typed module whose @main takes two tensors.

    Its body has dataflow, lets and an if, in any nesting, and sometimes calls of a second function,
    @helper.
    """
    mod = IRModule()
    helper = None
    if draw(st.booleans()):
        helper = relay.GlobalVar("helper")
        param = relay.var("h", TYPE)
        mod[helper] = relay.Function([param], draw(dataflow([param], 3, tuples, closures)), TYPE)
    params = [relay.var(name, TYPE) for name in ("x", "y")]
    scope: list[relay.Expr] = list(params)
    bindings = []
    for n in range(draw(st.integers(0, 3)) if lets else 0):
        value = draw(dataflow(scope, 4, tuples, closures, helper))
        name = relay.var(f"v{n}", TYPE)
        bindings.append((name, value))
        scope.append(name)
    body = draw(dataflow(scope, tuples=tuples, closures=closures, callee=helper))
    if lets and draw(st.booleans()):
        test = relay.const(draw(st.booleans()))
        body = relay.If(test, body, draw(dataflow(scope, 3, tuples, closures, helper)))
    for name, value in reversed(bindings):
        body = relay.Let(name, value, body)
    mod["main"] = relay.Function(params, body)
    return relay.transform.InferType()(mod)


def inputs() -> dict[str, np.ndarray]:
    """Values for the parameters of a module from `modules`."""
    random = np.random.RandomState(7)
    return {n: random.uniform(-1, 1, SHAPE).astype("float32") for n in ("x", "y")}
