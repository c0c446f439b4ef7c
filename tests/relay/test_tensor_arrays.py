"""Tensor arrays: what they compute, and their names and types as TVM 0.16 has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError, UnknownNameError
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.prelude import (
    Prelude,
    StaticTensorArrayOps,
    TensorArrayOps,
    get_tensor_array_shape,
)
from byoc_lab.run import reference

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def _values(prelude: Prelude, expr: relay.Expr) -> Any:
    """What an expression of constants gives: nested lists of what is held, None for nothing."""
    mod = prelude.mod.copy()
    mod["main"] = relay.Function([], expr)
    return _held(reference.evaluate(infer_module(mod), []).value)


def _held(value: Any) -> Any:
    if not hasattr(value, "constructor"):
        return value.tolist()
    name = value.constructor.name_hint
    if name in ("Nil", "Cons"):
        items = []
        while value.constructor.name_hint == "Cons":
            items.append(_held(value.fields[0]))
            value = value.fields[1]
        return items
    return _held(value.fields[0]) if value.fields else None


def _static(*shape: Any, batch_dim: int | None = None) -> tuple[Prelude, Any]:
    """A prelude with the functions for a shape, and a function from canonical names to them."""
    prelude = Prelude()
    ops = StaticTensorArrayOps(prelude, "float32", shape, batch_dim)
    ops.register()
    return prelude, ops


def _written(ops: Any, put: Any, *values: np.ndarray) -> relay.Expr:
    array = ops.get_global_var("tensor_array")(relay.const(len(values) + 1))
    write = ops.get_global_var("tensor_array_write")
    for n, value in enumerate(values):
        array = write(array, relay.const(n), put(relay.const(value)))
    return array


def test_static_arrays_are_written_and_read() -> None:
    prelude, ops = _static(3)
    put = prelude.get_tensor_ctor_static("tensor_constructor", "float32", (3,))
    array = _written(ops, put, ROWS[0], ROWS[1])
    assert _values(prelude, array) == [[0, 1, 2], [3, 4, 5], None]
    one = ops.get_global_var("tensor_array_read")(array, relay.const(1))
    assert _values(prelude, ops.get_global_var("tensor_get_data")(one)) == [3, 4, 5]


def test_static_arrays_are_cut_and_joined() -> None:
    prelude, ops = _static(relay.Any(), 3)
    get = ops.get_global_var
    unstacked = get("tensor_array_unstack")(relay.const(ROWS))
    assert _values(prelude, unstacked) == ROWS.tolist()
    put = ops.get_ctor("tensor_constructor")
    array = get("tensor_array")(relay.const(2))
    split = get("tensor_array_split")(array, put(relay.const(ROWS)), relay.const([1, 3]))
    assert _values(prelude, split) == [ROWS[:1].tolist(), ROWS[1:].tolist()]
    assert _values(prelude, get("tensor_array_concat")(split)) == ROWS.tolist()


def test_static_arrays_are_stacked_gathered_and_scattered() -> None:
    prelude, ops = _static(3)
    get, put = ops.get_global_var, ops.get_ctor("tensor_constructor")
    array = prelude.tl(prelude.rev(_written(ops, put, *ROWS)))  # rows 3, 2, 1, 0
    assert _values(prelude, get("tensor_array_stack")(array)) == ROWS[::-1].tolist()
    gathered = get("tensor_array_gather")(array, relay.const([2, 0]))
    assert _values(prelude, gathered) == [ROWS[1].tolist(), ROWS[3].tolist()]
    into = get("tensor_array")(relay.const(4))
    values = [None, ROWS[2].tolist(), None, ROWS[3].tolist()]
    scattered = get("tensor_array_scatter")(into, relay.const([3, 1]), array)
    assert _values(prelude, scattered) == values
    ops.define_tensor_array_scatter((2,), force_update=True)
    known = prelude.mod.get_global_var("tensor_array_scatter_float32_3_indices_2")
    assert _values(prelude, known(into, relay.const([3, 1]), array)) == values


def test_a_batch_of_one_is_stacked() -> None:
    prelude, ops = _static(3, batch_dim=1)
    stack = prelude.get_global_var_static("tensor_array_stack", "float32", (3,), 1)
    assert stack.name_hint == "tensor_array_stack_float32_batch1_3"
    array = _written(ops, ops.get_ctor("tensor_constructor"), ROWS[0])
    one = prelude.tl(prelude.rev(array))  # without the last, which holds nothing
    assert _values(prelude, stack(one)) == [[0, 1, 2]]


def test_scalars_are_not_cut() -> None:
    prelude, ops = _static()
    names = {gv.name_hint for gv in prelude.mod.get_global_vars()}
    assert "tensor_array_stack_float32_scalar" in names
    for name in ("tensor_take", "tensor_array_unstack", "tensor_array_split"):
        assert f"{name}_float32_scalar" not in names
    array = _written(ops, ops.get_ctor("tensor_constructor"), np.float32(2))
    assert _values(prelude, array) == [2, None]


def test_arrays_of_any_shape() -> None:
    prelude = Prelude()

    def get(name: str) -> relay.GlobalVar:
        return prelude.get_global_var(name, "float32")

    put = [prelude.get_tensor_ctor(f"tensor{rank}", "float32") for rank in range(7)]
    unstacked = get("tensor_array_unstack_tensor2")(relay.const(ROWS))
    assert _values(prelude, unstacked) == ROWS.tolist()
    assert _values(prelude, get("tensor_array_stack")(unstacked)) == ROWS.tolist()
    flat = get("tensor_array_unstack_tensor1")(relay.const(ROWS[1]))
    assert _values(prelude, flat) == [3, 4, 5]
    array = get("tensor_array")(relay.const(3))
    split = get("tensor_array_split")(array, put[2](relay.const(ROWS)), relay.const([1, 3]))
    assert _values(prelude, split) == [ROWS[:1].tolist(), ROWS[1:].tolist(), None]
    pair = prelude.tl(get("tensor_array_scatter")(array, relay.const([1, 2, 0]), split))
    assert _values(prelude, get("tensor_array_concat")(pair)) == ROWS.tolist()
    read = get("tensor_array_read")(split, relay.const(0))
    grown = get("tensor_expand_dims")(read)
    assert _values(prelude, grown) == [ROWS[:1].tolist()]


def test_shapes_of_arrays() -> None:
    for shape in ((2, 3), (relay.Any(), 3), ()):
        prelude, ops = _static(*shape)
        array = ops.get_global_var("tensor_array")(relay.const(2))
        assert get_tensor_array_shape(array, "float32", prelude) == shape
    array = prelude.get_global_var("tensor_array", "float32")(relay.const(2))
    assert get_tensor_array_shape(array, "float32", prelude) is None
    with pytest.raises(TypeInferenceError, match="is a List of tensors, found int32"):
        get_tensor_array_shape(relay.const(1), "float32", prelude)


def test_names_and_types() -> None:
    prelude, ops = _static(relay.Any(), 3)
    name = prelude.get_name_static("tensor_t", "float32", (relay.Any(), 3))
    assert name == "static_tensor_float32_any_3_t" == str(ops.get_type("tensor_t"))
    assert ops.get_name("x", {"indices": (2, 4)}) == "x_float32_any_3_indices_2_4"
    typed = infer_module(prelude.mod)
    tensor, cut = "static_tensor_float32_any_3_t[]", "static_tensor_float32_3_t[]"
    for function, expected in (
        ("tensor_take", f"fn ({tensor}, int32, int32) -> {tensor}"),
        ("tensor_array_unstack", f"fn (Tensor[(?, 3), float32]) -> List[{cut}]"),
        ("tensor_array_gather", f"fn (List[{tensor}], Tensor[(?), int32]) -> "
                                "static_tensor_float32_any_any_3_t[]"),
    ):  # fmt: skip
        assert str(typed[ops.get_name(function)].checked_type) == expected
    TensorArrayOps(prelude, "int8").register()
    assert str(prelude.get_type("tensor_t", "int8")) == "tensor_int8_t"
    with pytest.raises(UnknownNameError, match="tensor_int8_t has no constructor 'tensor7_int8'"):
        prelude.get_tensor_ctor("tensor7", "int8")
    with pytest.raises(UnknownNameError):
        prelude.get_global_var_static("tensor_array", "float32", (5,))


def test_a_module_with_the_prelude_has_the_types_of_all_dtypes() -> None:
    mod = relay.IRModule()
    Prelude(mod)
    assert "tensor_array_int8" not in mod
    tensor, nothing, *_ = mod.get_type("tensor_int8_t")
    assert str(nothing.name_hint) == "tensor_nil_int8" and "tensor_array_int8" in mod
    assert mod.get_global_type_var("tensor_int8_t") is tensor
    with pytest.raises(UnknownNameError, match="no type tensor_int4_t"):
        mod.get_type("tensor_int4_t")


def test_a_shape_whose_type_is_there_needs_no_registration() -> None:
    prelude = Prelude()
    StaticTensorArrayOps(prelude, "float32", [4, 3]).register()
    rows = StaticTensorArrayOps(prelude, "float32", [relay.Any(), 3])
    rows.define_tensor_array()
    made = infer_module(prelude.mod)[rows.get_global_var("tensor_array")]
    assert str(made.ret_type) == "List[static_tensor_float32_any_3_t[]]"
    with pytest.raises(UnknownNameError, match="static_tensor_float32_7_t"):
        StaticTensorArrayOps(prelude, "float32", [7]).define_tensor_array()


def test_functions_are_there_when_a_module_with_the_prelude_is_asked_for_them() -> None:
    mod = IRModule()
    Prelude(mod)
    name = "tensor_concatenate_int64"
    assert not mod.contain_global_var(name)
    function = mod[name]
    assert function is mod[mod.get_global_var(name)] and mod.contain_global_var(name)
    with pytest.raises(UnknownNameError, match="no function @tensor_concatenate_int3"):
        mod["tensor_concatenate_int3"]
    assert not mod.contain_global_var("tensor_concatenate_int8")
