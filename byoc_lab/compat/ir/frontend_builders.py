"""`tvm.relay.frontend.common`: expressions that importers compose of several operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.compat.ir.frontend_common import infer_shape, infer_type, infer_value
from byoc_lab.errors import ByocLabError
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Constant, Expr, TupleWrapper, Var
from byoc_lab.relay.ir.types import TensorType

Activation = Callable[[Expr], Expr]


def shape_of(
    x: Expr, dtype: str = "int64", start: int | None = None, end: int | None = None
) -> Any:
    """The shape of an expression, or part of it: a constant if it is static."""
    ty = infer_type(x).checked_type
    part = slice(start, end)
    if ty.is_static:
        return relay.const(np.asarray(ty.concrete_shape[part], dtype))
    found = relay.shape_of(x, dtype)
    if start is None and end is None:
        return found
    first, last, _ = part.indices(len(ty.shape))
    return relay.strided_slice(found, [first], [max(first, last)])


def ensure_scalar_shape(x: Expr) -> Expr:
    """A tensor of one element as a scalar."""
    shape = infer_shape(x)
    if shape == ():
        return x
    if int(np.prod(shape)) != 1:
        raise ValueError(f"a tensor of one element is expected, found shape {shape}")
    return relay.reshape(x, ())


def try_resolve_var_to_const(x: Expr, graph_params: Mapping[str, Any]) -> Expr:
    """A parameter's value as a constant; other expressions are unchanged."""
    if isinstance(x, Var) and x.name_hint in graph_params:
        value = graph_params[x.name_hint]
        return relay.const(value.numpy() if hasattr(value, "numpy") else value)
    return x


def infer_value_simulated(input_val: Expr, params: Mapping[str, Any]) -> Any:
    """The value of an expression; parameters without a value are random numbers of their type."""
    random = np.random.RandomState(0)
    filled = dict(params)
    for var in free_vars(input_val):
        ty = var.type_annotation
        if var.name_hint not in filled and isinstance(ty, TensorType):
            filled[var.name_hint] = random.uniform(size=ty.concrete_shape).astype(ty.dtype)
    return infer_value(input_val, filled)


def try_infer_value(
    val: Expr,
    on_success: Callable[[Any], Any] | None = None,
    on_failure: Callable[[], Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """(the value of an expression, True), or (the expression, False) if it has no known value."""
    try:
        found = infer_value(val, parameters or {}).numpy()
    except ByocLabError:
        if on_failure is not None:
            return on_failure(), False
        return val, False
    return (on_success(found) if on_success is not None else found), True


def to_int_list(np_array: Any) -> list[int]:
    """The numbers of an array."""
    return [int(n) for n in np_array]


def unbind(data: Expr, axis: int = 0) -> TupleWrapper:
    """The slices of a tensor along an axis, without that axis."""
    shape = infer_shape(data)
    if axis >= len(shape):
        raise AttributeError(f"axis {axis} is out of range for {len(shape)} dimensions")
    count = shape[axis]
    if not isinstance(count, int):
        raise ValueError(f"the size of axis {axis} must be static, found {shape}")
    parts = relay.split(data, count, axis)
    return TupleWrapper(
        relay.Tuple([relay.squeeze(parts[i], axis=[axis]) for i in range(count)]), count
    )


def autopad(
    data: Expr,
    strides: Sequence[int],
    kernel_shape: Sequence[int],
    dilations: Sequence[int] | None = None,
    pad_type: str = "constant",
    deconv: bool = False,
    mode: str = "SAME_UPPER",
    pad_value: float = 0.0,
) -> Expr:
    """Pads the spatial dimensions so that a window with these strides gives ceil(size / stride).

    An odd total padding has its additional element at the end for SAME_UPPER, at the start for
    SAME_LOWER.
    """
    shape = infer_shape(data)
    sizes = shape[len(shape) - len(kernel_shape) :]
    if not all(isinstance(n, int) for n in sizes):
        raise ValueError(f"automatic padding needs static sizes, found {shape}")
    width = [(0, 0)] * (len(shape) - len(kernel_shape))
    steps = dilations or (1,) * len(kernel_shape)
    for size, stride, kernel, step in zip(sizes, strides, kernel_shape, steps, strict=True):
        window = (kernel - 1) * step + 1
        left = window - stride if size % stride == 0 or deconv else window - size % stride
        total = max(left, 0)
        small = total // 2
        width.append((small, total - small) if mode == "SAME_UPPER" else (total - small, small))
    value = relay.const(pad_value, infer_type(data).checked_type.dtype)
    return relay.nn.pad(data, width, value, pad_type)


def _steps(inputs: Sequence[Expr], backwards: bool) -> list[Expr]:
    return list(inputs)[::-1] if backwards else list(inputs)


def _in_order(outputs: list[Expr], backwards: bool) -> list[Expr]:
    return outputs[::-1] if backwards else outputs


def _affine(x: Expr, weight: Expr, bias: Expr | None) -> Expr:
    product = relay.nn.dense(x, weight)
    return product if bias is None else product + bias


def rnn_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Expr,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    backwards: bool = False,
    act: Activation = relay.tanh,
) -> tuple[list[Expr], Expr]:
    """A plain recurrent cell over steps: the states after each, and the last."""
    outputs = []
    for x in _steps(input_seqs, backwards):
        hidden_state = act(_affine(x, w_inp, b_inp) + _affine(hidden_state, w_hid, b_hid))
        outputs.append(hidden_state)
    return _in_order(outputs, backwards), hidden_state


def gru_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Expr,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    rz_act: Activation = relay.sigmoid,
    n_act: Activation = relay.tanh,
    backwards: bool = False,
    linear_before_reset: bool = True,
    sequence_lens: Expr | None = None,
) -> tuple[list[Expr], Expr]:
    """A GRU over steps. Weights and biases of the gates are concatenated: reset, update, new. With
    `sequence_lens` the state of a row is kept after the end of its sequence."""
    outputs = []
    count = len(list(input_seqs))
    hidden_parts = relay.split(w_hid, 3)
    bias_parts = None if b_hid is None else relay.split(b_hid, 3, axis=-1)
    for turn, x in enumerate(_steps(input_seqs, backwards)):
        given = relay.split(_affine(x, w_inp, b_inp), 3, axis=-1)
        gates = []
        for i in (0, 1):
            bias = None if bias_parts is None else bias_parts[i]
            gates.append(rz_act(given[i] + _affine(hidden_state, hidden_parts[i], bias)))
        reset, update = gates
        bias = None if bias_parts is None else bias_parts[2]
        if linear_before_reset:
            new = n_act(given[2] + reset * _affine(hidden_state, hidden_parts[2], bias))
        else:
            new = n_act(given[2] + _affine(reset * hidden_state, hidden_parts[2], bias))
        following = (hidden_state - new) * update + new
        if sequence_lens is not None:
            place = count - 1 - turn if backwards else turn
            index = relay.const(place, infer_type(sequence_lens).checked_type.dtype)
            inside = relay.expand_dims(relay.less(index, sequence_lens), axis=1)
            hidden_state = relay.where(inside, following, hidden_state)
            zero = relay.zeros_like(following)
            outputs.append(relay.where(inside, following, zero))
        else:
            hidden_state = following
            outputs.append(hidden_state)
    return _in_order(outputs, backwards), hidden_state


