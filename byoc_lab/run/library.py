"""Loads a library that `Executable.export_library` wrote, in this process or another."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.files import path_of
from byoc_lab.relay.analysis.costs import Cost
from byoc_lab.relay.ir.ndarray import refuse_masked
from byoc_lab.run.backends import load_runtimes
from byoc_lab.run.deep import needs_depth, register_deeper, run_deep
from byoc_lab.run.inputs import by_position, given_inputs
from byoc_lab.run.library_file import verify
from byoc_lab.run.metering.meter import library_meter
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.run.to_relax import ENTRY, relay_name
from byoc_lab.run.tvm_runtime import COMPILING, import_tvm, new_arrays, to_device


class LoadedLibrary(MeteredProgram):
    """An exported module: `library(x)`, `library.run(data=x)` give a list of arrays.

    Several threads may use it; runs wait for one another (see `Executable`). Its cards count the
    runs in this process since it was loaded.

    inputs: the names of @main's parameters. The library does not store their types: TVM checks
    shapes and dtypes, and raises RuntimeError or ValueError.
    """

    def __init__(self, path: Path):
        super().__init__()
        tvm = import_tvm()
        metadata = verify(path)
        self._lock = threading.Lock()  # protects the virtual machine and the meter
        with COMPILING:
            load_runtimes()
            register_deeper()
            try:
                module = tvm.runtime.load_module(str(path))
                self._machine = tvm.relax.VirtualMachine(module, tvm.cpu())
                main, inspect = self._machine[ENTRY], self._machine.module
                count = int(inspect["get_function_arity"](ENTRY))
                names = [str(inspect["get_function_param_name"](ENTRY, n)) for n in range(count)]
            except (RuntimeError, ValueError, AttributeError, OSError) as error:
                raise BuildError(
                    f"{path} is not a library that TVM can load, or has no @{ENTRY}: {error}"
                ) from error
        self._main = main
        if needs_depth(inspect):
            self._main = partial(run_deep, main)
        self.inputs = [relay_name(name) for name in names]
        self._meter, self._host = library_meter(self._machine, module, metadata, self._lock)

    @property
    def host(self) -> Cost:
        """The cost of all operators outside of regions."""
        return self._host

    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name or in order. Raises InputError."""
        given = by_position(given_inputs(inputs, more, named), self.inputs)
        for name, value in zip(self.inputs, given, strict=True):
            refuse_masked(f"input {name!r}", value)
        arrays = [to_device(np.asarray(value)) for value in given]
        with self._lock:
            result = self._main(*arrays)
            self._meter.ran()
        return new_arrays(result)

    def __repr__(self) -> str:
        return f"<LoadedLibrary: {', '.join(self.inputs)}>"


def load_library(path: str | Path) -> LoadedLibrary:
    """The library that `Executable.export_library(path)` wrote, ready to run.

    A library holds machine code: loading it runs that code with the rights of this process. The
    checks before loading (format, version, size, checksum) find damage, not malicious code.

    Raises BuildError, before anything is loaded, for a file that is damaged or not such a library;
    MissingDependencyError without apache-tvm.
    """
    return LoadedLibrary(path_of(path))
