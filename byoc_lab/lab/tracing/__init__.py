"""Traces: the record of what a pipeline does to a module, stage by stage."""

from byoc_lab.lab.tracing.loading import load_trace
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.lab.tracing.tracer import trace

__all__ = ["Stage", "Trace", "load_trace", "trace"]
