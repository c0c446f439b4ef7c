"""`IntImm`: dimensions with `value` and `dtype`."""

from __future__ import annotations

import copy
import pickle

from byoc_lab import relay
from byoc_lab.relay.ir.dims.integers import IntImm

x = relay.var("x", shape=(2,))


def test_dimensions_are_integers_with_value_and_dtype() -> None:
    (two,) = x.type_annotation.shape
    assert (two, two.value, two.dtype, str(two)) == (2, 2, "int32", "2")
    for copied in (copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        assert isinstance(copied, IntImm) and (copied, copied.dtype) == (2, "int32")
