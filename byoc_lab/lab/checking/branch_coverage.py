"""Branches of operators that the inputs of a check exercise, and branches that they miss."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.errors import counted
from byoc_lab.relay.ir.expr import Call, Op


class BranchCoverage:
    """Observes every operator call (see `observe`) and records the branches taken."""

    def __init__(self) -> None:
        self.seen: dict[Call, dict[str, bool]] = {}

    def __call__(self, call: Call, args: tuple[Any, ...], value: Any) -> None:
        branches = call.op.definition.branches if isinstance(call.op, Op) else None
        if branches is None:
            return
        with np.errstate(all="ignore"):
            found = branches(call.attrs, args, value)
        known = self.seen.setdefault(call, {})
        for branch, taken in found.items():
            known[branch] = known.get(branch, False) or taken

    def missed(self) -> list[str]:
        """Describe the branches that no input exercised; calls of one operator that miss the same
        branch share a line."""
        counts: dict[tuple[str, str], int] = {}
        totals: dict[str, int] = {}
        for call, branches in self.seen.items():
            assert isinstance(call.op, Op)
            totals[call.op.name] = totals.get(call.op.name, 0) + 1
            for branch, taken in branches.items():
                if not taken:
                    key = (call.op.name, branch)
                    counts[key] = counts.get(key, 0) + 1
        return [
            f"{name}: no input gave {branch} ({count} of {counted(totals[name], 'call')})"
            for (name, branch), count in counts.items()
        ]
