"""`PassesRun`: the passes among which `bisect` searches, and the modules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.backends import Codegen

Backends = Mapping[str, Codegen | None]


@dataclass(frozen=True)
class PassesRun:
    """Passes that were run, as modules that can be evaluated: those of Relay.

    mod: the module that the first pass got, typed and with known sizes. partitions: whether a pass
    is meant to make regions. backends: code generators, as `build` takes them. notes: what else to
    say of the run.
    """

    mod: IRModule
    stages: Sequence[Stage]
    partitions: bool
    backends: Backends = field(default_factory=dict)
    notes: Sequence[str] = ()
