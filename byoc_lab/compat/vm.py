"""`relay.vm` and `tvm.runtime.vm`: the same programs behind the interface of TVM's Relay VM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.compat import building
from byoc_lab.compat.executors import Executor, VMExecutor, as_result, nested, plain
from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.module import IRModule


class Executable:
    """A compiled module: `VirtualMachine(exe, device).run(...)`, or `exe.save()`."""

    def __init__(self, library: building.Library):
        self.library = library

    @property
    def lib(self) -> building.Library:
        return self.library

    mod = lib

    def save(self) -> tuple[bytearray, building.Library]:
        """(code, library): all of the program is in the library."""
        return bytearray(), self.library

    @staticmethod
    def load_exec(bytecode: Any, lib: building.Library) -> Executable:
        return Executable(lib)


class VirtualMachine:
    """Runs functions of an executable."""

    def __init__(self, exe: Any, device: Any = None, memory_cfg: Any = None):
        library = exe.library if isinstance(exe, Executable) else exe
        if not isinstance(library, building.Library):
            raise TypeError(f"VirtualMachine takes what relay.vm.compile gave, found {exe!r}")
        self._executable = library.executable
        self._set: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Arguments for the next `run()`."""
        self._check(func_name)
        self._set = (args, kwargs)

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Run @main, the one entry of a compiled module. Raises UnknownNameError for another."""
        self._check(func_name)
        if not args and not kwargs:
            args, kwargs = self._set
        main = self._executable.mod["main"]
        given: Any = [plain(a) for a in args]
        for p in main.params[len(given) :]:
            if p.name_hint in kwargs:
                given.append(plain(kwargs[p.name_hint]))
        return as_result(nested(self._executable.run(given), main.body.checked_type))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.invoke("main", *args, **kwargs)

    @staticmethod
    def _check(func_name: str) -> None:
        if func_name != "main":
            raise UnknownNameError(f"a compiled module is entered by 'main', found {func_name!r}")


def compile(
    mod: IRModule, target: Any = None, target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Executable:  # fmt: skip
    """Compile a module for this machine's CPU; see `relay.build`."""
    return Executable(building.build(mod, target, params=params))


class VMCompiler:
    """`compile` in steps: `lower`, `codegen`, `get_exec`."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._library: building.Library | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        return dict(self._params)

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        self._library = building.build(mod, target, params=self._params)

    def codegen(self) -> None:
        """`lower` has done it."""

    def get_exec(self) -> Executable:
        if self._library is None:
            raise UnknownNameError("nothing was compiled: call lower(mod) first")
        return Executable(self._library)


__all__ = ["Executable", "Executor", "VMCompiler", "VMExecutor", "VirtualMachine", "compile"]
