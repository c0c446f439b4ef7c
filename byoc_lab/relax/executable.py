"""A partitioned Relax module, compiled: runs, and reports where each region ran (its cards)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError, ByocLabError, EvaluationError, InputError
from byoc_lab.relax.codegens import compiled_regions
from byoc_lab.relax.compiled import compiled_regions_of
from byoc_lab.relax.ir.batch import is_number
from byoc_lab.relax.ir.calls import (
    CODEGEN,
    checked_relax,
    host_functions,
    is_compiled,
    region_calls,
    region_functions,
)
from byoc_lab.relax.ir.types import is_tensor, is_tuple, type_and_sizes
from byoc_lab.relax.lab.costs import host_work, region_facts
from byoc_lab.relax.passes import is_of_tvm, said
from byoc_lab.relax.reference import region_if_any
from byoc_lab.relax.registration import PREFIX, is_registered
from byoc_lab.relay.analysis.costs import Cost
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.op.framework.from_relax import number
from byoc_lab.run import tvm_runtime
from byoc_lab.run.backends import LAYOUTS, check_layouts, using_layouts
from byoc_lab.run.hosts.exporting import export_compiled
from byoc_lab.run.inputs import by_position, given_inputs
from byoc_lab.run.metering.meter import Meter, MeteredRegion, native_modules, only_float32
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.run.relax_values import is_number_type, is_shape_type, is_variable, name_of
from byoc_lab.run.stand_in import stated
from byoc_lab.run.tvm_runtime import COMPILING, import_tvm, new_arrays, to_device


@dataclass(frozen=True)
class RelaxRegion:
    """A function that a back end compiled. function: the Relax function; None if RunCodegen had
    already compiled it. counterpart: the equivalent Relay function, if any (`to_relay`), with
    `batch.NOMINAL` for an unknown batch."""

    symbol: str
    compiler: str
    function: Any = None
    counterpart: Function | None = None


@dataclass(frozen=True)
class RegionRun:
    """One call of a region in a run, with its arguments and results; both are unknown if the
    function is unknown."""

    region: RelaxRegion
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


class RelaxExecutable(MeteredProgram):
    """A compiled Relax module: `exe(x)` and `exe.run(name=x)` give a list of arrays.

    The list has the outputs of "main", with tuples flattened. Several threads may use the
    executable; their runs are serialized (see `run.Executable`).
    """

    def __init__(self, mod: Any, target: str = "llvm", layouts: str = LAYOUTS[0]):
        super().__init__()
        tvm = import_tvm()
        self.mod = mod
        self.inputs = [name_of(p) for p in mod["main"].params]
        functions = region_functions(mod)
        sites = Counter(region_calls(mod))
        self.regions = tuple(
            RelaxRegion(symbol, str(f.attrs[CODEGEN]), f, region_if_any(f))
            for symbol in sites
            for f in [functions[symbol]]
        )
        earlier = compiled_regions_of(mod)
        _check_code_generators({r.compiler for r in self.regions})
        with COMPILING, using_layouts(layouts), compiled_regions() as self._linked:
            try:
                linked = tvm.relax.transform.RunCodegen()(mod)
                self.compiled = tvm.compile(linked, tvm_runtime.cpu_target(target)).mod
                self._machine = tvm.relax.VirtualMachine(self.compiled, tvm.cpu())
            except ByocLabError:
                raise
            except Exception as error:
                python = isinstance(error, RuntimeError | ValueError | TypeError)
                if not python and not is_of_tvm(error):
                    raise
                raise BuildError(f"TVM cannot compile the module: {said(error)}") from error
        self._main = self._machine["main"]
        self._lock = threading.Lock()
        native = native_modules(self.compiled)
        metered = [
            MeteredRegion(
                region_facts(r.symbol, r.compiler, r.function, r.counterpart, sites[r.symbol]),
                native.get(r.symbol),
                plain=r.counterpart is not None and only_float32(r.counterpart),
            )
            for r in self.regions
        ]
        metered += [MeteredRegion(facts, native.get(facts.symbol)) for facts in earlier]
        self.regions += tuple(RelaxRegion(f.symbol, f.compiler) for f in earlier)
        self._meter = Meter(self._machine, metered, self._lock, varying=_varies(mod))

    @cached_property
    def host(self) -> Cost | None:
        """The cost of all operators outside regions; None after RunCodegen, because without the
        cost of compiled regions no share can be computed."""
        if is_compiled(self.mod):
            return None
        return host_work(self.mod)

    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        """The outputs, as new arrays, for inputs by name or in order. The input for a shape
        parameter is its sizes; the input for a number parameter is a number. Raises InputError for
        unknown names, a wrong number of inputs, wrong dtypes or shapes, and different values for
        one unknown size; EvaluationError if TVM's code fails at run time."""
        given = given_inputs(inputs, more, named)
        arrays = [np.asarray(value) for value in by_position(given, self.inputs)]
        known: dict[Any, int] = {}
        params = self.mod["main"].params
        for param, array in zip(params, arrays, strict=True):
            _check_input(param, array, known)
        arguments = list(map(_argument, params, arrays))
        with self._lock:
            try:
                result = self._main(*arguments)
            except ByocLabError:
                raise
            except Exception as error:
                if not is_of_tvm(error):
                    raise
                text = f"the compiled module failed in a run: {said(error)}"
                raise EvaluationError(text) from error
            self._meter.ran()
        return new_arrays(result)

    def observed(self, inputs: Any) -> tuple[list[np.ndarray], list[RegionRun]]:
        """The outputs, and each call of a region with its arguments and results. Inputs as for
        `run`."""
        by_symbol = {r.symbol: r for r in self.regions}
        found = []

        def watch(symbol: str, args: Sequence[Any]) -> None:
            region = by_symbol[symbol]
            arrays = [np.array(arg.numpy()) for arg in args]
            count = 0 if region.function is None else len(region.function.params)
            found.append(RegionRun(region, tuple(arrays[:count]), tuple(arrays[count:])))

        with self._meter.watched(watch):
            outputs = self.run(inputs)
        return outputs, found

    def export_library(self, path: str | Path) -> None:
        """Write everything into one shared library, for `tvm.runtime.load_module`.

        Raises BuildError if Python computes a region, and if no C compiler is found.
        """
        with self._lock:
            export_compiled(self.compiled, self._linked, Path(path))

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """One sentence per back end whose regions NumPy computes because its library is missing."""
        return stated((f"@{card.symbol}", card.facts.stand_in) for card in self.cards())

    def __repr__(self) -> str:
        where = ", ".join(f"@{r.symbol} on {r.compiler}" for r in self.regions)
        return f"<RelaxExecutable: {where or 'no regions'}; the rest on llvm>"


