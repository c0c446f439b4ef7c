"""`PassesRun`: the passes that `bisect` searches, and the modules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.backends import Codegen

Backends = Mapping[str, Codegen | None]


@dataclass(frozen=True)
class PassesRun:
    """Passes of Relay that were run, as modules that can be evaluated.

    mod: the input of the first pass, typed and with known sizes. partitions: whether a pass is
    meant to create regions. backends: code generators, as for `build`. notes: further remarks on
    the run.
    """

    mod: IRModule
    stages: Sequence[Stage]
    partitions: bool
    backends: Backends = field(default_factory=dict)
    notes: Sequence[str] = ()
