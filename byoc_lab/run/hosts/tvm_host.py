"""The host part compiled by TVM (Relax, LLVM), with the regions' code linked into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, RegionError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run import tvm_runtime
from byoc_lab.run.deep import needs_depth, run_deep
from byoc_lab.run.direct import direct_call
from byoc_lab.run.hosts.exporting import export_compiled
from byoc_lab.run.hosts.host import Instrument, LinkedRegion, Lock
from byoc_lab.run.inline import Flat
from byoc_lab.run.to_relax import to_relax
from byoc_lab.run.tvm_runtime import COMPILING, import_tvm, new_arrays, packed, to_device


class TvmHost:
    """A compiled program and TVM's virtual machine for it. See `Host`.

    main: @main before it was flattened. Raises BuildError if TVM cannot compile the program.
    """

    stand_in: str | None = None

    def __init__(self, flat: Flat, main: Function, regions: Sequence[LinkedRegion], target: str):
        with COMPILING:
            self._compiled = _compile(
                to_relax(flat.main, flat.functions, built=True), regions, target
            )
            tvm = import_tvm()
            with _global_functions(regions):
                # Pass the module, not the executable: for an executable without host code,
                # VirtualMachine would call a C compiler.
                self._machine = tvm.relax.VirtualMachine(self._compiled, tvm.cpu())
            self._main = self._machine["main"]
            self.deep = needs_depth(self._machine.module)
            self.direct = None if self.deep else direct_call(self._main, main)

    def prepare(self, values: Sequence[Any]) -> list[Any]:
        return list(map(_convert, values))

    def execute(self, prepared: list[Any]) -> Any:
        return run_deep(self._main, *prepared) if self.deep else self._main(*prepared)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return new_arrays(result)

    def set_instrument(self, instrument: Instrument | None) -> None:
        self._machine.set_instrument(instrument)

    def export(self, path: Path, regions: Sequence[LinkedRegion], lock: Lock) -> None:
        with lock:
            export_compiled(self._compiled, regions, path)


def _compile(relax_module: Any, regions: Sequence[LinkedRegion], target: str) -> Any:
    """A VM executable module with the regions' code (by symbol) imported into it."""
    tvm = import_tvm()
    try:
        compiled = tvm.compile(relax_module, tvm_runtime.cpu_target(target)).mod
    except (RuntimeError, ValueError, TypeError) as error:
        raise BuildError(
            f"TVM cannot compile the host part for target {target!r}: {error}"
        ) from error
    # TVM's attribute "external_mods" is not used, because it needs a second copy of every constant.
    for region in regions:
        if region.compiled is None:
            continue
        if compiled.implements_function(region.symbol, True):
            raise BuildError(
                f"the external function @{region.symbol} has the name of a function that TVM made "
                f"for the host part, or of another region's: rename it"
            )
        if region.module is not None:
            compiled.import_module(region.module)
    return compiled


@contextmanager
def _global_functions(regions: Sequence[LinkedRegion]) -> Iterator[None]:
    """Inside the context, regions without a module are registered as global TVM functions under
    their symbols.

    When a virtual machine is created, it looks up functions in its modules, then among the global
    functions.
    """
    import tvm_ffi

    with ExitStack() as stack:
        for region in regions:
            if region.compiled is None or region.module is not None:
                continue
            for error in (RegionError, KeyboardInterrupt):
                tvm_ffi.register_error(error.__name__, error)
            other = tvm_ffi.get_global_func(region.symbol, allow_missing=True)
            compute = packed(region.compiled, len(region.function.params))
            tvm_ffi.register_global_func(region.symbol, compute, override=True)
            if other is None:
                stack.callback(tvm_ffi.registry.remove_global_func, region.symbol)
            else:
                stack.callback(tvm_ffi.register_global_func, region.symbol, other, override=True)
        yield


def _convert(value: Any) -> Any:
    return tuple(map(_convert, value)) if isinstance(value, tuple) else to_device(value)