def lstm_cell(
    input_seqs: Sequence[Expr],
    hidden_state: Expr,
    cell_state: Expr,
    w_inp: Expr,
    w_hid: Expr,
    b_inp: Expr | None = None,
    b_hid: Expr | None = None,
    proj: Expr | None = None,
    p_i: Expr | None = None,
    p_f: Expr | None = None,
    p_o: Expr | None = None,
    f_act: Activation = relay.sigmoid,
    g_act: Activation = relay.tanh,
    h_act: Activation = relay.tanh,
    backwards: bool = False,
) -> tuple[list[Expr], Expr, Expr]:
    """An LSTM over steps. Weights and biases of the gates are concatenated: input, forget, cell,
    output. proj: projects the state. p_i, p_f, p_o: weights of the connections from the cell to the
    gates."""

    def seen(gate: Expr, weight: Expr | None, cell: Expr) -> Expr:
        return gate if weight is None else gate + weight * cell

    outputs = []
    for x in _steps(input_seqs, backwards):
        both = _affine(x, w_inp, b_inp) + _affine(hidden_state, w_hid, b_hid)
        taken, kept, new, out = relay.split(both, 4, axis=-1)
        taken = f_act(seen(taken, p_i, cell_state))
        kept = f_act(seen(kept, p_f, cell_state))
        cell_state = kept * cell_state + taken * g_act(new)
        hidden_state = f_act(seen(out, p_o, cell_state)) * h_act(cell_state)
        if proj is not None:
            hidden_state = relay.nn.dense(hidden_state, proj)
        outputs.append(hidden_state)
    return _in_order(outputs, backwards), hidden_state, cell_state


class ExprTable:
    """Expressions by name, as importers collect them."""

    def __init__(self) -> None:
        self.exprs: dict[str, Expr] = {}
        self.params: dict[str, Any] = {}
        self.const_ctr = 1
        self.in_padding = False

    def new_const(self, value: Any, shape: Any = None, dtype: str = "float32", **_: Any) -> Var:
        """A variable for a constant, whose value is in `params`."""
        name = f"_param_{self.const_ctr}"
        self.const_ctr += 1
        array = np.asarray(value, dtype)
        self.params[name] = (Constant(array).data, None)
        var = relay.var(name, shape=array.shape if shape is None else shape, dtype=dtype)
        self.exprs[name] = var
        return var

    def get_expr(self, name: str) -> Expr:
        return self.exprs[name]

    def set_expr(self, name: str, expr: Expr, force_override: bool = False) -> None:
        """Sets a new name; an existing one only with force_override."""
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        return name in self.exprs


__all__ = [
    "ExprTable", "autopad", "ensure_scalar_shape", "gru_cell", "infer_value_simulated", "lstm_cell",
    "rnn_cell", "shape_of", "to_int_list", "try_infer_value", "try_resolve_var_to_const", "unbind",
]  # fmt: skip
