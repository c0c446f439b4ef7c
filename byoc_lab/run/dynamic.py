"""An executable of a module whose inputs have unknown sizes: compiled once for each shape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.analysis.costs import Cost, tensor_types
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.run.executable import Executable
from byoc_lab.run.inputs import bind_inputs, given_inputs
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.run.shaped import shaped

KEPT = 8  # shapes whose code is kept


class DynamicExecutable(Executable):
    """A built module with unknown sizes in the types of its inputs.

    The first run with inputs of new shapes compiles the module, including its regions, for them;
    the code for the last 8 shapes is kept. Cards, regions and costs are those of the last run.
    `export_library` needs known shapes.
    """

    def __init__(self, mod: IRModule, make: Callable[[IRModule, bool], Executable]):
        MeteredProgram.__init__(self)
        self.mod = mod
        self._make = make
        self._made: dict[tuple[Type, ...], Executable] = {}
        self._making = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Attributes that only compiled code has (`linked`, the meter) are those of the last
        run."""
        if name.startswith("__") or "_made" not in vars(self):
            raise AttributeError(name)
        return getattr(self._last, name)

    @property
    def _last(self) -> Executable:
        if not self._made:
            raise BuildError(
                "inputs have unknown dimension sizes, so nothing is compiled before the first run; "
                "call run with inputs first, or give the sizes by --shape or the importer's shape="
            )
        return next(reversed(self._made.values()))

    def for_inputs(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Executable:
        """The executable for the shapes of inputs, compiled now if they are new.

        Raises InputError for inputs that do not fit, BuildError and TypeInferenceError for shapes
        that the module cannot have.
        """
        types = types_of(self.mod["main"], inputs)
        with self._making:
            found = self._made.pop(types, None)
            if found is None:
                empty = any(0 in tensor.shape for ty in types for tensor in tensor_types(ty))
                found = self._make(shaped(self.mod, types), empty)
            self._made[types] = found
            while len(self._made) > KEPT:
                del self._made[next(iter(self._made))]
        return found

    def run(self, inputs: Any = None, /, *more: Any, **named: Any) -> list[np.ndarray]:
        given = given_inputs(inputs, more, named)
        return self.for_inputs(given).run(given)

    def export_library(self, path: str | Path) -> None:
        raise BuildError(
            "a library is exported for inputs of known shapes: export "
            "executable.for_inputs(inputs), or give the sizes before the build"
        )

    @property
    def stand_ins(self) -> tuple[str, ...]:
        return self._last.stand_ins

    @property
    def host(self) -> Cost:
        return self._last.host

    @contextmanager
    def profiling(self) -> Iterator[None]:
        with self._last.profiling():
            yield

    def __repr__(self) -> str:
        return f"<DynamicExecutable: compiled for {len(self._made)} shapes>"


def types_of(main: Function, inputs: Mapping[str, Any] | Sequence[Any]) -> tuple[Type, ...]:
    """The types of a typed function's parameters, with the sizes of inputs. Raises InputError."""
    bound = bind_inputs(main, inputs)
    return tuple(_type_of(bound[p], p.checked_type) for p in main.params)


def _type_of(value: Any, stated: Type) -> Type:
    if isinstance(stated, TupleType):
        return TupleType([_type_of(v, t) for v, t in zip(value, stated.fields, strict=True)])
    if not isinstance(stated, TensorType):
        return stated
    return TensorType(np.shape(value), stated.dtype)
