"""`tvm.relay.testing`: what tests of Relay programs call, besides the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from byoc_lab.compat.executors import create_executor
from byoc_lab.compat.nd import HostArray, array
from byoc_lab.compat.testing import enabled_targets
from byoc_lab.errors import TypeInferenceError, UnsupportedNameError
from byoc_lab.passes import gradient
from byoc_lab.relay.expr import Call, Expr, Function, Op
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.relay.types import TensorType, Type
from byoc_lab.relay.visit import post_order
from byoc_lab.run.reference import evaluate

ctx_list = enabled_targets


def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm") -> Any:
    """The value of an expression, of the types that an executor gives.

    TVM writes a Python program and runs it; here the NumPy reference computes it. Raises what that
    raises.
    """
    return create_executor("debug", mod, target=target).evaluate(expr)


def to_python(expr: Expr, mod: IRModule | None = None, target: Any = "llvm") -> NoReturn:
    """Raises UnsupportedNameError: no Python program is written of an expression."""
    raise UnsupportedNameError(
        "to_python is not supported: byoc_lab writes no Python program; run_as_python(expr, mod) "
        "gives the value that it would have"
    )


def rand(dtype: str, *shape: int) -> HostArray:
    """Uniform numbers from 0 to 1."""
    return array(np.random.rand(*shape).astype(dtype))


def count_ops(expr: Expr) -> Counter[str]:
    """How often each operator is called."""
    calls = (n for n in post_order(expr) if isinstance(n, Call) and isinstance(n.op, Op))
    return Counter(call.op_name for call in calls)


def _np_randn_from_type(t: Type, scale: float = 1.0, mean: float = 0.0) -> np.ndarray:
    """Normal numbers of a tensor type. Raises TypeInferenceError when its shape is not known."""
    if not isinstance(t, TensorType) or not t.is_static:
        raise TypeInferenceError(f"random numbers need a tensor type of known shape, found {t}")
    return np.asarray(mean + scale * np.random.randn(*t.concrete_shape)).astype(t.dtype)


def check_grad(
    func: Function,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0.0,
    mode: str = "higher_order",
    target_devices: Any = None,
    executor_kind: str = "debug",
) -> None:
    """Assert that the gradient of a function is what central differences come to.

    inputs: arguments, or None for random ones of `scale` (10 eps) around `mean`. test_inputs: those
    of them to differentiate by; None: all. The differences are taken with the float64 reference.
    Raises AssertionError, and what `relay.transform.gradient` raises.
    """
    forward = run_infer_type(func)
    backward = run_infer_type(gradient(forward, mode=mode))
    if inputs is None:
        size = 10 * eps if scale is None else scale
        inputs = [_np_randn_from_type(p.checked_type, size, mean) for p in forward.params]
    chosen = inputs if test_inputs is None else test_inputs
    places = [next(n for n, x in enumerate(inputs) if x is y) for y in chosen]
    expected = [_differences(forward, inputs, n, eps) for n in places]
    for target, device in enabled_targets() if target_devices is None else target_devices:
        run = create_executor(executor_kind, device=device, target=target).evaluate(backward)
        _, found = run(*inputs)
        for n, wanted in zip(places, expected, strict=True):
            np.testing.assert_allclose(found[n].numpy(), wanted, rtol=rtol, atol=atol)


def _differences(function: Function, inputs: Sequence[Any], n: int, eps: float) -> np.ndarray:
    """The derivative of the sum of the results by each element of the n-th input."""

    def total(value: np.ndarray) -> float:
        given = [value if k == n else x for k, x in enumerate(inputs)]
        result = evaluate(function, given, dtype="float64").value
        parts = result if isinstance(result, tuple) else (result,)
        return float(sum(np.sum(p, dtype="float64") for p in parts))

    base = np.asarray(inputs[n], dtype="float64")
    found = np.zeros_like(base)
    for place in np.ndindex(*base.shape):
        more, less = base.copy(), base.copy()
        more[place] += eps / 2
        less[place] -= eps / 2
        found[place] = (total(more) - total(less)) / eps
    return found


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


__all__ = ["TempOpAttr", "check_grad", "count_ops", "ctx_list", "rand", "run_as_python",
           "to_python"]  # fmt: skip
