"""Relax modules in the laboratory: traces of TVM's passes, differences, findings, drawings.

`byoc_lab.trace`, `diff` and `lint` accept a `tvm.ir.IRModule` and call this package for it.
"""

from byoc_lab.relax.tracing.module import RelaxModule, read
from byoc_lab.relax.tracing.recorder import RelaxTrace

__all__ = ["RelaxModule", "RelaxTrace", "read"]
