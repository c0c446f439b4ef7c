"""`tvm.relay.testing`: what tests of Relay programs call, besides the networks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from byoc_lab.compat.nd import HostArray, array
from byoc_lab.relay.expr import Call, Expr, Op
from byoc_lab.relay.visit import post_order


def rand(dtype: str, *shape: int) -> HostArray:
    """Uniform numbers from 0 to 1."""
    return array(np.random.rand(*shape).astype(dtype))


def count_ops(expr: Expr) -> Counter[str]:
    """How often each operator is called."""
    calls = (n for n in post_order(expr) if isinstance(n, Call) and isinstance(n.op, Op))
    return Counter(call.op_name for call in calls)


class TempOpAttr:
    """`with TempOpAttr("nn.conv2d", "target.x", f):` sets an operator's attribute for a while."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        self.op, self.key, self.value = Op.get(op_name), attr_key, attr_value
        self._before: Any = None

    def __enter__(self) -> TempOpAttr:
        self._before = self.op.get_attr(self.key)
        self.op.reset_attr(self.key)
        self.op.set_attr(self.key, self.value)
        return self

    def __exit__(self, *exc: object) -> None:
        self.op.reset_attr(self.key)
        if self._before is not None:
            self.op.set_attr(self.key, self._before)


__all__ = ["TempOpAttr", "count_ops", "rand"]
