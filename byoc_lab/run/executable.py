"""What `build` returns: an executable to run, to time, and to ask where each region ran."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, InputError
from byoc_lab.relay.analysis.costs import Cost, cost
from byoc_lab.relay.ir.expr import Function, If
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.backends import Codegen, CompiledRegion
from byoc_lab.run.deep import needs_depth, run_deep
from byoc_lab.run.direct import direct_call
from byoc_lab.run.inline import flattened
from byoc_lab.run.inputs import bind_inputs, given_inputs
from byoc_lab.run.library_file import seal
from byoc_lab.run.metering.cards import HOST, RegionFacts
from byoc_lab.run.metering.meter import Meter, MeteredRegion, library_facts, only_float32
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.run.tvm_runtime import import_tvm, new_arrays, to_device


@dataclass(frozen=True)
class LinkedRegion:
    """An external function, typed, and what became of it: compiled by its back end, or by TVM for
    `why`. codegen: what compiled it. module: the code that was linked.
    """

    symbol: str
    compiler: str
    function: Function
    compiled: CompiledRegion | None
    why: str | None
    codegen: Codegen | None = None
    module: Any = None

    @property
    def facts(self) -> RegionFacts:
        return RegionFacts.of(self.function, self.symbol, self.compiler, self.why)

    def metered(self) -> MeteredRegion:
        """The region as the meter wants it."""
        return MeteredRegion(self.facts, self.module, self.compiled, only_float32(self.function))


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one for each repetition."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)

    def __str__(self) -> str:
        return (
            f"{self.median * 1e3:.2f} ms (median of {len(self.seconds)}, "
            f"{self.best * 1e3:.2f} to {self.worst * 1e3:.2f})"
        )


class Executable(MeteredProgram):
    """A built module. `exe(x)`, `exe.run(data=x)` or `exe.run({"data": x})` give a list of arrays.

    The outputs are those of @main, tuples made flat. Inputs are checked against the types of
    @main's parameters.

    Several threads may use it; runs wait for one another, as TVM's virtual machine has memory for
    one at a time. To run at the same time, give each thread an executable of its own.
    """

    def __init__(
        self,
        mod: IRModule,
        compiled: Any,
        regions: Sequence[LinkedRegion],
    ):
        super().__init__()
        self.mod = mod
        self.linked = tuple(regions)
        self._compiled = compiled
        self._lock = threading.Lock()  # of the virtual machine, the meter, and what is imported
        tvm = import_tvm()
        # Given the module itself: for an executable without host code, the other form of the
        # constructor would call a C compiler.
        self._vm = tvm.relax.VirtualMachine(compiled, tvm.cpu())
        self._main = self._vm["main"]
        self._deep = needs_depth(self._vm.module)
        self._direct = None if self._deep else direct_call(self._main, mod["main"])
        self._metered = tuple(region.metered() for region in regions)
        self._varying = self._deep or any(
            isinstance(node, If) for f in mod.functions.values() for node in post_order(f)
        )
        self._meter = Meter(self._vm, self._metered, self._lock, varying=self._varying)

    @property
    def runs(self) -> int:
        """How often @main ran."""
        return self._meter.runs

    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name (mapping or keywords) or in order.

        Raises InputError naming the input, what was found and what was expected.
        """
        given = given_inputs(inputs, more, named)
        if self._direct is not None and isinstance(given, (tuple, list)):
            with self._lock:
                outputs = self._direct(given)
                if outputs is not None:
                    self._meter.ran()
                    return outputs
        return new_arrays(self._execute(self._prepare(given)))

    def _prepare(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        bound = bind_inputs(self.mod["main"], inputs)
        return [_convert(bound[p]) for p in self.mod["main"].params]

    def _execute(self, prepared: list[Any]) -> Any:
        with self._lock:
            result = run_deep(self._main, *prepared) if self._deep else self._main(*prepared)
            self._meter.ran()
            return result

    def export_library(self, path: str | Path) -> None:
        """Write everything into one shared library; `run.load_library(path)` reads it back.

        Its size and a checksum are written behind its end (`library_file.py`), which loading
        verifies.

        Raises BuildError when the code of a region cannot be saved, or no C compiler is found.
        """
        loaded: list[Any] = []  # code that has to be linked in
        for region in self.linked:
            code: Any = region.compiled
            if code is None or _is_saved(code.module):
                continue
            if not hasattr(code, "link_into"):
                raise BuildError(
                    f"the code that {region.compiler} made of @{region.symbol} cannot be exported: "
                    f"its module cannot be saved. build(offload=False) makes all of it "
                    f"exportable"
                )
            loaded.append(code)
        with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
            objects: list[str] = []
            options: dict[str, None] = {}
            for n, code in enumerate(loaded):
                own = Path(folder, f"region_{n}")
                own.mkdir()
                files, needed = code.link_into(own)
                objects += map(str, files)
                options.update(dict.fromkeys(needed))
            more = {"addons": objects, "options": list(options)} if loaded else {}
            try:
                with self._lock, self._without([code.module for code in loaded]):
                    self._compiled.export_library(str(path), **more)
                seal(Path(path), library_facts(self._metered, self._varying, self.host))
            except (RuntimeError, ValueError, OSError) as error:
                raise BuildError(f"TVM cannot export to {path}: {error}") from error

    @contextmanager
    def _without(self, modules: list[Any]) -> Iterator[None]:
        """Inside, the module that is exported does not have these among what it imports."""
        imported = list(self._compiled.imports)
        if modules:
            self._import([m for m in imported if m not in modules])
        try:
            yield
        finally:
            if modules:
                self._import(imported)

    def _import(self, modules: list[Any]) -> None:
        self._compiled.clear_imports()
        for module in modules:
            self._compiled.import_module(module)

    # Time

    def time(self, inputs: Any = None, *, number: int = 1, repeat: int = 10) -> Timing:
        """Seconds per run, after one that is not counted: `repeat` times the mean of `number`.

        inputs: as for `run`; standard normal numbers when None.
        """
        return compare_times({"": self}, inputs, number=number, repeat=repeat)[""]

    def example_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Standard normal numbers for every input. Raises InputError for inputs that are tuples."""
        rng = np.random.default_rng(seed)
        made = {}
        for p in self.mod["main"].params:
            ty = p.checked_type
            if not isinstance(ty, TensorType):
                raise InputError(f"give values for input %{p.name_hint}: none are made for {ty}")
            made[p.name_hint] = rng.standard_normal(ty.concrete_shape).astype(ty.dtype)
        return made

    # Regions

    @cached_property
    def host(self) -> Cost:
        """The cost of what is in no region."""
        flat = flattened(self.mod["main"], self.mod, keep=is_external)
        return sum(map(cost, (flat.main, *flat.functions.values())), Cost())

    @property
    def host_operators(self) -> int:
        """How many operator calls of the module are in no region."""
        return self.host.calls

    def __repr__(self) -> str:
        where = ", ".join(
            f"@{r.symbol} on {r.compiler if r.compiled else HOST}" for r in self.linked
        )
        return f"<Executable: {where or 'no regions'}; the rest on {HOST}>"


def is_external(function: Function) -> bool:
    """Whether a function was cut out for a compiler."""
    return "Compiler" in function.attrs


def _is_saved(module: Any) -> bool:
    """Whether a TVM-FFI module goes into an exported library; a loaded library does not."""
    saved: bool = module.is_binary_serializable() or module.is_compilation_exportable()
    return saved and module.kind != "library"


def _convert(value: Any) -> Any:
    return tuple(map(_convert, value)) if isinstance(value, tuple) else to_device(value)


def compare_times(
    executables: Mapping[str, Executable], inputs: Any = None, *, number: int = 1, repeat: int = 10
) -> dict[str, Timing]:
    """Times of several executables, taken in turns so that the machine is the same for all.

    Each runs once before anything is measured. See `Executable.time`.
    """
    if not (isinstance(number, int) and isinstance(repeat, int)) or number < 1 or repeat < 1:
        raise InputError(
            f"number and repeat must be integers of at least 1, found {number!r} and {repeat!r}"
        )
    prepared = {
        name: exe._prepare(exe.example_inputs() if inputs is None else inputs)
        for name, exe in executables.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in executables}
    for name, exe in executables.items():
        exe._execute(prepared[name])
    for _ in range(repeat):
        for name, exe in executables.items():
            started = time.perf_counter()
            for _ in range(number):
                exe._execute(prepared[name])
            seconds[name].append((time.perf_counter() - started) / number)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}
