"""`bind_params_by_name` replaces parameters by constants."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import DuplicateNameError
from byoc_lab.relay.build_module import bind_params_by_name

X, W = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
ONES = np.ones(2, "float32")


def test_named_parameters_become_constants() -> None:
    bound = bind_params_by_name(relay.Function([X, W], relay.add(X, W)), {"w": ONES, "other": ONES})
    assert bound.params == (X,)
    assert bound.body.args[1].data.numpy().tolist() == [1, 1]


def test_bound_name_must_be_unique() -> None:
    other = relay.var("w", shape=(2,))
    function = relay.Function([X, W, other], relay.add(W, other))
    assert bind_params_by_name(function, {"x": ONES}).params == (W, other)
    with pytest.raises(DuplicateNameError, match="2 parameters are named %w"):
        bind_params_by_name(function, {"w": ONES})
