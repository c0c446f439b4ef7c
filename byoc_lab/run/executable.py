"""What `build` gives: run it, time it, ask where each region ran."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, InputError, OffloadError
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.backends import CompiledRegion
from byoc_lab.run.cards import Cards, OpCard, RegionCard
from byoc_lab.run.deep import needs_depth, run_deep
from byoc_lab.run.direct import direct_call
from byoc_lab.run.inline import flattened
from byoc_lab.run.inputs import bind_inputs
from byoc_lab.run.library_file import seal
from byoc_lab.run.tvm_runtime import import_tvm, new_arrays, to_device

HOST = "llvm"


@dataclass(frozen=True)
class LinkedRegion:
    """An external function and what became of it: compiled by its back end, or by TVM for `why`.

    operators: how many operator calls it has.
    """

    symbol: str
    compiler: str
    function: Function
    operators: int
    compiled: CompiledRegion | None
    why: str | None


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


class Executable:
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
        self.mod = mod
        self.linked = tuple(regions)
        self.runs = 0
        """How often @main ran."""
        self._compiled = compiled
        self._lock = threading.Lock()  # of the virtual machine, `runs`, and what is imported
        self._times: dict[str, list[float | None]] = {}
        self._errors: dict[str, tuple[float, float]] = {}
        tvm = import_tvm()
        # Given the module itself: for an executable without host code, the other form of the
        # constructor would call a C compiler.
        self._vm = tvm.relax.VirtualMachine(compiled, tvm.cpu())
        self._main = self._vm["main"]
        self._deep = needs_depth(self._vm.module)
        self._direct = None if self._deep else direct_call(self._main, mod["main"])

    def __call__(self, *inputs: Any, **named: Any) -> list[np.ndarray]:
        if inputs and named:
            raise InputError("give the inputs in order or by name, not both")
        return self.run(inputs if inputs else named)

    def run(self, inputs: Any = None, /, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name (mapping or keywords) or in order.

        Raises InputError naming the input, what was found and what was expected.
        """
        given = named if inputs is None else inputs
        if self._direct is not None and isinstance(given, (tuple, list)):
            with self._lock:
                outputs = self._direct(given)
                if outputs is not None:
                    self.runs += 1
                    return outputs
        return new_arrays(self._execute(self._prepare(given)))

    def _prepare(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        bound = bind_inputs(self.mod["main"], inputs)
        return [_convert(bound[p]) for p in self.mod["main"].params]

    def _execute(self, prepared: list[Any]) -> Any:
        with self._lock:
            result = run_deep(self._main, *prepared) if self._deep else self._main(*prepared)
            self.runs += 1
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
                    f"its module has no way to be saved. build(offload=False) makes all of it "
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
                seal(Path(path))
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

    @property
    def host_operators(self) -> int:
        """How many operator calls of the module are in no region."""
        flat = flattened(self.mod["main"], self.mod, keep=is_external)
        return sum(operator_count(f) for f in (flat.main, *flat.functions.values()))

    def cards(self) -> Cards:
        """A card for every region, in the order of their calls."""
        return Cards([self._card(region) for region in self.linked])

    def note_error(self, symbol: str, error: float, tolerance: float) -> None:
        """Put on the card of a region how far its result was from the reference."""
        self._errors[symbol] = (error, tolerance)

    def _card(self, region: LinkedRegion) -> RegionCard:
        if region.compiled is None:
            facts: dict[str, Any] = {"ran_on": HOST, "calls": self.runs}
        else:
            stats = region.compiled.stats()
            ops = stats.get("ops", ())
            times = self._times.get(region.symbol, [None] * len(ops))
            facts = {
                "ran_on": region.compiler,
                "calls": stats.get("calls", self.runs),
                "threads": stats.get("threads"),
                "ops": tuple(OpCard.of(op, t) for op, t in zip(ops, times, strict=True)),
            }
        return RegionCard(
            symbol=region.symbol,
            compiler=region.compiler,
            why=region.why,
            operators=region.operators,
            error=self._errors.get(region.symbol),
            **facts,
        )

    @contextmanager
    def profiling(self) -> Iterator[None]:
        """Inside, calls of regions are timed op by op; `cards` have the times of the last one."""
        compiled = {r.symbol: r.compiled for r in self.linked if r.compiled is not None}
        for region in compiled.values():
            region.set_profiling(True)
        try:
            yield
        finally:
            for symbol, region in compiled.items():
                self._times[symbol] = [op.get("time_us") for op in region.stats().get("ops", ())]
                region.set_profiling(False)

    def assert_offloaded(self) -> None:
        """Raise OffloadError unless there are regions and each has run on its back end."""
        cards = self.cards()
        if not cards:
            raise OffloadError("nothing is offloaded: @main calls no external function")
        wrong = [
            f"@{c.symbol} ran on {c.ran_on}, not {c.compiler}: {c.why}"
            for c in cards
            if not c.offloaded
        ]
        wrong += [
            f"@{c.symbol} has not run yet: run the executable first"
            for c in cards
            if c.offloaded and not c.calls
        ]
        if wrong:
            raise OffloadError("; ".join(wrong))

    def __repr__(self) -> str:
        where = ", ".join(
            f"@{r.symbol} on {r.compiler if r.compiled else HOST}" for r in self.linked
        )
        return f"<Executable: {where or 'no regions'}; the rest on {HOST}>"


def is_external(function: Function) -> bool:
    """Whether a function was cut out for a compiler."""
    return "Compiler" in function.attrs


def operator_count(function: Function) -> int:
    """How many operator calls a function has, composites included."""
    return sum(isinstance(n, Call) and isinstance(n.op, Op) for n in post_order(function))


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
    if number < 1 or repeat < 1:
        raise InputError(f"number and repeat must be at least 1, found {number} and {repeat}")
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
