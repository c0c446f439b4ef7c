"""`tvm.relay.testing`: helpers that tests of Relay programs call, besides the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from byoc_lab.compat.ir.prelude import Prelude
from byoc_lab.compat.runtime.executors import create_executor
from byoc_lab.compat.runtime.nd import HostArray, array
from byoc_lab.compat.testing.testing import enabled_targets
from byoc_lab.errors import UnsupportedNameError
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.testing import helpers
from byoc_lab.relay.typing.infer import infer_module

ctx_list = enabled_targets


def run_opt_pass(
    expr: Expr, opt_pass: Callable[[IRModule], IRModule], import_prelude: bool = False
) -> Any:
    """`relay.testing.run_opt_pass`, with the functions of the `Prelude` in the module if wanted."""

    def with_prelude(mod: IRModule) -> IRModule:
        Prelude(mod)
        return opt_pass(infer_module(mod))

    return helpers.run_opt_pass(expr, with_prelude if import_prelude else opt_pass)


def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm") -> Any:
    """The value of an expression, with the same types as an executor's results.

    TVM generates a Python program and runs it; here the NumPy reference computes the value and
    raises its errors.
    """
    return create_executor("debug", mod, target=target).evaluate(expr)


def to_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm") -> NoReturn:
    """Raises UnsupportedNameError: byoc_lab does not generate Python programs from expressions."""
    raise UnsupportedNameError(
        "to_python is not supported: byoc_lab generates no Python programs; run_as_python(expr, "
        "mod) returns the value of such a program"
    )


def rand(dtype: str, *shape: int) -> HostArray:
    """Uniform numbers from 0 to 1."""
    return array(np.random.rand(*shape).astype(dtype))


def count_ops(expr: Expr) -> Counter[str]:
    """The number of calls of each operator."""
    calls = (n for n in post_order(expr) if isinstance(n, Call) and isinstance(n.op, Op))
    return Counter(call.op_name for call in calls)


class TempOpAttr:
    """`with TempOpAttr("nn.conv2d", "target.x", f):` sets an operator's attribute for the block."""

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


__all__ = ["TempOpAttr", "count_ops", "ctx_list", "rand", "run_as_python",
           "to_python"]  # fmt: skip
