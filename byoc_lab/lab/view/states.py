"""The state (see `state.py`) of each kind of object: traces, differences, findings, modules."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from byoc_lab.errors import PassError
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.linting.linter import Findings
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.rewrites import step_of
from byoc_lab.lab.view.state import Builder, Ids, State, diff_state, module_state
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule

# A trace never changes, and is often shown and then saved: its state, and the names of its nodes.
_states: WeakKeyDictionary[Any, tuple[State, Ids]] = WeakKeyDictionary()


def state_of(obj: Any) -> State:
    """The state (see `state.py`) of anything that can be shown.

    Raises PassError for other objects.
    """
    if isinstance(obj, Trace):
        return state_and_ids(obj)[0]
    if isinstance(obj, Diff):
        return diff_state(obj)
    if isinstance(obj, Findings):
        return module_state(obj.mod, obj, "Findings", tab="findings")
    if isinstance(obj, (IRModule, Expr)):
        return module_state(obj)
    raise PassError(
        f"byoc_lab.lab.view shows traces, differences, findings, modules and functions; "
        f"found {type(obj).__name__}"
    )


def state_and_ids(trace: Any) -> tuple[State, Ids]:
    """The state of a trace, and the ids in it of the nodes."""
    if trace not in _states:
        builder = Builder(True)
        _states[trace] = builder.trace(trace), builder.ids
    return _states[trace]


def step_state(trace: Any, stage: int, rewrite: int) -> State:
    """The module before and after one rewrite inside a stage (see `rewrites.py`)."""
    return step_of(trace, state_and_ids(trace)[1], stage, rewrite)
