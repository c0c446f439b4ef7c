"""Operators that only annotate: the boundaries of regions."""

from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end, stop_fusion

__all__ = ["compiler_begin", "compiler_end", "stop_fusion"]
