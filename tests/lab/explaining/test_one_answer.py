"""`explain`, the passes and `Backend.why_not` give the same reason for each call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import backends, relay
from byoc_lab.backends import Refused, dnnl, partition
from byoc_lab.lab.explaining import explain
from byoc_lab.passes import InferType
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import NPU, bias, conv, entry, weight, x

Build = Callable[[], relay.Expr]
CALLS: dict[str, Build] = {
    "relu": lambda: nn.relu(x()),
    "relu of float64": lambda: nn.relu(x(2, dtype="float64")),
    "relu of float16": lambda: nn.relu(x(2, dtype="float16")),
    "relu of an unknown shape": lambda: nn.relu(relay.var("x", shape=(relay.Any(), 4))),
    "add": lambda: relay.add(x(), x(name="y")),
    "add of integers": lambda: relay.add(x(2, dtype="int64"), x(2, dtype="int64", name="y")),
    "a large rank": lambda: relay.tanh(x(1, 1, 1, 1, 1, 1, 2)),
    "sin": lambda: relay.sin(x()),
    "erf": lambda: relay.erf(x()),
    "convolution": conv,
    "convolution of NHWC": lambda: nn.conv2d(
        x(1, 8, 8, 4), weight(3, 3, 4, 4), data_layout="NHWC", kernel_layout="HWIO"
    ),
    "convolution with an unknown layout": lambda: nn.conv2d(
        x(1, 4, 8, 8), weight(3, 3, 4, 4), kernel_layout="HWIO"
    ),
    "ceil_mode": lambda: nn.max_pool2d(x(), (3, 3), (2, 2), ceil_mode=True),
    "pool": lambda: nn.max_pool2d(x(), (2, 2), (2, 2)),
    "softmax": lambda: nn.softmax(x(2, 4)),
    "softmax of a middle axis": lambda: nn.softmax(x(), axis=1),
    "clip": lambda: relay.clip(x(), 0.0, 6.0),
    "concatenate": lambda: relay.concatenate([x(), x(name="y")], 1),
    "batch_matmul": lambda: nn.batch_matmul(x(1, 2, 3), x(1, 4, 3, name="y")),
    "leaky": lambda: nn.leaky_relu(x(), 0.1),
    "a bias with its convolution": lambda: bias(conv()),
}


@pytest.mark.parametrize("name", CALLS)
def test_dnnl_gives_the_same_reason_everywhere(name: str) -> None:
    mod = InferType()(IRModule.from_expr(CALLS[name]()))
    call = mod["main"].body
    assert isinstance(call, Call)
    alone = dnnl.why_not(call)
    assert alone == backends.get("dnnl").why_not(call)
    told = explain(mod, "dnnl", call)[0]
    assert told.offloaded == (alone is None)
    assert told.offloaded == any(
        "Compiler" in f.attrs for f in partition(mod, "dnnl").functions.values()
    )
    if told.cause in ("predicate", "check"):
        assert alone is not None and alone in told.reason


@pytest.mark.parametrize("through", ["predicate", "pattern", "both"])
def test_back_end_gives_the_same_reason_alone_and_through_a_pattern(through: str) -> None:
    def refuse(call: Call) -> Refused:
        return Refused(f"exp of rank {len(call.checked_type.shape)}")

    pattern = [entry("exp", is_op("exp")(wildcard()), refuse)]
    backend = backends.register(
        NPU,
        patterns=pattern if through != "predicate" else [],
        supports={"exp": refuse} if through != "pattern" else {},
    )
    mod = InferType()(IRModule.from_expr(relay.exp(x(2, 3))))
    told = explain(mod, NPU)[0]
    assert backend.why_not(mod["main"].body) == "exp of rank 2"
    assert "exp of rank 2" in told.reason
    assert told.cause == ("check" if through == "pattern" else "predicate")
    backends.register(NPU)


def test_predicate_s_reason_is_given_if_predicate_and_check_refuse_a_call() -> None:
    pattern = [entry("exp", is_op("exp")(wildcard()), lambda c: Refused("as a pattern"))]
    backend = backends.register(NPU, patterns=pattern, supports={"exp": lambda c: Refused("alone")})
    mod = InferType()(IRModule.from_expr(relay.exp(x(2, 3))))
    assert backend.why_not(mod["main"].body) == "alone" == explain(mod, NPU)[0].reason
    backends.register(NPU)
