"""Recurrent layers (RNN, GRU, LSTM), unrolled to one cell per step of the sequence.

A gate is f(x W + h R + b); the gates of a cell are stacked in the rows of W and R. The term x W is
computed for all steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import MICROSOFT, converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.operators.quantization import rounded_by_range
from byoc_lab.relay.ir.expr import Constant, Expr, TupleGetItem
from byoc_lab.relay.op.framework.relations import differ
from byoc_lab.relay.op.tensor.shape import reshaped_to

Activation = Callable[[Expr], Expr]
States = tuple[Expr, ...]
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

# Activation functions by lower-case name, with default values for alpha and beta, if they have
# these parameters.
FUNCTIONS: dict[str, tuple[Callable[..., Expr], tuple[float, ...]]] = {
    "relu": (relay.nn.relu, ()),
    "tanh": (relay.tanh, ()),
    "sigmoid": (relay.sigmoid, ()),
    "softplus": (lambda x: relay.log(relay.exp(x) + relay.const(1.0)), ()),
    "softsign": (lambda x: x / (relay.abs(x) + relay.const(1.0)), ()),
    "leakyrelu": (lambda x, a: relay.nn.leaky_relu(x, alpha=a), (0.01,)),
    "elu": (
        lambda x, a: relay.where(x > relay.const(0.0), x, _scaled(relay.exp(x), a, -a)),
        (1.0,),
    ),
    "thresholdedrelu": (
        lambda x, a: relay.where(x > relay.const(a), x, relay.zeros_like(x)),
        (1.0,),
    ),
    "affine": (lambda x, a, b: _scaled(x, a, b), (1.0, 0.0)),
    "scaledtanh": (lambda x, a, b: relay.tanh(x * relay.const(b)) * relay.const(a), (1.0, 1.0)),
    "hardsigmoid": (lambda x, a, b: relay.clip(_scaled(x, a, b), 0.0, 1.0), (0.2, 0.5)),
}


def _scaled(x: Expr, factor: float, offset: float) -> Expr:
    return x * relay.const(factor) + relay.const(offset)


@dataclass(frozen=True)
class RecurrentCell:
    """One direction of a layer: its recurrent weights, of shape (gates x hidden, hidden), and
    activation functions.

    bias: added to h R; None if the term of x contains it. peephole: the peephole weights of LSTM.
    operand: a function applied to h before the product.
    """

    node: Node
    operand: Activation
    recurrent: Expr
    bias: Expr | None
    peephole: Expr | None
    activations: list[Activation]
    limit: float | None

    @cached_property
    def of_gates(self) -> list[tuple[Expr, Expr | None]]:
        """Weight and bias of each of GRU's gates, the same expressions in all steps."""
        weights = _parts(self.recurrent, 3, 0)
        biases = [None] * 3 if self.bias is None else _parts(self.bias, 3, 0)
        return list(zip(weights, biases, strict=True))

    def clipped(self, x: Expr) -> Expr:
        return x if self.limit is None else relay.clip(x, -self.limit, self.limit)

    def apply(self, number: int, x: Expr) -> Expr:
        """Applies activation function `number` to the clipped sum."""
        return self.activations[number](self.clipped(x))


Step = Callable[[RecurrentCell, Expr, States], States]


def _parts(x: Expr, count: int, axis: int) -> list[Expr]:
    """Splits into equal parts along an axis."""
    if count == 1:
        return [x]
    whole = relay.split(x, count, axis=axis).astuple()
    return [TupleGetItem(whole, n) for n in range(count)]


def _rnn_step(cell: RecurrentCell, x: Expr, states: States) -> States:
    (h,) = states
    return (cell.apply(0, x + relay.nn.dense(h, cell.recurrent)),)


def _gru_step(cell: RecurrentCell, x: Expr, states: States) -> States:
    (h,) = states
    of_x = _parts(x, 3, 1)

    def through(number: int, value: Expr) -> Expr:
        weight, bias = cell.of_gates[number]
        made = relay.nn.dense(value, weight)
        return made if bias is None else made + bias

    update = cell.apply(0, of_x[0] + through(0, h))
    reset = cell.apply(0, of_x[1] + through(1, h))
    late = cell.node.attr("linear_before_reset", 0)
    hidden = reset * through(2, h) if late else through(2, reset * h)
    new = cell.apply(1, of_x[2] + hidden)
    rest = _scaled(update, -1.0, 1.0)  # back ends have more kernels for products than for 1 - x
    return (rest * new + update * h,)


