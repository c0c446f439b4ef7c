"""TVM 0.16's DNNL pattern table. byoc_lab's own has the same names, but its quantised entries find
Relay's own operators too; a table that both sides of a comparison use has to be the same."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.dnnl.quantized import PRODUCTS, tvm_pattern
from byoc_lab.relay.op.contrib import dnnl


def pattern_table() -> list[tuple[Any, ...]]:
    """The entries, in TVM's order."""
    quantised = [(f"dnnl.{name}", tvm_pattern(name)) for name in PRODUCTS]
    return [*quantised, *dnnl.pattern_table()[len(quantised) :]]
