"""Traces: the record of what a pipeline does to a module, stage by stage."""

from byoc_lab.lab.tracing.loading import load_trace
from byoc_lab.lab.tracing.recorder import trace
from byoc_lab.lab.tracing.stages import Stage, Trace

__all__ = ["Stage", "Trace", "load_trace", "trace"]