def build(mod: Any, target: str = "llvm", *, layouts: str = LAYOUTS[0]) -> RelaxExecutable:
    """Compile a partitioned Relax module: regions by their back ends, the rest by TVM. Regions that
    RunCodegen has already compiled are linked; their runs are counted.

    target: TVM's target for the rest; a CPU. layouts: how DNNL chooses the layouts of convolutions,
    "fixed" or "measured", as for `byoc_lab.build`.

    Raises ArgumentError unless `mod` is a Relax module and `layouts` is valid, BuildError if the
    module cannot be compiled.
    """
    check_layouts("relax.build", layouts)
    return RelaxExecutable(checked_relax(mod, "relax.build", compiled=True), target, layouts)


def check_is_array(param: Any) -> None:
    """Raises InputError if a parameter of "main" is not a tensor."""
    check_is_one(param)
    if is_shape_type(param.ty) or is_number_type(param.ty):
        raise InputError(
            f"input {name_of(param)} is {param.ty}, but only arrays can be compared: "
            f"replace that parameter by its value in main"
        )


def check_is_one(param: Any) -> None:
    """Raises InputError if a parameter of "main" is a tuple."""
    if is_tuple(param):
        ty, _ = type_and_sizes(param)
        raise InputError(
            f"input {name_of(param)} is a tuple, {ty}, but the inputs of a run must be arrays: "
            "give "
            f"main one parameter for each field"
        )


def _argument(param: Any, array: np.ndarray) -> Any:
    """A checked input in the form that TVM's code accepts."""
    if is_shape_type(param.ty):
        return import_tvm().runtime.ShapeTuple(array.tolist())
    return array.item() if is_number_type(param.ty) else to_device(array)


def _check_input(param: Any, array: np.ndarray, known: dict[Any, int]) -> None:
    """Raises InputError if an array does not have the type of its parameter of "main". known: the
    values of unknown sizes from earlier inputs; values from this input are added."""
    check_is_one(param)
    ty, sizes = type_and_sizes(param)
    if is_shape_type(ty):
        fits = array.ndim == 1 and array.dtype.kind == "i" and ty.ndim in (-1, array.size)
    elif is_number_type(ty):
        fits = array.ndim == 0
    elif is_tensor(param):
        fits = str(ty.dtype) in ("", "void", array.dtype.name)
    else:
        return
    if sizes is not None:
        fits = fits and len(sizes) == array.ndim
        pairs = zip(sizes, array.shape, strict=False)
        fits = fits and all(int(number(size)) == n for size, n in pairs if is_number(size))
    if fits:
        for size, length in zip(sizes or (), array.shape, strict=False):
            if is_variable(size) and known.setdefault(size, length) != length:
                raise InputError(
                    f"input {name_of(param)}: expected {ty} with {size} = {known[size]}, as "
                    f"before, found an array of shape {array.shape}"
                )
    else:
        raise InputError(
            f"input {name_of(param)}: expected {ty}, found an array of shape {array.shape} and "
            f"dtype {array.dtype}"
        )


def _check_code_generators(compilers: Iterable[str]) -> None:
    """Raises BuildError for a back end without a code generator."""
    for name in sorted(compilers):
        if not is_registered(name):
            raise BuildError(
                f"the module has functions with Codegen={name!r:.80}, and no code generator "
                f"{PREFIX}{name} is registered; register one with "
                f"byoc_lab.relax.register({name!r:.80}, codegen=...), or import the "
                f"package that has it"
            )


def _varies(mod: Any) -> bool:
    """Whether one run may call other regions than the next: branches, or several functions."""
    tvm = import_tvm()
    found = []
    hosts = host_functions(mod)
    for function in hosts:
        tvm.relax.analysis.post_order_visit(
            function, lambda node: found.append(node) if isinstance(node, tvm.relax.If) else None
        )
    return bool(found) or len(hosts) > 1
