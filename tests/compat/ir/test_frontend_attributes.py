"""`AttrCvt`, `Renamer` and `get_relay_op`: attributes and operators for importers."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.frontend_attributes import AttrCvt, Renamer, get_name, get_relay_op
from byoc_lab.errors import UnsupportedNameError

X = relay.var("x", shape=(1, 4, 5, 5))


def _attrs(convert: Any, **attrs: Any) -> Any:
    return convert([X], attrs).attrs


@pytest.mark.parametrize(
    "name", ["add", "relu", "conv2d", "nn.conv2d", "resize2d", "image.resize2d"]
)
def test_get_relay_op_finds_operators_of_every_namespace(name: str) -> None:
    assert callable(get_relay_op(name))


def test_operator_that_relay_lacks_raises_unsupported_name_error() -> None:
    for name in ("no_such", "nn.no_such"):
        with pytest.raises(UnsupportedNameError, match=name):
            get_relay_op(name)


def test_attr_cvt_renames_fills_in_and_converts_attributes() -> None:
    convert = AttrCvt(
        "lrn",
        transforms={"n": "size", "a": ("alpha", 0.5), "b": ("beta", 1.0, lambda v: v * 2)},
        ignores=["drop"], disables=["off"], extras={"bias": 3},
    )  # fmt: skip
    found = _attrs(convert, n=3, a=None, b=0.25, drop=1, off=2, tvm_custom={})
    assert (found.size, found.alpha, found.beta, found.bias) == (3, 0.5, 0.5, 3)


def test_attr_cvt_may_choose_the_operator_by_a_function() -> None:
    convert = AttrCvt(lambda attrs: "max_pool2d" if len(attrs["pool_size"]) == 2 else "max_pool1d")
    assert convert([X], {"pool_size": (2, 2)}).op.name == "nn.max_pool2d"


def test_refused_attributes_raise_errors_that_name_them() -> None:
    with pytest.raises(NotImplementedError, match="attribute odd of operator relu"):
        AttrCvt("relu", excludes=["odd"])([X], {"odd": 1})
    with pytest.raises(RuntimeError, match="two dimensions"):
        AttrCvt("relu", custom_check=(lambda attrs: False, "two dimensions"))([X], {})
    with pytest.raises(AttributeError, match="required attribute n"):
        AttrCvt("lrn", transforms={"n": "size"})([X], {"n": None})


def test_renamer_renames_an_operator_and_get_name_returns_the_name() -> None:
    assert Renamer("add")([X, X], {"tvm_custom": 1}).op.name == "add"
    assert get_name(X) == "x" and get_name(relay.const(1)) == ""
