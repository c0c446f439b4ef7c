"""Handwritten builders have the defaults of the operator definitions."""

from __future__ import annotations

import inspect

from byoc_lab import relay
from byoc_lab.relay import nn


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


x, m = var("x", 1, 4, 8, 8), var("m", 3, 4)


def test_handwritten_function_has_the_defaults_of_the_definition() -> None:
    assert inspect.signature(nn.dropout_raw).parameters["rate"].default == 0.5
    assert nn.dropout(x).tuple_value.attrs.rate == 0.5
