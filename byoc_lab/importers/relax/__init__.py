"""The importer of Relax modules of the current TVM: `from_relax`.

    mod, params = byoc_lab.importers.relax.from_relax(relax_module)

So byoc_lab can also import every format that apache-tvm imports. TVM is imported on first use.
Relay's operator definitions translate the calls (`from_relax` of `define_op`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.importers.registry import Params
from byoc_lab.relay.ir.module import IRModule

__all__ = ["from_relax"]


def from_relax(
    mod: Any,
    params: Mapping[str, Any] | None = None,
    *,
    shape: Mapping[str, Sequence[int]] | None = None,
) -> tuple[IRModule, Params]:
    """A Relay module that computes what @main of a Relax module computes, and its parameters.

    mod: a `tvm.ir.IRModule` with Relax functions, of TVM 0.26 or 0.27. Functions that a back
        end compiles (attribute Codegen) become external functions, composites stay composites.
    params: arrays by function, {"main": [...]}, as `relax.frontend.detach_params` returns them: the
        values of the last parameters of the function. They are returned by name.
    shape: shapes by name, for parameters with sizes that are known at run time only.

    Raises ImporterError, with the operator and the variable, for an operator or function without a
    counterpart in Relay (such as TIR functions) and for an unknown shape; ArgumentError if `mod` is
    not a Relax module, if `params` or `shape` is malformed, or if it names a parameter that does
    not exist; MissingDependencyError without apache-tvm.
    """
    from byoc_lab.importers.relax.convert import converted

    return converted(mod, {} if params is None else params, {} if shape is None else shape)