def _lstm_step(cell: RecurrentCell, x: Expr, states: States) -> States:
    h, c = states
    whole = x + relay.nn.dense(cell.operand(h), cell.recurrent)
    of_input, of_output, of_forget, of_cell = _parts(whole, 4, 1)
    peep = _parts(cell.peephole, 3, 0) if cell.peephole is not None else None
    if peep is not None:
        of_input, of_forget = of_input + peep[0] * c, of_forget + peep[2] * c
    enter = cell.apply(0, of_input)
    coupled = cell.node.attr("input_forget", 0)
    keep = relay.const(1.0) - enter if coupled else cell.apply(0, of_forget)
    new = keep * c + enter * cell.apply(1, of_cell)
    if peep is not None:
        of_output = of_output + peep[1] * new
    return cell.apply(0, of_output) * cell.activations[2](new), new


@converts("RNN")
def rnn(node: Node) -> tuple[Expr, ...]:
    return _layer(node, 1, ["Tanh"], _rnn_step)


@converts("GRU")
def gru(node: Node) -> tuple[Expr, ...]:
    return _layer(node, 3, ["Sigmoid", "Tanh"], _gru_step)


@converts("LSTM")
def lstm(node: Node) -> tuple[Expr, ...]:
    return _layer(node, 4, ["Sigmoid", "Tanh", "Tanh"], _lstm_step, memory=True)


