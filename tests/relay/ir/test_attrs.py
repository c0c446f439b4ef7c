"""Attributes: classes with the names of TVM."""

from __future__ import annotations

import copy
import pickle

import pytest

from byoc_lab import relay
from byoc_lab.compat.op import op_attrs

x = relay.var("x", shape=(2,))


def test_attributes_have_the_class_that_tvm_names() -> None:
    pool = relay.nn.max_pool2d(relay.var("image", shape=(1, 3, 8, 8))).attrs
    assert type(pool).__name__ == "MaxPool2DAttrs" and isinstance(pool, op_attrs.MaxPool2DAttrs)
    assert not isinstance(pool, op_attrs.AvgPool2DAttrs)
    assert "MaxPool2DAttrs" in dir(op_attrs)
    assert type(pool.replace(strides=(2, 2))) is type(pool)
    for made in (pool, relay.Function([x], x).with_attr("Primitive", 1).attrs):
        for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert copied == made and type(copied) is type(made)
    assert pool.keys()[0] == pool.items()[0][0] == "pool_size", "lists, to be counted off"
    with pytest.raises(AttributeError, match=r"no attributes of type 'relay.attrs.PoolAttrs'"):
        _ = op_attrs.PoolAttrs
