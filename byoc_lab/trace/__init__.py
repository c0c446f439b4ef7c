"""Recording what a pipeline does to a module, stage by stage."""

from byoc_lab.trace.recorder import trace
from byoc_lab.trace.stages import Stage, Trace

__all__ = ["Stage", "Trace", "trace"]
