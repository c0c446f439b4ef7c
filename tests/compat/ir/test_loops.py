"""`while_loop`: a counting loop, evaluated by the reference."""

from __future__ import annotations

import numpy as np

from byoc_lab.compat import relay
from byoc_lab.relay import IRModule
from byoc_lab.run.reference import evaluate


def test_while_loop_runs_until_its_condition_is_false() -> None:
    count, total = relay.var("count", "int32"), relay.var("total", shape=(2,))
    loop = relay.loops.while_loop(
        lambda n, _: relay.less(n, relay.const(3)),
        [count, total],
        lambda n, value: [relay.add(n, relay.const(1)), relay.add(value, value)],
    )
    start = relay.var("start", shape=(2,))
    call = relay.Call(loop, [relay.const(0), start])
    mod = IRModule.from_expr(relay.Function([start], relay.TupleGetItem(call, 1)))
    result = evaluate(relay.transform.InferType()(mod), [np.ones(2, "float32")])
    np.testing.assert_array_equal(result.value, [8, 8])
