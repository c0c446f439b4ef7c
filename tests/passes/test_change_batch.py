"""ChangeBatch. Expectations follow from TVM 0.16, which gives the same text for these networks."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import ChangeBatch
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.testing import mlp
from byoc_lab.relay.types import TensorType


def test_the_network_is_inferred_for_the_new_batch() -> None:
    mod, _ = mlp.get_workload(1)
    data = mod["main"].params[0]
    main = ChangeBatch({data: 0}, batch_size=5)(mod)["main"]
    assert main.checked_type.ret_type == TensorType((5, 10), "float32")
    assert main.params[0].checked_type.shape[0] == 5 and main.params[0].name_hint == data.name_hint
    assert main.params[1] is mod["main"].params[1]
    assert mod["main"].checked_type.ret_type == TensorType((1, 10), "float32")


def test_any_dimension_may_hold_the_batch() -> None:
    x, y = relay.var("x", shape=(3, 2)), relay.var("y", shape=(2, 4))
    mod = IRModule.from_expr(relay.Function([x, y], relay.transpose(x)))
    changed = ChangeBatch({x: 1, y: -2})(mod)["main"]
    assert changed.checked_type.ret_type == TensorType((16, 3), "float32")
    assert changed.params[1].checked_type == TensorType((16, 4), "float32")


@pytest.mark.parametrize("variable", [relay.var("x", shape=(3,)), relay.var("x", "int32")])
def test_a_variable_without_that_dimension(variable: relay.Var) -> None:
    mod = IRModule.from_expr(relay.Function([variable], variable))
    with pytest.raises(PassError, match="%x has no dimension 1 to change, its annotation is"):
        ChangeBatch({mod["main"].params[0]: 1})(mod)


def test_a_variable_of_another_module() -> None:
    mod, _ = mlp.get_workload(1)
    data = mod["main"].params[0]
    with pytest.raises(PassError, match="%data is no parameter of the module's functions"):
        ChangeBatch({data: 0})(mlp.get_workload(1)[0])
