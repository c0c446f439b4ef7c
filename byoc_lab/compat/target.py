"""`tvm.target`: apache-tvm's, which no longer reads targets written as a command line."""

from __future__ import annotations

import json
import shlex
from typing import Any

from byoc_lab.compat import qnn_legalizations as qnn_legalizations  # who asks for the target
from byoc_lab.errors import BuildError
from byoc_lab.relay.attrs import Attrs
from byoc_lab.relay.op.device import VIRTUAL_DEVICE, virtual_device
from byoc_lab.run.tvm_runtime import import_tvm

_LISTS = ("keys", "libs", "mattr")


class Target(import_tvm().target.Target):  # type: ignore[misc]
    """A target: "llvm", "llvm -mcpu=core-avx2 -num-cores 4", or a mapping of its options.

    Raises BuildError for a kind or option that apache-tvm does not know any more.
    """

    def __init__(self, target: Any, host: Any = None):
        try:
            super().__init__(options(target), None if host is None else options(host))
        except (ValueError, TypeError, RuntimeError) as error:
            if isinstance(error, BuildError):
                raise
            raise BuildError(
                f"apache-tvm does not take the target {target!r}: {error}; a compiler of regions "
                f"needs no target, the attribute Compiler of its functions says which it is"
            ) from error

    @staticmethod
    def current(allow_none: bool = True) -> Any:
        """The target of the innermost `with` block."""
        return import_tvm().target.Target.current(allow_none)


def options(target: Any) -> Any:
    """A target's text as the mapping that apache-tvm takes; anything else as it is."""
    if not isinstance(target, str):
        return target
    if target.lstrip().startswith("{"):
        return json.loads(target)
    kind, *words = shlex.split(target)
    found: dict[str, Any] = {"kind": kind}
    while words:
        name, equals, value = words.pop(0).lstrip("-").partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("-") else "1"
        found[name] = _value(name, value)
    try:
        import_tvm().target.Target(found)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BuildError(f"apache-tvm does not take the target {target!r}: {error}") from error
    return found


def _value(name: str, text: str) -> Any:
    if name in _LISTS:
        return text.split(",")
    return int(text) if text.lstrip("-").isdigit() else text


def VirtualDevice(device: Any = None, target: Any = None, memory_scope: str = "") -> Attrs:
    """Where a value is: a device (`tvm.cpu(0)`), and which of its memories.

    Raises BuildError for a target: what code a device gets is told to `relay.build`.
    """
    if target is not None:
        raise BuildError("a virtual device has no target here; give the target to relay.build")
    made = VIRTUAL_DEVICE.make() if device is None else virtual_device(device)
    return made.replace(memory_scope=memory_scope)


def create(target: Any) -> Any:
    """A `Target`, by its name of before 0.7."""
    return Target(target)


__all__ = ["Target", "VirtualDevice", "create"]
