"""Static tensor arrays: types equal TVM 0.16's, results equal NumPy's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.prelude import Prelude, StaticTensorArrayOps
from byoc_lab.errors import UnknownNameError
from byoc_lab.run.reference import ConstructorValue, evaluate

# Inferred by TVM 0.16 for its own functions with (2, 3); `any_2_3` is
# static_tensor_float32_any_2_3_t[].
TYPES = """
tensor_array          fn (int32) -> List[2_3]
tensor_array_read     fn (List[2_3], int32) -> 2_3
tensor_array_write    fn (List[2_3], int32, 2_3) -> List[2_3]
tensor_array_scatter  fn (List[2_3], Tensor[(?), int32], List[2_3]) -> List[2_3]
tensor_array_gather   fn (List[2_3], Tensor[(?), int32]) -> any_2_3
tensor_array_stack    fn (List[2_3]) -> any_2_3
tensor_array_unstack  fn (Tensor[(2, 3), float32]) -> List[3]
tensor_get_data       fn (2_3) -> Tensor[(2, 3), float32]
tensor_expand_dims    fn (2_3) -> any_2_3
"""
ROWS = np.arange(24, dtype="float32").reshape(4, 2, 3)
ANY = relay.Any()


class Arrays:
    """The functions for one shape, and conversions of their values to Python."""

    def __init__(self, *shape: Any):
        self.shape = shape
        self.prelude = Prelude()
        StaticTensorArrayOps(self.prelude, "float32", shape).register()
        self.new = self.prelude.get_tensor_ctor_static("tensor_constructor", "float32", shape)

    def __getitem__(self, name: str) -> Any:
        return self.prelude.get_global_var_static(name, "float32", self.shape)

    def of(self, rows: Any) -> Any:
        """An array with these rows, written in order."""
        made = self["tensor_array"](relay.const(len(rows)))
        for i, row in enumerate(rows):
            made = self["tensor_array_write"](made, relay.const(i), self.new(relay.const(row)))
        return made

    def result(self, expr: Any) -> list[Any]:
        mod = self.prelude.mod.copy()
        mod["main"] = relay.Function([], expr)
        return tensors(evaluate(relay.transform.InferType()(mod)).value)


def tensors(value: Any) -> list[Any]:
    """The tensors of a list or of an element; a tensor_nil contains none."""
    if isinstance(value, ConstructorValue):
        return [tensor for field in value.fields for tensor in tensors(field)]
    return [np.asarray(value).tolist()]


def test_tensor_array_types_equal_those_of_tvm() -> None:
    arrays = Arrays(2, 3)
    mod = relay.transform.InferType()(arrays.prelude.mod)
    for line in TYPES.strip().splitlines():
        name, expected = line.split(maxsplit=1)
        found = str(mod[arrays[name]].checked_type)
        assert re.sub(r"static_tensor_float32_(\w+)_t\[\]", r"\1", found) == expected


@pytest.mark.parametrize("shape", [(2, 3), (ANY, 3), (2, ANY)])
def test_written_tensors_are_read_gathered_and_stacked(shape: Any) -> None:
    arrays = Arrays(*shape)
    array, picks = arrays.of(ROWS), relay.const(np.array([3, 0, 3], "int32"))
    read = arrays["tensor_array_read"](array, relay.const(2))
    assert arrays.result(read) == [ROWS[2].tolist()]
    assert arrays.result(arrays["tensor_array_stack"](array)) == [ROWS.tolist()]
    gathered = arrays["tensor_array_gather"](array, picks)
    assert arrays.result(gathered) == [ROWS[[3, 0, 3]].tolist()]


def test_scatter_leaves_other_elements_unwritten() -> None:
    arrays = Arrays(3)
    empty = arrays["tensor_array"](relay.const(3))
    places = relay.const(np.array([2, 0], "int32"))
    made = arrays["tensor_array_scatter"](empty, places, arrays.of(ROWS[0]))
    assert arrays.result(made) == [ROWS[0, 1].tolist(), ROWS[0, 0].tolist()]


def test_unstack_returns_the_rows() -> None:
    unstack = Arrays(2, 3)["tensor_array_unstack"]
    arrays = Arrays(2, 3)
    assert arrays.result(unstack(relay.const(ROWS[1]))) == ROWS[1].tolist()


def test_stack_of_scalars_is_a_vector() -> None:
    arrays = Arrays()
    values = np.array([3, 1, 2], "float32")
    assert arrays.result(arrays["tensor_array_stack"](arrays.of(values))) == [[3, 1, 2]]


def test_registering_a_shape_twice_adds_nothing() -> None:
    prelude = Prelude()
    for shape in ((2, 3), (3,), (ANY, 2, 3)):
        StaticTensorArrayOps(prelude, "float32", shape).register()
    before = dict(prelude.mod.functions)
    StaticTensorArrayOps(prelude, "float32", (2, 3)).register()
    assert prelude.mod.functions == before
    relay.transform.InferType()(prelude.mod)


def test_unregistered_function_is_named_in_the_error() -> None:
    prelude = Arrays(2, 3).prelude
    with pytest.raises(UnknownNameError, match="tensor_array_read_int8_4"):
        prelude.get_global_var_static("tensor_array_read", "int8", (4,))
    with pytest.raises(UnknownNameError, match=r"tensor7_float32_2_3 .*tensor_nil_float32_2_3"):
        prelude.get_tensor_ctor_static("tensor7", "float32", (2, 3))
