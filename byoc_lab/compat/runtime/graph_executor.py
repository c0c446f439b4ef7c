"""`tvm.contrib.graph_executor` (formerly `graph_runtime`): set inputs, run, get outputs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from byoc_lab.compat.runtime.executors import cast, plain
from byoc_lab.compat.runtime.library import Library
from byoc_lab.compat.runtime.nd import HostArray
from byoc_lab.compat.runtime.params import load_param_dict
from byoc_lab.errors import InputError, UnsetInputWarning, UnsupportedNameError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.types import TensorType, TupleType
from byoc_lab.run.executable import Executable

_CONSTANT = re.compile(r"p\d+")  # names of `Library.params`


def create(
    graph_json_str: str, libmod: Library, device: Any = None, dump_root: Any = None
) -> GraphModuleDebug:
    """A runnable graph from the results of `relay.build`; only the library is used."""
    return GraphModuleDebug(libmod)


class BenchmarkResult:
    """Times in seconds per run: `results` (one per repetition), and their `mean`, `median`, `std`,
    `min` and `max`."""

    def __init__(self, results: Sequence[float]):
        self.results = tuple(results)
        self.mean, self.median = float(np.mean(results)), float(np.median(results))
        self.std, self.min, self.max = float(np.std(results)), min(results), max(results)

    @printable
    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{f'{name} (ms)':^12}" for name in names)
        row = " ".join(f"{getattr(self, name) * 1000:^12.4f}" for name in names)
        return f"Execution time summary:\n{head}\n{row}"


class _Running:
    """The value of `GraphModule.module`: the library and the functions of the graph, by name."""

    def __init__(self, library: Library, graph: GraphModule):
        self._library, self._graph = library, graph

    def time_evaluator(
        self, func_name: str, dev: Any = None, number: int = 10, repeat: int = 1, **options: Any
    ) -> Callable[..., BenchmarkResult]:
        """A function that runs the graph `repeat` times `number` times. Raises InputError for a
        function other than "run"."""
        if func_name != "run":
            raise InputError(f"only the function 'run' can be timed, found {func_name!r}")
        return lambda *inputs: self._graph._time(number, repeat)

    def __getitem__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


class GraphModule:
    """Runs a library made by `relay.build`.

    Its inputs are the parameters of the program, then the constants of the graph (`p0`), whose
    values are fixed.

    Attributes: `executable`, the `byoc_lab.run.Executable`, whose cards say where regions ran;
    `parameters`, the inputs without a fixed value, by name.
    """

    def __init__(self, module: Library):
        if not isinstance(module, Library):
            raise TypeError(f"GraphModule takes a result of relay.build, found {module!r}")
        self.module = _Running(module, self)
        self.executable: Executable = module.executable
        self.parameters = {p.name_hint: p for p in self.executable.mod["main"].params}
        self._library = module
        self._values: dict[str, Any] = {}
        self._outputs: list[Any] = []

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set one input (by name or index), or several by name; unknown names among the several
        are ignored, and values cast to the dtype of the input, as in TVM. Raises InputError."""
        if key is not None:
            name = self._name(key)
            if name in self.parameters:
                self._values[name] = cast(plain(value), self.parameters[name])
            else:
                self._check_constant(name, plain(value))
        for name, array in params.items():
            if name in self.parameters or (_CONSTANT.fullmatch(name) and name in self._names):
                self.set_input(name, array)

    set_input_zero_copy = set_input

    @cached_property
    def _names(self) -> list[str]:
        return [*self.parameters, *(n for n in self._library.params if n not in self.parameters)]

    def _name(self, key: Any) -> str:
        if isinstance(key, str) and key in self.parameters:
            return key
        if isinstance(key, int) and 0 <= key < len(self._names):
            return self._names[key]
        if key not in self._names:
            raise InputError(f"no input is called {key!r}; there are {', '.join(self._names)}")
        return key

    def _check_constant(self, name: str, value: Any) -> None:
        if not np.array_equal(self._library.params[name].view(), np.asarray(value)):
            raise InputError(
                f"{name} is a constant of the program, found another value for it: give the "
                f"parameters of the program to relay.build(..., params=...) and build it again"
            )

    def run(self, **inputs: Any) -> None:
        """Run with the inputs set before and those given.

        An input without a value is set to zeros, with an UnsetInputWarning; in TVM it has the
        previous contents of its memory. Raises InputError if the type of such an input is not
        static.
        """
        self.set_input(**inputs)
        self._outputs = self.executable.run(self._inputs())

    def _inputs(self) -> list[Any]:
        missing = [n for n in self.parameters if n not in self._values]
        types = [self.parameters[n].checked_type for n in missing]
        unset = f"no value was set for input {', '.join(missing)}"
        if not all(isinstance(ty, TensorType) and ty.is_static for ty in types):
            raise InputError(unset)
        zeros = {
            n: np.zeros(ty.concrete_shape, ty.dtype) for n, ty in zip(missing, types, strict=True)
        }
        if zeros:
            warnings.warn(f"{unset}; zeros are used", UnsetInputWarning, stacklevel=3)
        return [self._values[n] if n in self._values else zeros[n] for n in self.parameters]

    def get_num_outputs(self) -> int:
        """The number of tensors in the result."""
        todo, count = [self.executable.mod["main"].body.checked_type], 0
        while todo:
            ty = todo.pop()
            todo += ty.fields if isinstance(ty, TupleType) else ()
            count += not isinstance(ty, TupleType)
        return count

    def get_num_inputs(self) -> int:
        return len(self._names)

    def get_input_index(self, name: str) -> int:
        """The index of an input; -1 for an unknown name."""
        return self._names.index(name) if name in self._names else -1

    def get_input_name(self, index: int) -> str:
        """The name of an input. Raises InputError for an invalid index."""
        return self._name(index)

    def get_input(self, index: Any, out: HostArray | None = None) -> HostArray:
        name = self._name(index)
        constant = name not in self.parameters
        value = HostArray(self._library.params[name] if constant else self._values[name])
        return value if out is None else out.copyfrom(value)

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, str]]:
        """(shapes, dtypes), each by input name."""
        types: dict[str, Any] = {n: p.checked_type for n, p in self.parameters.items()}
        types |= {n: self._library.params[n] for n in self._names[len(types) :]}
        return {n: t.shape for n, t in types.items()}, {n: t.dtype for n, t in types.items()}

    def get_output(self, index: int, out: HostArray | None = None) -> HostArray:
        """An output of the last run. Raises InputError before the first run."""
        if not 0 <= index < len(self._outputs):
            have = len(self._outputs)
            raise InputError(
                f"output {index} does not exist: the last run returned {have}; call run()"
            )
        value = HostArray(self._outputs[index])
        return value if out is None else out.copyfrom(value)

    def load_params(self, params_bytes: bytes) -> None:
        """Set inputs from the bytes that `relay.save_param_dict` returned."""
        self.set_input(**load_param_dict(params_bytes))

    def benchmark(
        self, device: Any = None, func_name: str = "run", repeat: int = 5, number: int = 5,
        **inputs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """Time in seconds per run, with the inputs set before and the given inputs. Other options
        of TVM, such as `end_to_end`, have no effect."""
        self.set_input(**inputs)
        return self._time(number, repeat)

    def _time(self, number: int, repeat: int) -> BenchmarkResult:
        values = self._inputs()
        return BenchmarkResult(self.executable.time(values, number=number, repeat=repeat).seconds)


class GraphModuleDebug(GraphModule):
    """The graph module of the debug executor; nothing is written to `dump_root`.

    Operators are fused, so intermediate results are not available here; `byoc_lab.run.reference`
    and `byoc_lab.validate` provide them.
    """

    def __init__(
        self, module: Library, device: Any = None, graph_json_str: Any = None, dump_root: Any = None
    ):
        super().__init__(module)

    def debug_get_output(self, node: Any, out: Any = None) -> NoReturn:
        raise UnsupportedNameError(
            f"debug_get_output({node!r}) is not supported: the nodes of the built graph are not "
            "kept; byoc_lab.run.reference.evaluate(mod, inputs) returns the result of each "
            "operator"
        )


AotModule = GraphModule
"""`tvm.runtime.executor.AotModule` has the same interface."""

__all__ = ["AotModule", "BenchmarkResult", "GraphModule", "GraphModuleDebug", "create"]
