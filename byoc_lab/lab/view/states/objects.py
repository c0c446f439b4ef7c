"""The state (`messages.State`) of each kind of object that the view can show."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from byoc_lab.errors import PassError
from byoc_lab.lab.comparing import Comparison
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.view.messages import State
from byoc_lab.lab.view.states.comparison import comparison_state
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.state import Builder, diff_state, module_state
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule

# Caches the state of a trace, which never changes and is often shown and then saved.
_states: WeakKeyDictionary[Trace, tuple[State, Ids]] = WeakKeyDictionary()


def state_of(obj: Any) -> State:
    """The state (`messages.State`) of an object that the view can show.

    Raises PassError for any other object.
    """
    if isinstance(obj, Trace):
        return state_and_ids(obj)[0]
    if isinstance(obj, Comparison):
        return comparison_state(obj)
    if isinstance(obj, Diff):
        return diff_state(obj)
    if isinstance(obj, Findings):
        return module_state(obj.mod, obj, "Findings", tab="findings")
    if isinstance(obj, (IRModule, Expr)):
        return module_state(obj)
    raise PassError(
        f"byoc_lab.lab.view shows traces, comparisons, diffs, findings, modules and expressions; "
        f"found {type(obj).__name__}"
    )


@without_collection()
def state_and_ids(trace: Trace) -> tuple[State, Ids]:
    """The state of a trace, and the ids of its nodes. Each caller adds the ids of steps to a
    separate copy, so a page does not depend on what was shown before."""
    if trace not in _states:
        builder = Builder()
        _states[trace] = builder.trace(trace), builder.ids
    state, ids = _states[trace]
    return state, ids.copy()
