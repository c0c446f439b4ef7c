"""`bisect` for Relax: finds the TVM pass or the kernel that changed the results of a module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn

from byoc_lab.errors import BuildError
from byoc_lab.importers.relax import from_relax
from byoc_lab.lab.checking.passes_run import PassesRun
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.relax.backends import get, is_known
from byoc_lab.relax.ir.calls import CODEGEN, region_functions
from byoc_lab.relax.passes import FUSES, MERGES
from byoc_lab.relax.reference import region_in_relay
from byoc_lab.relax.tracing.recorder import RelaxTrace
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.backends import Codegen


def in_relay(mod: Any) -> IRModule:
    """A Relax module with bound weights, imported into Relay, with regions in the form that their
    code generators receive. Raises ImporterError, and BuildError for an operator in a region
    without a counterpart."""
    made, _ = from_relax(mod)
    for symbol, function in region_functions(mod).items():
        region, attrs = region_in_relay(function, composites=True), made[symbol].attrs
        made[symbol] = Function(region.params, region.body, attrs=attrs)
    return infer_module(made)


def _codegen(name: str) -> Codegen:
    """The code generator of a back end; if byoc_lab does not have it, a function that refuses each
    region."""
    known = get(name).codegen if is_known(name) else None
    if known is not None:
        return known

    def codegen(function: Function, symbol: str) -> NoReturn:
        raise BuildError(
            f"byoc_lab has no code generator of back end {name!r:.80}; "
            f"byoc_lab.relax.register({name!r:.80}, codegen=...) registers one"
        )

    return codegen


def passes_run(traced: RelaxTrace, sizes: Mapping[str, int]) -> PassesRun:
    """The passes of a trace in the form that `bisect` searches. sizes: the unknown sizes of the
    module, with the values that were set before the trace.

    Each stage is imported into Relay and evaluated there, with regions in the form that their code
    generators receive. Raises the error of a pass that failed, and ImporterError for a stage with
    operators without a counterpart in Relay, or with lowered code.
    """

    @cache
    def read(state: Any) -> IRModule:
        return in_relay(state.source)

    result = traced.result  # raises the error of a pass
    stages = [
        Stage(stage.index, stage.name, read(stage.before), read(stage.after), stage.seconds)
        for stage in traced.stages
        if stage.changed
    ]
    compilers = {str(f.attrs[CODEGEN]) for f in region_functions(result).values()}
    own = {name: _codegen(name) for name in compilers}
    partitions = any(s.name in (FUSES, MERGES) for s in traced.stages)
    given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    notes = [f"the passes ran on the module with {given}, unknown in the module"] if sizes else []
    return PassesRun(read(traced.initial), stages, partitions, own, notes)
