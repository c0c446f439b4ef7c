"""`fix` for Relax: gives functions separate variables (BYR006), and composites a back end
(BYR001)."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import ByocLabError, counted
from byoc_lab.lab.linting import Finding, Severity
from byoc_lab.lab.linting.finding import Fix
from byoc_lab.lab.linting.fixing import same
from byoc_lab.relax.ir.calls import region_functions
from byoc_lab.relax.ir.variables import variable_faults
from byoc_lab.relax.lab.bisecting import in_relay
from byoc_lab.relax.partition import on_reached
from byoc_lab.relax.passes import MERGES, applied
from byoc_lab.relay.ir.foreign import adopted
from byoc_lab.run.tvm_runtime import import_tvm


def fixed(mod: Any) -> Fix:
    """The repairs of a module of TVM that are proved; see `byoc_lab.fix`. before, after: of TVM."""
    found = _faults(mod)
    if not found:
        return Fix((), mod, mod, "the linter reports no errors and no warnings")
    steps: list[str] = []
    proofs: list[str] = []
    now, names = with_own_variables(mod)
    if names:
        steps.append(f"give {' and '.join(f'@{name}' for name in names)} variables of their own")
        proofs.append("with other variables the module is structurally equal to what it was")
    why = "byoc_lab repairs findings BYR001 and BYR006 of Relax"
    codes = {f.code for f in _faults(now)}
    if "BYR001" in codes and "BYR007" not in codes:  # where MergeCompositeFunctions fails
        merge = import_tvm().relax.transform.MergeCompositeFunctions()
        try:
            merged = applied([on_reached(merge)], now, "fix")
            proof = same(in_relay(now), in_relay(merged))
        except ByocLabError as error:
            proof, why = None, str(error)
        if proof is not None:
            before, still = (sum(f.code == "BYR001" for f in _faults(m)) for m in (now, merged))
            given = counted(before - still, "composite")
            if still:
                given = "what main calls"
                why = f"{MERGES} looks at what main calls, and other functions call composites too"
            if len(region_functions(merged)) > len(region_functions(now)):
                steps.append(f"run {MERGES}, which gives {given} a back end")
                proofs.append(proof)
                now = merged
    left = tuple(_faults(now))
    if not steps:
        return Fix((), mod, mod, f"no repair could be proved: {why}", left)
    if left:
        proofs.append(f"no more could be proved: {why}")
    return Fix(tuple(steps), mod, now, "; ".join(proofs), left)


def _faults(mod: Any) -> list[Finding]:
    return [f for f in adopted(mod).findings if f.severity is not Severity.INFO]


def with_own_variables(mod: Any) -> tuple[Any, list[str]]:
    """A module none of whose functions share variables, and the names of the functions that got
    new ones."""
    copy = import_tvm().relax.utils.copy_with_new_vars
    names = [fault.function for fault in variable_faults(mod) if not fault.free]
    if not names:
        return mod, []
    made = mod.clone()
    for name in names:
        gv = made.get_global_var(name)
        made.update_func(gv, copy(made[gv]))
    return made, names
