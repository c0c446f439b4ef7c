"""Builders are generated from definitions; invalid definitions are refused."""

from __future__ import annotations

import inspect
from itertools import count

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, OperatorDefinitionError
from byoc_lab.relay import nn
from byoc_lab.relay.ir.attrs import REQUIRED
from byoc_lab.relay.op.framework.registry import builder, define_op, identity


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


w = relay.var("w")


x, m = var("x", 1, 4, 8, 8), var("m", 3, 4)


i = var("i", 2, dtype="int32")


NUMBERS = count()


def operator(name: str, inputs: str = "data", **options: object) -> relay.Op:
    """A new operator with the attributes of `take`."""
    name = f"test.{name}{next(NUMBERS)}"
    return define_op(name, inputs, identity, attrs=relay.Op.get("take").definition.attrs, **options)


def signature(op: relay.Op) -> str:
    return str(inspect.signature(builder(op)))


def test_definition_determines_order_names_and_defaults_of_its_builder() -> None:
    assert signature(operator("plain")) == "(data, batch_dims=0, axis=None, mode='clip')"
    given = operator(
        "given",
        parameters="mode x=data axis",
        defaults={"axis": 1, "mode": REQUIRED, "data": None},
        normalize=lambda values: {**values, "data": values["data"] or m},
    )
    assert signature(given) == "(mode, x=None, axis=1)"
    call = builder(given)("wrap")
    assert call.args[0] is m
    assert call.attrs.items() == [("batch_dims", 0), ("axis", 1), ("mode", "wrap")]


def test_fixed_attribute_is_not_a_parameter_and_its_name_may_be_an_argument() -> None:
    op = operator("fixed", "data axis", fixed={"axis": 7, "mode": "wrap"})
    assert signature(op) == "(data, axis, batch_dims=0)"
    call = builder(op)(m, i)
    assert call.args[1] is i and call.attrs.axis == 7 and call.attrs.mode == "wrap"


def test_numbers_become_constants_if_the_definition_allows_it() -> None:
    op = operator("constants", "data limit", constants={"limit": "float64"})
    assert builder(op)(m, 2).args[1].data.dtype == "float64"
    assert builder(op)(m, i).args[1] is i
    with pytest.raises(TypeError, match="'data' must be a Relay expression"):
        builder(op)(2, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            "data axes",
            "'axes' is neither an argument nor an attribute; possible: axis, batch_dims, data",
        ),
        ("axis mode", "'data' is missing"),
    ],
)
def test_invalid_parameters_are_named(parameters: str, message: str) -> None:
    with pytest.raises(OperatorDefinitionError, match=message):
        builder(operator("wrong", parameters=parameters))


@pytest.mark.parametrize("option", ["defaults", "constants"])
def test_option_of_an_unknown_parameter_is_named(option: str) -> None:
    with pytest.raises(OperatorDefinitionError, match=f"{option}: 'axes' does not exist; possible"):
        builder(operator("wrong", **{option: {"axes": None}}))


def test_optional_dtype_may_be_none() -> None:
    """As in TVM, which prints these calls without it."""
    assert "nn.conv2d(%x, %w, padding=[0, 0, 0, 0])" in nn.conv2d(x, w, out_dtype=None).astext()
    with pytest.raises(AttributeValueError, match="'dtype' must be dtype, found None"):
        relay.cast(x, None)
