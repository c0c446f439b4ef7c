"""`relay.vm` and `tvm.runtime.vm`: byoc_lab's programs with the interface of TVM's Relay VM."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NoReturn

from byoc_lab.compat.ir.containers import ADT
from byoc_lab.compat.runtime import building
from byoc_lab.compat.runtime.executors import Executor, VMExecutor, as_result, plain, runner
from byoc_lab.compat.runtime.graph_executor import BenchmarkResult
from byoc_lab.errors import InputError, UnknownNameError, UnsupportedNameError
from byoc_lab.passes import InferType
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule


class Executable:
    """A module whose functions can be called: `VirtualMachine(exe, device).invoke(name, ...)`.

    @main is compiled immediately, other functions at their first call. If a function cannot be
    compiled, the reference computes it, with an InterpretedWarning that gives the reason.
    """

    def __init__(self, mod: IRModule, target: Any = None):
        self.ir_mod = mod
        self._target = target
        self._entries: dict[str, Any] = {}

    def entry(self, name: str) -> Any:
        """A Python function that calls @name. Raises UnknownNameError."""
        known = [gv.name_hint for gv in self.ir_mod.functions]
        if name not in known:
            raise UnknownNameError(
                f"the module has the functions {', '.join(known)}, found {name!r}"
            )
        if name not in self._entries:
            mod = self.ir_mod.copy()
            if name != "main":
                mod["main"] = mod[name]
            self._entries[name] = runner("vm", mod, self._target)
        return self._entries[name]

    @property
    def lib(self) -> building.Library:
        """The program, for `export_library`."""
        return building.Library(self.ir_mod, target=self._target)

    mod = lib

    @property
    def globals(self) -> list[str]:
        """The names of the functions."""
        return [gv.name_hint for gv in self.ir_mod.functions]

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters. Raises UnknownNameError."""
        return [p.name_hint for p in self.ir_mod[func_name].params]

    def _not_kept(self) -> NoReturn:
        raise UnsupportedNameError(
            "bytecode is not supported, nor constants, primitive_ops, stats, virtual_devices: "
            "Relax compiles the program; see byoc_lab.build(mod)"
        )

    bytecode = constants = primitive_ops = stats = virtual_devices = property(_not_kept)

    def save(self) -> tuple[bytearray, building.Library]:
        """(code, library): the whole program is in the library."""
        return bytearray(), self.lib

    @staticmethod
    def load_exec(bytecode: Any, lib: building.Library) -> Executable:
        return Executable(lib.ir_mod)


class VirtualMachine:
    """Runs functions of an executable."""

    def __init__(self, exe: Any, device: Any = None, memory_cfg: Any = None):
        if isinstance(exe, building.Library):
            exe = Executable(exe.ir_mod)
        if not isinstance(exe, Executable):
            raise TypeError(f"VirtualMachine takes a result of relay.vm.compile, found {exe!r}")
        self._executable = exe
        self._set: dict[str, dict[str, Any]] = {}
        self._result: Any = None

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set arguments for the next `run()`, in order or by name."""
        self._set[func_name] = self._named(func_name, args, kwargs)

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set one argument, by its index or name: `(f, 0, x)`, `(f, "data", x)`, `(f, data=x)`."""
        names = self._names(func_name)
        if len(args) == 2 and not kwargs:
            tag, value = args
            name = names[tag] if isinstance(tag, int) and 0 <= tag < len(names) else tag
        elif len(kwargs) == 1 and not args:
            ((name, value),) = kwargs.items()
        else:
            raise InputError("set_one_input takes a number or name and a value, or name=value")
        if name not in names:
            raise InputError(f"{func_name} takes {', '.join(names)}, found {name!r}")
        self._set.setdefault(func_name, {})[name] = value

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Run a function with the given arguments, or with the arguments set before.

        Raises UnknownNameError for an unknown function, InputError for a missing argument.
        """
        run = self._executable.entry(func_name)
        given = self._named(func_name, args, kwargs) if args or kwargs else None
        given = self._set.get(func_name, {}) if given is None else given
        missing = [name for name in self._names(func_name) if name not in given]
        if missing:
            raise InputError(f"{func_name} was not given {', '.join(missing)}")
        values: list[Any] = [plain(given[name]) for name in self._names(func_name)]
        self._result = as_result(run(values))
        return self._result

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.invoke("main", *args, **kwargs)

    invoke_stateful = invoke

    def get_outputs(self) -> list[Any]:
        """The results of the last run, with tuples flattened."""

        def flat(value: Any) -> list[Any]:
            return [v for f in value for v in flat(f)] if isinstance(value, ADT) else [value]

        return flat(self._result)

    def benchmark(
        self, device: Any = None, *args: Any, func_name: str = "main", repeat: int = 5,
        number: int = 5, min_repeat_ms: Any = None, end_to_end: bool = False, **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """Time in seconds per run of a function with the given arguments, or with the arguments set
        before."""
        self.invoke(func_name, *args, **kwargs)
        seconds = []
        for _ in range(repeat):
            start = time.perf_counter()
            for _ in range(number):
                self.invoke(func_name, *args, **kwargs)
            seconds.append((time.perf_counter() - start) / number)
        return BenchmarkResult(seconds)

    def _names(self, func_name: str) -> list[str]:
        self._executable.entry(func_name)  # raises an error for unknown functions
        return [p.name_hint for p in self._executable.ir_mod[func_name].params]

    def _named(self, func_name: str, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = self._names(func_name)
        rest = [name for name in names if name not in kwargs]
        if len(args) > len(rest) or not set(kwargs) <= set(names):
            found = ", ".join([*map(str, range(len(args))), *kwargs]) or "none"
            raise InputError(f"expected arguments ({', '.join(names)}), found {found}")
        return {**dict(zip(rest, args, strict=False)), **kwargs}


def compile(
    mod: IRModule, target: Any = None, target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Executable:  # fmt: skip
    """Compile a module for this machine's CPU; see `relay.build`."""
    building.check_target(target)
    made = building.as_module(mod).copy()
    if params:
        made["main"] = bind_params_by_name(made["main"], params)
    executable = Executable(InferType()(made), target)
    executable.entry("main")
    return executable


class VMCompiler:
    """`compile` in steps: `lower`, `codegen`, `get_exec`."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._executable: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        return dict(self._params)

    def optimize(
        self, mod: IRModule, target: Any = None, target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
        """The result of `relay.optimize`, and the remaining parameters.

        Relax does the later steps of TVM's VM, mainly memory allocation."""
        return building.optimize(mod, target, {**self._params, **(params or {})})

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        self._executable = compile(mod, target, params=self._params)

    def codegen(self) -> None:
        """Does nothing: `lower` has already generated the code."""

    def get_exec(self) -> Executable:
        if self._executable is None:
            raise UnknownNameError("nothing was compiled: call lower(mod) first")
        return self._executable


__all__ = ["Executable", "Executor", "VMCompiler", "VMExecutor", "VirtualMachine", "compile"]
