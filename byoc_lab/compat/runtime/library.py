"""A built module, which `relay.build` returns, and its file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from byoc_lab.compat.runtime.compiling import compiled
from byoc_lab.compat.runtime.graph_function import GraphFunction
from byoc_lab.compat.runtime.graph_json import ExecutorGraph, graph_of
from byoc_lab.compat.runtime.imported_modules import RegionModule, imported_modules
from byoc_lab.compat.runtime.nd import HostArray
from byoc_lab.compat.runtime.optimizing import optimize
from byoc_lab.errors import BuildError, UnknownNameError, UnsupportedNameError
from byoc_lab.passes import InferType, PassContext
from byoc_lab.relay.ir.expr import Function, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import substitute
from byoc_lab.relay.text import parser
from byoc_lab.run.executable import Executable
from byoc_lab.run.to_relax import ENTRY

_FORMAT, _VERSION = "byoc_lab program", 1


class Library:
    """A built module: `lib["default"](device)` runs it, `export_library` saves it.

    The file holds the module's text; loading compiles it again, here or on another machine.
    """

    def __init__(
        self,
        mod: IRModule,
        executable: Executable | None = None,
        name: str = "default",
        target: Any = None,
    ):
        self.ir_mod = mod
        self._target = target
        self.libmod_name = name
        self._executable = executable
        active = PassContext.current()
        self._context = PassContext(
            active.opt_level, active.required_pass, active.disabled_pass, config=active.config
        )

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            self._executable = compiled(self.ir_mod, target=self._target)
        return self._executable

    @property
    def lib(self) -> Library:
        return self

    module = lib

    @property
    def imported_modules(self) -> list[RegionModule]:
        """The code of the regions, with `type_key` and `get_source()`."""
        return imported_modules(self.executable)

    @cached_property
    def _graph(self) -> ExecutorGraph:
        with self._context:
            return graph_of(optimize(self.ir_mod)[0], self.libmod_name)

    @cached_property
    def graph_json(self) -> str:
        """The graph that TVM's executor would run, for inspection: see `graph_json.graph_of`.

        Raises BuildError for a module that only a virtual machine can run.
        """
        return json.dumps(self._graph.document(), indent=2)

    @property
    def functions(self) -> dict[str, Function]:
        """The functions that the graph's nodes call, by name. Raises BuildError like
        `graph_json`."""
        return self._graph.functions

    def get_graph_json(self) -> str:
        return self.graph_json

    get_executor_config = get_graph_json

    @cached_property
    def params(self) -> dict[str, HostArray]:
        """The constants of the graph, by their names in it: "p0". They are part of the program.

        Empty if only a virtual machine can run the module.
        """
        try:
            constants = self._graph.constants
        except BuildError:  # a module without a graph has no such names
            return {}
        return {name: HostArray(data) for name, data in constants.items()}

    def get_params(self) -> dict[str, Any]:
        return self.params

    def get_lib(self) -> Library:
        return self

    def __iter__(self) -> Iterator[Any]:
        """(graph_json, lib, params), the result of `relay.build` before TVM 0.7."""
        return iter((self.graph_json, self, self.params))

    def __getitem__(self, name: str) -> Any:
        if name not in (self.libmod_name, "debug_create"):
            raise KeyError(f"the library holds {self.libmod_name!r}, not {name!r}")
        return lambda *arguments: self

    def get_function(self, name: str, query_imports: bool = False) -> GraphFunction:
        """A function that a node of the graph calls, by name with or without TVM's prefix.

        Raises UnknownNameError.
        """
        for known in (name, f"tvmgen_{self.libmod_name}_{name}"):
            if known in self.functions:
                return GraphFunction(known, self.functions[known])
        have = ", ".join(self.functions) or "none"
        raise UnknownNameError(f"the library has no function {name!r}; the graph's are {have}")

    def get_source(self, fmt: str = "") -> NoReturn:
        raise UnsupportedNameError(
            "get_source() of the whole library is not supported; each of its imported_modules "
            "has the source of a region"
        )

    def export_library(self, file_name: Any, *, fcompile: Any = None, **options: Any) -> str:
        """Write the program's text to a file. `fcompile` and compiler options are ignored."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "inputs": [p.name_hint for p in self.ir_mod["main"].params],
            "relay": self.ir_mod.astext(),
        }
        Path(file_name).write_text(json.dumps(document), encoding="utf-8")
        return str(file_name)


def load_library(path: Any) -> Library:
    """The library that `Library.export_library` wrote: a program's text, compiled at first use.

    Raises BuildError if the file is damaged or of another kind, ParseError if its text is not
    Relay.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise BuildError(
            f"{path} is not a library that relay.build(...).export_library wrote with byoc_lab; "
            f"a library exported by TVM must be loaded with that TVM"
        )
    version, text, inputs = (document.get(key) for key in ("version", "relay", "inputs"))
    if version != _VERSION:
        raise BuildError(f"{path}: expected a program of version {_VERSION}, found {version!r:.80}")
    if not isinstance(text, str):
        raise BuildError(f"{path} is damaged: relay must be a str, found {type(text).__name__}")
    if not isinstance(inputs, list) or not all(isinstance(name, str) for name in inputs):
        raise BuildError(f"{path} is damaged: inputs must be a list of str, found {inputs!r:.80}")
    mod = parser.parse(text)
    if ENTRY not in [gv.name_hint for gv in mod.functions]:
        raise BuildError(f"{path} is damaged: its program has no function @{ENTRY}")
    # A text distinguishes variables by their names, so its names may differ from the program's.
    old = mod[ENTRY]
    if len(inputs) != len(old.params):
        raise BuildError(
            f"{path} is damaged: it names {len(inputs)} inputs, and its @{ENTRY} has "
            f"{len(old.params)} parameters"
        )
    params = [Var(name, p.type_annotation) for name, p in zip(inputs, old.params, strict=True)]
    body = substitute(old.body, dict(zip(old.params, params, strict=True)))
    mod[ENTRY] = Function(params, body, old.ret_type, old.type_params, old.attrs)
    return Library(InferType()(mod))
