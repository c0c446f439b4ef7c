"""`fix` for Relax: gives functions separate variables (BYR006), composites a back end (BYR001), and
parameters values (BYR004)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import ArgumentError, ByocLabError, counted, nearest
from byoc_lab.lab.linting import Finding, Severity, lint
from byoc_lab.lab.linting.finding import Fix
from byoc_lab.lab.linting.fixing import same
from byoc_lab.relax.ir.calls import checked_relax, region_functions
from byoc_lab.relax.ir.variables import variable_faults
from byoc_lab.relax.lab.bisecting import in_relay
from byoc_lab.relax.partition import on_reached
from byoc_lab.relax.passes import MERGES, applied
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm


def fix_relax(mod: Any, params: Any, pipeline: Any, backend: Any) -> Fix:
    """The verified repairs of a TVM module; `before` and `after` are also TVM modules. See
    `byoc_lab.fix`."""

    def faults(mod: Any) -> list[Finding]:
        return [f for f in lint(mod, pipeline, backend) if f.severity is not Severity.INFO]

    found = faults(mod)
    if not found:
        return Fix((), mod, mod, "the linter reports no errors and no warnings")
    steps: list[str] = []
    proofs: list[str] = []
    start = mod
    if params:
        bound = _bound(mod, params)
        rest = faults(bound)
        if len(rest) < len(found):
            steps.append(f"bind {', '.join(f'%{name}' for name in params)}")
            gone = counted(len(found) - len(rest), "finding")
            proofs.append(f"binding these values removes {gone}")
            start = bound
    now, names = with_own_variables(start)
    if names:
        steps.append(f"give {' and '.join(f'@{name}' for name in names)} separate variables")
        proofs.append("with separate variables the module is structurally equal to the original")
    why = "byoc_lab repairs findings BYR001, BYR006 and, given the values, BYR004 of Relax"
    codes = {f.code for f in faults(now)}
    if "BYR001" in codes and "BYR007" not in codes:  # BYR007: MergeCompositeFunctions fails
        merge = import_tvm().relax.transform.MergeCompositeFunctions()
        try:
            merged = applied([on_reached(merge)], now, "fix")
            proof = same(in_relay(now), in_relay(merged))
        except ByocLabError as error:
            proof, why = None, str(error)
        if proof is not None:
            before, still = (sum(f.code == "BYR001" for f in faults(m)) for m in (now, merged))
            given = counted(before - still, "composite")
            if still:
                given = "the callees of main"
                why = f"{MERGES} processes only callees of main, and others call composites, too"
            if len(region_functions(merged)) > len(region_functions(now)):
                steps.append(f"run {MERGES}, which gives {given} a back end")
                proofs.append(proof)
                now = merged
    left = tuple(faults(now))
    if not steps:
        return Fix((), mod, mod, f"no repair could be proved: {why}", left)
    if left:
        proofs.append(f"no more could be proved: {why}")
    return Fix(tuple(steps), mod, now, "; ".join(proofs), left)


def _bound(mod: Any, params: Mapping[str, Any]) -> Any:
    """A module with values bound to parameters of main. Raises ArgumentError for unknown names."""
    known = [name_of(param) for param in checked_relax(mod, "fix")["main"].params]
    for name in params:
        if name not in known:
            raise ArgumentError(f"main has no parameter {name!r:.80}; {nearest(str(name), known)}")
    bind = import_tvm().relax.transform.BindParams("main", dict(params))
    return applied([bind], mod, "fix")


def with_own_variables(mod: Any) -> tuple[Any, list[str]]:
    """A module in which no two functions share variables, and the names of the functions with new
    variables."""
    copy = import_tvm().relax.utils.copy_with_new_vars
    names = [fault.function for fault in variable_faults(mod) if not fault.free]
    if not names:
        return mod, []
    made = mod.clone()
    for name in names:
        gv = made.get_global_var(name)
        made.update_func(gv, copy(made[gv]))
    return made, names
