"""The importer of modules of today's Relax: `from_relax`.

    mod, params = byoc_lab.importers.relax.from_relax(relax_module)

So whatever apache-tvm imports is a way in, too. TVM is imported on first use. Calls of operators
are read by the definitions of operators in Relay (`from_relax` of `define_op`).
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

    mod: a `tvm.ir.IRModule` of Relax, with any of its releases 0.26 and 0.27. Functions that a back
        end compiles (attribute Codegen) become external functions, composites stay composites.
    params: arrays by function, {"main": [...]}, as `relax.frontend.detach_params` gives them: they
        belong to the last parameters of the function. They are returned by name.
    shape: shapes of parameters by name, for those with sizes that are known at run time only.

    Raises ImporterError, naming the operator and the variable, for what Relay has no counterpart of
    (TIR functions among it), and for a shape that is not known; ArgumentError if `mod` is no
    module of Relax, and for parameters and shapes of another kind, or that it does not have;
    MissingDependencyError without apache-tvm.
    """
    from byoc_lab.importers.relax.convert import converted

    return converted(mod, {} if params is None else params, {} if shape is None else shape)
