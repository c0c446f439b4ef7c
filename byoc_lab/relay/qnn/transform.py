"""`relay.qnn.transform`: the passes for quantized operators under TVM's name. They are defined in
`byoc_lab.passes.quantize.qnn_transform`; nothing in `byoc_lab.relay` uses this module."""

from __future__ import annotations

from byoc_lab.passes.quantize.qnn_transform import CanonicalizeOps, Legalize

__all__ = ["CanonicalizeOps", "Legalize"]
