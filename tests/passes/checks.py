"""Checks for tests of passes: events cover the changes, and values stay."""

from __future__ import annotations

import numpy as np

import byoc_lab
from byoc_lab.passes import Pass, PassContext
from byoc_lab.relay import IRModule, assert_structural_equal
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate


def replayed(mod: IRModule, run: Pass) -> IRModule:
    """The result of `run` on a module, after checking that replaying its events gives the same
    result."""
    with PassContext(opt_level=4):
        trace = byoc_lab.trace(mod, [run])
    if trace.error is not None:
        raise trace.error
    for stage in trace:  # required passes run first
        assert stage.after is not None
        again = infer_module(stage.state_after(len(stage.events)))
        assert_structural_equal(again, stage.after)
        assert bool(stage.events) or not stage.changed
    return trace.result


def random_inputs(mod: IRModule, low: float = -1, high: float = 1) -> dict[str, np.ndarray]:
    """Values between `low` and `high` for the parameters of @main, equal in every run."""
    random = np.random.default_rng(0)
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    return {
        n: random.uniform(low, high, t.concrete_shape).astype(t.dtype) for n, t in types.items()
    }


def values(mod: IRModule, inputs: dict[str, np.ndarray], dtype: str | None) -> list[np.ndarray]:
    """The results of @main, computed by NumPy; dtype: the dtype in which floats are computed."""
    found = evaluate(mod, inputs, dtype=dtype).value
    return list(found) if isinstance(found, (tuple, list)) else [found]


def assert_same_values(
    before: IRModule,
    after: IRModule,
    inputs: dict[str, np.ndarray],
    rtol: float,
    atol: float = 0,
    dtype: str | None = None,
) -> None:
    """Raises AssertionError if two modules compute different values or dtypes."""
    pairs = zip(values(after, inputs, dtype), values(before, inputs, dtype), strict=True)
    for found, wanted in pairs:
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
