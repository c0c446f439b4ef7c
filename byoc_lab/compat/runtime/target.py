"""`tvm.target`: apache-tvm's targets, which also accept command-line text again."""

from __future__ import annotations

import json
import shlex
from typing import Any

from byoc_lab.compat.op import qnn_legalizations as qnn_legalizations  # asks for the current target
from byoc_lab.compat.runtime.nd import kind_name
from byoc_lab.compat.runtime.region_target import OPTIONS, region_target
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Expr, Function, Var
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.op.annotation.device import VIRTUAL_DEVICE, virtual_device
from byoc_lab.run.tvm_runtime import import_tvm

_LISTS = ("keys", "libs", "mattr")


class Target(import_tvm().target.Target):  # type: ignore[misc]
    """A target: "llvm", "llvm -mcpu=core-avx2 -num-cores 4", or a mapping of its options.

    "ccompiler -header=..." gives a `RegionTarget`. Raises BuildError for a kind or option that
    apache-tvm no longer has.
    """

    def __new__(cls, target: Any, host: Any = None) -> Any:
        if kind_name(target) in OPTIONS:
            return region_target(read_options(target) if isinstance(target, str) else target, host)
        return super().__new__(cls)

    def __init__(self, target: Any, host: Any = None):
        try:
            super().__init__(options(target), None if host is None else options(host))
        except (ValueError, TypeError, RuntimeError) as error:
            if isinstance(error, BuildError):
                raise
            raise BuildError(
                f"apache-tvm does not accept the target {target!r}: {error}; the compiler of a "
                f"region needs no target: the attribute Compiler of the function names it"
            ) from error

    @staticmethod
    def current(allow_none: bool = True) -> Any:
        """The target of the innermost `with` block."""
        return import_tvm().target.Target.current(allow_none)


def options(target: Any) -> Any:
    """Converts a target's text to the mapping that apache-tvm expects; other values are
    unchanged."""
    if not isinstance(target, str):
        return target
    found = read_options(target)
    try:
        import_tvm().target.Target(found)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BuildError(f"apache-tvm does not accept the target {target!r}: {error}") from error
    return found


def read_options(target: str) -> dict[str, Any]:
    """Parses a target's text (JSON or a command line) to a mapping."""
    if target.lstrip().startswith("{"):
        return dict(json.loads(target))
    kind, *words = shlex.split(target)
    found: dict[str, Any] = {"kind": kind}
    while words:
        name, equals, value = words.pop(0).lstrip("-").partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("-") else "1"
        found[name] = _value(name, value)
    return found


def _value(name: str, text: str) -> Any:
    if name in _LISTS:
        return text.split(",")
    return int(text) if text.lstrip("-").isdigit() else text


def VirtualDevice(device: Any = None, target: Any = None, memory_scope: str = "") -> Attrs:
    """The location of a value: a device (`tvm.cpu(0)`), its memory, and the target of its code.

    The target is stored and printed, and has no other effect. Raises BuildError for a target of
    another     kind of device.
    """
    made = VIRTUAL_DEVICE.make() if device is None else virtual_device(device)
    if target is not None and target.get_target_device_type() != made.device_type_int:
        raise BuildError(
            f"the target {target} is for devices of type {target.get_target_device_type()}, found "
            f"a device of type {made.device_type_int}"
        )
    return made.replace(memory_scope=memory_scope, target=target)


def _set(node: Var | Function, name: str, value: Any) -> None:
    """Implements `node.virtual_device_ = VirtualDevice(...)`, which TVM scripts may set on
    variables and functions."""
    if name == "virtual_device_":
        set_field(node, "device", virtual_device(value))
    else:
        Expr.__setattr__(node, name, value)


for _kind in (Var, Function):
    _kind.__setattr__ = _set  # type: ignore[assignment, method-assign]


def create(target: Any) -> Any:
    """A `Target`; this is its name before TVM 0.7."""
    return Target(target)


__all__ = ["Target", "VirtualDevice", "create"]
