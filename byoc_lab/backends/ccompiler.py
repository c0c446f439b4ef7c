"""A back end in plain C: element-wise and dense regions, compiled by the system's compiler.

The smallest complete back end: predicates, a pattern, generated code, a module that TVM-FFI loads.
Read it, and copy it to write your own.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.c_source import DENSE, OPERATORS, c_source
from byoc_lab.backends.module_region import ModuleRegion
from byoc_lab.backends.registry import Refused, register
from byoc_lab.backends.system_compiler import HEADERS, C, c_library
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.inline import inlined

NAME = "ccompiler"
FLAGS = ("-std=c11", "-Werror=implicit-function-declaration")


def supports(call: Call) -> bool | Refused:
    """Whether there is C for a call: float32 tensors of known shape."""
    for ty in (*(arg.checked_type for arg in call.args), call.checked_type):
        if not isinstance(ty, TensorType) or ty.dtype != "float32" or not ty.is_static:
            return Refused(f"ccompiler supports float32 tensors of known shape, found {ty}")
    if call.is_op(DENSE) and len(call.args[0].checked_type.shape) != 2:
        return Refused(f"ccompiler's dense needs a matrix, found {call.args[0].checked_type}")
    return True


def patterns() -> list[tuple[Any, ...]]:
    """One pattern: dense with a bias."""
    return [(f"{NAME}.dense_bias", is_op("add")(is_op(DENSE)(wildcard(), wildcard()), wildcard()))]


def why_not_compiled(call: Call) -> str | None:
    """The reason why a call in a region cannot be compiled to C; None if it can. Composites are
    inlined, so calls are checked one by one."""
    if call.op_name not in OPERATORS:
        return f"{NAME} has no C for {call.op_name}"
    answer = supports(call)
    return answer.reason if isinstance(answer, Refused) else None


class CRegion(ModuleRegion):
    """A region compiled from the C text `source`. header: C code to put before the function."""

    concurrent = True  # regions are compiled in parallel: see `run.backends.register_backend`

    def __init__(self, function: Function, symbol: str, header: str = ""):
        typed = function if function.is_typed else infer_expr(function)
        assert isinstance(typed, Function)
        made = c_source(inlined(typed), symbol, header)
        self.source = made.text
        library = c_library(symbol, [C(self.source)], FLAGS, [HEADERS], made.data)
        super().__init__(typed, symbol, library)

    def stats(self) -> dict[str, Any]:
        return {"threads": 1}


register(
    NAME,
    patterns=patterns,
    supports={operator: supports for operator in OPERATORS},
    codegen=CRegion,
    compiles=why_not_compiled,
)
