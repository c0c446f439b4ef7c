"""`relay.op.contrib.get_pattern_table` with TVM's table for DNNL."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.backends.dnnl import patterns
from byoc_lab.compat.integrations import dnnl
from byoc_lab.relay.op.contrib import register


def get_pattern_table(compiler: str) -> Sequence[register.Entry] | None:
    """The pattern table of `compiler`, or None if none is registered.

    For "dnnl" it is TVM's table, which has fewer entries than byoc_lab's, unless the script
    registers another table.
    """
    if register.registered_table(compiler) is patterns.pattern_table:
        return dnnl.pattern_table()
    return register.get_pattern_table(compiler)


__all__ = ["get_pattern_table"]