@converts("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(node: Node) -> tuple[Expr, ...]:
    """An LSTM with quantized, transposed weights; the left operands of the products are quantized
    dynamically."""
    weights = _dequantized(node, 1, 8), _dequantized(node, 2, 10)
    operand = partial(rounded_by_range, node)
    return _layer(node, 4, ["Sigmoid", "Tanh", "Tanh"], _lstm_step, True, weights, operand)


def _dequantized(node: Node, index: int, scale: int) -> Expr:
    """Dequantizes weights of shape (directions, outputs, inputs); scales and zero points are per
    direction, or per direction and output."""
    factor, zero = (relay.cast(node[i], "float32") for i in (scale, scale + 1))
    if node.rank(node[scale]) == 1:
        factor, zero = (relay.expand_dims(x, axis=1) for x in (factor, zero))
    factor, zero = (relay.expand_dims(x, axis=1) for x in (factor, zero))
    real = (relay.cast(node[index], "float32") - zero) * factor
    return node.typed(relay.transpose(real, (0, 2, 1)))


def _unchanged(x: Expr) -> Expr:
    return x


def _layer(
    node: Node,
    gates: int,
    defaults: list[str],
    step: Step,
    memory: bool = False,
    weights: tuple[Expr, Expr] | None = None,
    operand: Activation = _unchanged,
) -> tuple[Expr, ...]:
    """The outputs Y, Y_h and, with a memory cell, Y_c.

    weights: W and R; by default inputs 1 and 2. operand: a function applied to the sequence and the
    states before the products with W and R.
    """
    direction = node.attr("direction", "forward")
    if direction not in DIRECTIONS:
        node.fail(f"attribute direction is {direction!r:.40}")
    batch_first = bool(node.attr("layout", 0))
    rank = node.rank(node[0])
    if rank != 3:
        node.fail(f"the sequence must have 3 dimensions (steps, batch, inputs), it has {rank}")
    data = relay.transpose(node[0], (1, 0, 2)) if batch_first else node[0]
    _, batch, inputs = node.shape(data, "the shape of the sequence")
    steps = node.steps(data, 0)
    reverse = DIRECTIONS[direction]
    weights = weights or (node[1], node[2])
    hidden = node.length(weights[1], 2)
    starts = [
        _start(node, 5 + n, batch_first, (len(reverse), batch, hidden)) for n in range(1 + memory)
    ]
    functions = _functions(node, defaults * len(reverse))
    lengths = _lengths(node, steps)
    over, finals = [], []
    for d, backwards in enumerate(reverse):
        weight, recurrent = (_direction(w, d, len(reverse)) for w in weights)
        given = node.optional(3)
        bias = None if given is None else _direction(given, d, len(reverse))
        mine = _parts(bias, 2, 0) if bias is not None else None
        peephole = node.optional(7) if memory else None
        cell = RecurrentCell(
            node,
            operand,
            recurrent,
            mine[1] if mine is not None and gates == 3 else None,
            None if peephole is None else _direction(peephole, d, len(reverse)),
            functions[d * len(defaults) : (d + 1) * len(defaults)],
            node.attr("clip", None),
        )
        x = _turned(data, lengths) if backwards else data
        of_x = relay.nn.dense(operand(reshaped_to(x, (steps * batch, inputs))), weight)
        if mine is not None:
            of_x = of_x + (mine[0] if gates == 3 else mine[0] + mine[1])
        rows = _parts(reshaped_to(of_x, (steps, batch, gates * hidden)), steps, 0)
        zero = Constant(np.zeros((batch, hidden), node.dtype(data)))
        states = tuple(zero if s is None else _direction(s, d, len(reverse)) for s in starts)
        outputs = []
        for t, row in enumerate(rows):
            new = step(cell, reshaped_to(row, (batch, gates * hidden)), states)
            shown = new[0]
            if lengths is not None:
                runs = relay.expand_dims(relay.const(t, "int32") < lengths, axis=1)
                new = tuple(relay.where(runs, n, s) for n, s in zip(new, states, strict=True))
                shown = relay.where(runs, shown, zero)
            states = tuple(node.typed(s) for s in new)
            outputs.append(node.typed(shown) if lengths is not None else states[0])
        whole = relay.stack(outputs, axis=0)
        over.append(_turned(whole, lengths) if backwards else whole)
        finals.append(states)
    y = relay.stack(over, axis=1)  # (steps, directions, batch, hidden)
    ends = [relay.stack([f[n] for f in finals], axis=0) for n in range(1 + memory)]
    if batch_first:
        y = relay.transpose(y, (2, 0, 1, 3))
        ends = [relay.transpose(e, (1, 0, 2)) for e in ends]
    return (y, *ends)


def _direction(x: Expr, number: int, count: int) -> Expr:
    """The row for one direction of an input that has one row per direction."""
    return relay.squeeze(_parts(x, count, 0)[number], axis=[0])


def _start(
    node: Node, index: int, batch_first: bool, expected: tuple[int, int, int]
) -> Expr | None:
    """An initial state, (directions, batch, hidden); None if the input is omitted."""
    found = node.optional(index)
    if found is None:
        return None
    state = relay.transpose(found, (1, 0, 2)) if batch_first else found
    shape = node.type_of(state).shape
    if len(shape) != 3 or any(map(differ, shape, expected)):
        node.fail(
            f"the first state (input {index}) is {node.type_of(found)}; expected are "
            f"{expected[0]} directions, a batch of {expected[1]} and {expected[2]} hidden elements"
        )
    return state


def _lengths(node: Node, steps: int) -> Expr | None:
    """The sequence lengths; None if no sequence is padded."""
    found, known = node.optional(4), node.value(4)
    if found is None or (known is not None and (known == steps).all()):
        return None
    return relay.cast(found, "int32")


def _turned(x: Expr, lengths: Expr | None) -> Expr:
    """Reverse each sequence within its length."""
    if lengths is None:
        return relay.reverse(x, axis=0)
    return relay.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


def _functions(node: Node, defaults: Sequence[str]) -> list[Activation]:
    """The activation functions. Alphas and betas are assigned, in order, to the functions that have
    such a parameter."""
    names = node.attr("activations", None) or list(defaults)
    if len(names) != len(defaults):
        node.fail(f"it has {len(names)} activation functions, expected {len(defaults)}")
    numbers = [list(node.attr(f"activation_{n}", [])) for n in ("alpha", "beta")]
    found: list[Activation] = []
    for name in names:
        if name.lower() not in FUNCTIONS:
            node.fail(f"the activation function {name!r:.40} is not supported")
        function, own = FUNCTIONS[name.lower()]
        values = [given.pop(0) if given else d for given, d in zip(numbers, own, strict=False)]
        found.append(partial(_called, function, values))
    return found


def _called(function: Callable[..., Expr], values: Sequence[float], x: Expr) -> Expr:
    return function(x, *values)
