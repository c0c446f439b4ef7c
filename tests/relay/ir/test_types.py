"""Tensor types: accepted dtype names."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("flaot32", "did you mean 'float32'"),
        ("unit8", "did you mean 'uint8'"),
        ("?", "as float32, "),
    ],
)
def test_unknown_dtype_is_refused(name: str, hint: str) -> None:
    with pytest.raises(AttributeValueError, match=hint):
        relay.var("x", shape=(2,), dtype=name)


@pytest.mark.parametrize(
    "name", ["int4", "float32x4", "bool", "bfloat16", "custom[posites2]8", "handle"]
)
def test_dtypes_of_tvm_are_accepted(name: str) -> None:
    assert relay.TensorType((2,), name).dtype == name
