"""An unrolled LSTM, node for node as `tvm.relay.testing.lstm` builds it.

With the states h and c and the gates split from one product, one cell computes

    gates = dense(input) + dense(h);   c' = forget * c + in * tanh(...);   h' = out * tanh(c')
"""

from __future__ import annotations

from byoc_lab.compat.ir.scope_builder import ScopeBuilder
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.testing.init import create_workload

GATES = 4  # input gate, forget gate, input transformation, output gate


def lstm_cell(
    num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = ""
) -> Function:
    """Maps (input, (h, c), weights and biases) to (h', (h', c')); states have shape (batch_size,
    num_hidden).

    name: unused, as in TVM.
    """
    state = TensorType((batch_size, num_hidden), dtype)
    all_gates = TensorType((batch_size, GATES * num_hidden), dtype)
    result = TupleType([state, TupleType([state, state])])

    inputs, states = Var("inputs", state), Var("states", TupleType([state, state]))
    parameters = _parameters("", num_hidden, dtype)
    scope = ScopeBuilder()

    def let(label: str, ty: Type, value: Expr) -> Var:
        return scope.let((label, ty), value)

    def product(label: str, value: Expr, weight: Expr, bias: Expr) -> Var:
        made = nn.dense(value, weight, units=GATES * num_hidden)
        return let(label, all_gates, nn.bias_add(made, bias, axis=-1))

    i2h = product("i2h", inputs, *parameters[:2])
    h2h = product("h2h", TupleGetItem(states, 0), *parameters[2:])
    gates = let("gates", all_gates, i2h + h2h)
    cut = function("split")(gates, indices_or_sections=GATES, axis=1).astuple()
    slices = let("slice_gates", TupleType([state] * GATES), cut)

    def gate(label: str, operator: str, index: int) -> Var:
        return let(label, state, function(operator)(TupleGetItem(slices, index)))

    in_gate = gate("in_gate", "sigmoid", 0)
    forget_gate = gate("forget_gate", "sigmoid", 1)
    in_transform = gate("in_transform", "tanh", 2)
    out_gate = gate("out_gate", "sigmoid", 3)
    kept = forget_gate * TupleGetItem(states, 1)
    next_c = let("next_c", state, kept + in_gate * in_transform)
    next_h = let("next_h", state, out_gate * function("tanh")(next_c))
    scope.ret(let("ret", result, Tuple([next_h, Tuple([next_h, next_c])])))
    return Function([inputs, states, *parameters], scope.get(), result)


def get_net(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> Function:
    """A function from `iterations` inputs, all named `data` (batch_size, num_hidden), to the last
    output.

    Raises WellFormedError for zero iterations.
    """
    state = TensorType((batch_size, num_hidden), dtype)
    pair = TupleType([state, state])
    scope = ScopeBuilder()
    zeros = scope.let(("zeros", state), function("zeros")((batch_size, num_hidden), dtype))
    states = scope.let(("init_states", pair), Tuple([zeros, zeros]))
    for i in range(iterations):
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{i}")
        arguments = [Var("data", state), states, *_parameters(f"_{i}", num_hidden, dtype)]
        call = scope.let((f"call_{i}", TupleType([state, pair])), Call(cell, arguments))
        out = scope.let((f"out_{i}", state), TupleGetItem(call, 0))
        states = scope.let((f"states_{i}", pair), TupleGetItem(call, 1))
        if i == iterations - 1:
            scope.ret(out)
    body = scope.get()
    return Function(free_vars(body), body, state)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module, parameters by name)."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))


def _parameters(step: str, num_hidden: int, dtype: str) -> list[Var]:
    weight = TensorType((GATES * num_hidden, num_hidden), dtype)
    bias = TensorType((GATES * num_hidden,), dtype)
    return [
        Var(f"{source}{step}_{part}", ty)
        for source in ("i2h", "h2h")
        for part, ty in (("weight", weight), ("bias", bias))
    ]
