"""The operators: one definition each (see `registry.define_op`), in files by family.

Every module of this folder is imported here by discovery, so a new family is a new file.
"""

from __future__ import annotations

import importlib
import pkgutil

from byoc_lab.relay.expr import Op
from byoc_lab.relay.op.registry import OpDef, OpPattern, builder, builders, define_op

_HELPERS = {"registry"}
# These refer by name to operators that the others define.
_LAST = ("nn_packed", "qnn_unary", "qnn_linear", "dyn")
_families = [m.name for m in pkgutil.iter_modules(__path__) if m.name not in (*_HELPERS, *_LAST)]
for _name in (*_families, *_LAST):
    importlib.import_module(f"{__name__}.{_name}")


def get(name: str) -> Op:
    """The operator of that name. Raises UnknownNameError."""
    return Op.get(name)


def register_op_attr(op_name: str, attr_key: str, value: object = None, level: int = 10):
    """Set an attribute of an operator ("target.dnnl", ...); without a value, a decorator."""

    def register(v: object) -> object:
        Op.get(op_name).set_attr(attr_key, v, level)
        return v

    return register if value is None else register(value)


__all__ = [
    "Op",
    "OpDef",
    "OpPattern",
    "builder",
    "builders",
    "define_op",
    "get",
    "register_op_attr",
]
