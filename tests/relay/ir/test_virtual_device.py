"""Virtual devices of variables and functions: kept, printed, parsed; a function's is not
compared."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.with_fields import FunctionWithFields, VarWithFields
from byoc_lab.errors import ParseError
from byoc_lab.relay.op.annotation.device import virtual_device

CPU = virtual_device("cpu")
X = relay.var("x", shape=(3,))
ON_CPU = VarWithFields(X, virtual_device=CPU)


def doubled(x: relay.Var) -> relay.Function:
    return relay.Function([x], relay.add(x, x))


TEXT = """
def @main(%x {virtual_device=D}: Tensor[(3), float32], Primitive=1, virtual_device=D)
    -> Tensor[(3), float32] {
  let %y {virtual_device=D}: Tensor[(3), float32] = abs(%x);
  %y
}
""".replace("=D", "=VirtualDevice(device_type=1, virtual_device_id=0)")


def test_device_is_printed_and_parsed():
    mod = relay.parse(TEXT)
    main = mod["main"]
    assert main.params[0].virtual_device_ == main.body.var.virtual_device_ == CPU
    assert main.virtual_device_ == CPU
    assert dict(main.attrs) == {"Primitive": 1}
    shown = mod.astext(show_meta_data=False, header=False, exact=False, show_types=False)
    assert shown.split() == TEXT.split()
    again = relay.parse(mod.astext())
    relay.assert_structural_equal(again, mod)
    assert again["main"].virtual_device_ == CPU
    assert "%x {virtual_device=meta[VirtualDevice][0]}: " in mod.astext()


def test_device_is_kept_by_inference_and_rewriting():
    mod = relay.transform.ToANormalForm()(relay.transform.InferType()(relay.parse(TEXT)))
    assert mod["main"].virtual_device_ == mod["main"].params[0].virtual_device_ == CPU
    assert mod["main"].with_attr("a", 1).virtual_device_ == CPU


def test_devices_of_variables_are_compared_and_devices_of_functions_are_not():
    here, there = doubled(X), doubled(ON_CPU)
    assert not relay.structural_equal(here, there)
    with pytest.raises(ValueError, match=r"device VirtualDevice\(\?\) against VirtualDevice\(dev"):
        relay.assert_structural_equal(here, there)
    placed = FunctionWithFields(here, virtual_device=CPU)
    assert placed is not here
    assert placed.virtual_device_ == CPU
    assert relay.structural_equal(here, placed)
    assert relay.structural_hash(here) == relay.structural_hash(placed)


def test_unset_device_is_printed_as_a_question_mark():
    text = doubled(X).astext(show_meta_data=False)
    read = relay.parse_expr(text.replace("%x:", "%x {virtual_device=VirtualDevice(?)}:"))
    relay.assert_structural_equal(read, doubled(X))
    assert repr(X.virtual_device_) == "VirtualDevice(?)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("virtual_device=1", "must be a VirtualDevice, found 1"),
        ("device=1", "a variable has a virtual_device, found device"),
        ("virtual_device", "an attribute, key=value"),
    ],
)
def test_other_text_in_braces_after_a_variable_is_refused(wrong, message):
    with pytest.raises(ParseError, match=message):
        relay.parse_expr(f"fn (%x {{{wrong}}}) {{ %x }}")


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
def test_device_in_omitted_metadata_is_unset():
    (x,) = relay.parse_expr("fn (%x {virtual_device=meta[VirtualDevice][0]}) { %x }").params
    assert x.virtual_device_ == X.virtual_device_
