"""`tvm.relay.backend.Executor` and `Runtime`: the kind of execution, with options by name.

Here all executors are the same, and the options have no effect; they are checked as in TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from byoc_lab.errors import BuildError

_KINDS: dict[str, type] = {"IntImm": int, "FloatImm": float, "runtime.String": str}


def _kind_of(value: object) -> str:
    """TVM's name for the type of an option's value."""
    return next((k for k, cls in _KINDS.items() if isinstance(value, cls)), type(value).__name__)


class _Registered:
    """A registered name from `_options`, with values for some of its options."""

    _options: ClassVar[dict[str, dict[str, str]]]
    _defaults: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, name: str, options: Mapping[str, Any] | None = None):
        known = self.list_registered_options(name)
        self.name = name
        self.attrs = {**self._defaults.get(name, {}), **(options or {})}
        for option, value in self.attrs.items():
            kind = type(self).__name__
            if option not in known:
                have = ", ".join(known)
                raise BuildError(
                    f"{kind} {name!r} has no option {option!r}; there are {have}; "
                    f'Attribute "{option}" is not available on this {kind}'
                )
            if not isinstance(value, _KINDS[known[option]]):
                raise BuildError(
                    f'Attribute "{option}" should have type "{known[option]}" but instead found '
                    f'"{_kind_of(value)}": {value!r}'
                )

    @classmethod
    def list_registered(cls) -> list[str]:
        return list(cls._options)

    @classmethod
    def list_registered_options(cls, name: str) -> dict[str, str]:
        """The options of a name, with TVM's names for the types of their values. Raises
        BuildError."""
        if name not in cls._options:
            have = ", ".join(cls._options)
            raise BuildError(f'{cls.__name__} "{name}" is not defined; there are {have}')
        return dict(cls._options[name])

    def __contains__(self, option: object) -> bool:
        return option in self.attrs

    def __getitem__(self, option: str) -> Any:
        return self.attrs[option]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        return (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{self.name}{self.attrs or ''}"


class Executor(_Registered):
    """The executor of a program: "graph" or "aot"."""

    _options: ClassVar = {
        "graph": {"link-params": "IntImm"},
        "aot": {
            "link-params": "IntImm",
            "workspace-byte-alignment": "IntImm",
            "unpacked-api": "IntImm",
            "interface-api": "runtime.String",
            "constant-byte-alignment": "IntImm",
        },
    }
    _defaults: ClassVar = {"graph": {"link-params": False}, "aot": {"link-params": True}}


class Runtime(_Registered):
    """The runtime of a program: "cpp", or "crt" (microcontrollers; built as "cpp")."""

    _options: ClassVar = {name: {"system-lib": "IntImm"} for name in ("cpp", "crt")}
