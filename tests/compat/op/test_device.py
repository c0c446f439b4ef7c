"""on_device accepts devices by name and TVM's device objects."""

from __future__ import annotations

import pytest

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.relay.op.annotation.device import virtual_device

on_device = relay.annotation.on_device


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


x, m = var("x", 1, 4, 8, 8), var("m", 3, 4)


def test_device_may_be_a_name_or_a_tvm_device() -> None:
    attrs = on_device(x, "cuda:1").attrs
    device = attrs.virtual_device
    assert (device.device_type_int, device.virtual_device_id) == (2, 1)
    assert attrs.constrain_body and not attrs.constrain_result
    tvm = pytest.importorskip("tvm")
    assert virtual_device(tvm.cpu(0)) == virtual_device("cpu")
    with pytest.raises(ValueError, match=r"one of cpu, cuda.*found 'abacus'"):
        on_device(x, "abacus")
