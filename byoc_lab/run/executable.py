"""The result of `build`: an executable that runs, is timed, and reports where each region ran."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, InputError, OffloadError
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.costs import Cost, cost
from byoc_lab.relay.ir.expr import Function, If
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.hosts.host import Host, LinkedRegion, stand_ins_of
from byoc_lab.run.inline import flattened
from byoc_lab.run.inputs import bind_inputs, given_inputs
from byoc_lab.run.library_file import append_trailer
from byoc_lab.run.metering.cards import HOST
from byoc_lab.run.metering.meter import Meter, library_metadata
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.run.stand_in import NUMPY, stated
from byoc_lab.seeds import checked_seed


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one for each repetition.

    stand_in: the reason why nothing was timed, if NumPy replaces a missing library.
    """

    seconds: tuple[float, ...]
    stand_in: str | None = None

    @property
    def median(self) -> float:
        return float(np.median(self._measured))

    @property
    def best(self) -> float:
        return min(self._measured)

    @property
    def worst(self) -> float:
        return max(self._measured)

    @property
    def _measured(self) -> tuple[float, ...]:
        if self.stand_in is not None:
            raise OffloadError(f"no time was measured: {self.stand_in}")
        return self.seconds

    @printable
    def __str__(self) -> str:
        if self.stand_in is not None:
            return f"not timed: {self.stand_in}"
        return (
            f"{self.median * 1e3:.2f} ms (median of {len(self.seconds)}, "
            f"{self.best * 1e3:.2f} to {self.worst * 1e3:.2f})"
        )


class Executable(MeteredProgram):
    """A built module. `exe(x)`, `exe.run(data=x)` or `exe.run({"data": x})` give a list of arrays.

    The outputs are the results of @main, with tuples flattened. Inputs are checked against the
    types of @main's parameters.

    Several threads may use it; runs wait for one another, because TVM's virtual machine has memory
    for one run at a time. To run at the same time, give each thread a separate executable.
    """

    def __init__(self, mod: IRModule, host: Host, regions: Sequence[LinkedRegion]):
        super().__init__()
        self.mod = mod
        self.linked = tuple(regions)
        self._host = host
        self._lock = threading.Lock()  # protects the host and the meter
        self._metered = tuple(region.metered() for region in regions)
        self._varying = host.deep or any(
            isinstance(node, If) for f in mod.functions.values() for node in post_order(f)
        )
        self._meter = Meter(host, self._metered, self._lock, varying=self._varying)

    @property
    def runs(self) -> int:
        """The number of runs of @main."""
        return self._meter.runs

    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name (mapping or keywords) or in order.

        Raises InputError naming the input, what was found and what was expected.
        """
        given = given_inputs(inputs, more, named)
        direct = self._host.direct
        if direct is not None and isinstance(given, (tuple, list)):
            with self._lock:
                outputs = direct(given)
                if outputs is not None:
                    self._meter.ran()
                    return outputs
        return self._host.arrays(self._execute(self._prepare(given)))

    def for_inputs(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Executable:
        """Returns this executable, because it accepts inputs of only one set of shapes."""
        return self

    def _prepare(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        bound = bind_inputs(self.mod["main"], inputs)
        return self._host.prepare([bound[p] for p in self.mod["main"].params])

    def _execute(self, prepared: list[Any]) -> Any:
        with self._lock:
            result = self._host.execute(prepared)
            self._meter.ran()
            return result

    def export_library(self, path: str | Path) -> None:
        """Write everything into one shared library; `run.load_library(path)` reads it back.

        Its size and a checksum are appended (`library_file.py`); loading verifies them.

        Raises BuildError if the code of a region cannot be saved, no C compiler is found, or `path`
        names an archive, MissingDependencyError without apache-tvm.
        """
        if Path(path).suffix == ".tar":  # TVM would write object files, which cannot be loaded
            raise BuildError(
                f"{path} names an archive, but export_library writes one shared library: give a "
                f"path such as {Path(path).with_suffix('.so')}"
            )
        self._host.export(Path(path), self.linked, self._lock)
        try:
            append_trailer(Path(path), library_metadata(self._metered, self._varying, self.host))
        except OSError as error:
            raise BuildError(f"{path} cannot be written: {error}") from error

    # Time

    def time(self, inputs: Any = None, *, number: int = 1, repeat: int = 10) -> Timing:
        """Seconds per run, after a warm-up run: `repeat` measurements, each the mean of `number`
        runs.

        inputs: as for `run`; standard normal numbers when None. Nothing is measured if NumPy
        replaces a missing library; the Timing then gives the reason.
        """
        return compare_times({"": self}, inputs, number=number, repeat=repeat)[""]

    def example_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Standard normal numbers for every input. Raises InputError for inputs that are tuples."""
        rng = np.random.default_rng(checked_seed("example_inputs", seed))
        made = {}
        for p in self.mod["main"].params:
            ty = p.checked_type
            if not isinstance(ty, TensorType):
                raise InputError(
                    f"pass a value for input %{p.name_hint}: cannot generate one of type {ty}"
                )
            made[p.name_hint] = rng.standard_normal(ty.concrete_shape).astype(ty.dtype)
        return made

    # Regions

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """A sentence for each part that NumPy computes because something is missing."""
        return stated([*stand_ins_of(self.linked), ("the host part", self._host.stand_in)])

    @cached_property
    def host(self) -> Cost:
        """The cost of all operators outside of regions."""
        flat = flattened(self.mod["main"], self.mod, keep=is_external)
        return sum(map(cost, (flat.main, *flat.functions.values())), Cost())

    @property
    def host_operators(self) -> int:
        """The number of operator calls of the module outside regions."""
        return self.host.calls

    def __repr__(self) -> str:
        where = ", ".join(f"@{r.symbol} on {r.facts.ran_on}" for r in self.linked)
        host = HOST if self._host.stand_in is None else NUMPY
        return f"<Executable: {where or 'no regions'}; the rest on {host}>"


def is_external(function: Function) -> bool:
    """Whether a function is an external function (has the attribute "Compiler")."""
    return "Compiler" in function.attrs


def compare_times(
    executables: Mapping[str, Executable], inputs: Any = None, *, number: int = 1, repeat: int = 10
) -> dict[str, Timing]:
    """Times of several executables, measured in turns so that changes of the machine's load affect
    all alike.

    Each runs once before anything is measured. See `Executable.time`.
    """
    if not (isinstance(number, int) and isinstance(repeat, int)) or number < 1 or repeat < 1:
        raise InputError(
            f"number and repeat must be integers of at least 1, found {number!r} and {repeat!r}"
        )
    if inputs is not None:
        executables = {name: exe.for_inputs(inputs) for name, exe in executables.items()}
    found = {
        name: Timing((), exe.stand_ins[0]) for name, exe in executables.items() if exe.stand_ins
    }
    timed = {name: exe for name, exe in executables.items() if name not in found}
    prepared = {
        name: exe._prepare(exe.example_inputs() if inputs is None else inputs)
        for name, exe in timed.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for name, exe in timed.items():
        exe._execute(prepared[name])
    for _ in range(repeat):
        for name, exe in timed.items():
            started = time.perf_counter()
            for _ in range(number):
                exe._execute(prepared[name])
            seconds[name].append((time.perf_counter() - started) / number)
    found.update((name, Timing(tuple(values))) for name, values in seconds.items())
    return {name: found[name] for name in executables}
