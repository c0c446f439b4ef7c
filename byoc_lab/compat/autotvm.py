"""`tvm.autotvm`: the contexts that programs are built in; there is no tuning, and none is needed.

Programs are compiled as they are without tuning logs, so results are the same.
"""

from __future__ import annotations

from typing import Any


class FallbackContext:
    """A context for building programs, as TVM's: schedules without a tuning log."""

    def __init__(self) -> None:
        self.memory: dict[Any, Any] = {}

    def __enter__(self) -> FallbackContext:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class ApplyHistoryBest(FallbackContext):
    """A context for building programs with tuning logs, which schedules here do not read."""

    def __init__(self, records: Any):
        super().__init__()
        self.records = records


apply_history_best = ApplyHistoryBest

__all__ = ["ApplyHistoryBest", "FallbackContext", "apply_history_best"]
