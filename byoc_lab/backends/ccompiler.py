"""A back end in plain C: element-wise and dense regions, compiled by the system's compiler.

The smallest thing that is a back end in full: predicates, a pattern, code, a module that TVM-FFI
loads. It is there to be read, and to be copied by those who write their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.backends.c_source import DENSE, OPERATORS, c_source
from byoc_lab.backends.registry import Refused, register
from byoc_lab.errors import BuildError
from byoc_lab.relay.dataflow_pattern import is_op, wildcard
from byoc_lab.relay.expr import Call, Function
from byoc_lab.relay.infer import infer_expr
from byoc_lab.relay.types import TensorType, TupleType
from byoc_lab.run.inline import inlined

NAME = "ccompiler"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = (
    "-std=c11",
    "-O2",
    "-shared",
    "-fPIC",
    "-Werror=implicit-function-declaration",
    "-Wl,--no-undefined",
)


def supports(call: Call) -> bool | Refused:
    """Whether there is C for a call: float32 tensors of known shape."""
    for ty in (*(arg.checked_type for arg in call.args), call.checked_type):
        if not isinstance(ty, TensorType) or ty.dtype != "float32" or not ty.is_static:
            return Refused(f"ccompiler computes with float32 tensors of known shape, found {ty}")
    if call.is_op(DENSE) and len(call.args[0].checked_type.shape) != 2:  # type: ignore[attr-defined]
        return Refused(f"ccompiler's dense has rows and columns, found {call.args[0].checked_type}")
    return True


def patterns() -> list[tuple[Any, ...]]:
    """dense and the bias that is added to it, as one piece."""
    return [(f"{NAME}.dense_bias", is_op("add")(is_op(DENSE)(wildcard(), wildcard()), wildcard()))]


class CRegion:
    """A region compiled from C. `source` is the C; `module` the library that it was compiled to."""

    def __init__(self, function: Function, symbol: str):
        typed = function if function.is_typed else infer_expr(function)
        assert isinstance(typed, Function)
        self.symbol = symbol
        self.source = c_source(inlined(typed), symbol)
        self.module = compiled(self.source, symbol)
        self._function = self.module[symbol]
        result = typed.ret_type if typed.ret_type is not None else typed.body.checked_type
        fields = result.fields if isinstance(result, TupleType) else [result]
        self._shapes = [f.concrete_shape for f in fields if isinstance(f, TensorType)]
        self._calls = 0

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        outputs = [np.empty(shape, np.float32) for shape in self._shapes]
        held = [np.require(value, np.float32, ["C", "W"]) for value in inputs]
        self._function(*held, *outputs)
        self._calls += 1
        return outputs

    def stats(self) -> dict[str, Any]:
        return {"calls": self._calls, "threads": 1}

    def set_profiling(self, on: bool) -> None:
        """C regions are not timed operator by operator."""


def compiled(source: str, symbol: str) -> Any:
    """The TVM-FFI module of a C source. Raises BuildError when no compiler is there or it fails."""
    import tvm_ffi
    from tvm_ffi import libinfo

    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise BuildError(
            f"region @{symbol}: ccompiler needs a C compiler, and found none of "
            f"{', '.join(COMPILERS)}. Install one (Debian, Ubuntu: sudo apt-get install gcc), or "
            f"name it in the environment variable CC"
        )
    library = Path(libinfo.find_libtvm_ffi())
    with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
        path = Path(folder) / f"{symbol}.c"
        path.write_text(source, encoding="utf-8")
        target = path.with_suffix(".so")
        includes = [Path(__file__).parent, libinfo.find_include_path(),
                    libinfo.find_dlpack_include_path()]  # fmt: skip
        command = [compiler, *FLAGS, *(f"-I{i}" for i in includes), str(path), "-o", str(target),
                   str(library), f"-Wl,-rpath,{library.parent}", "-lm"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"region @{symbol}: {' '.join(command)}\nfailed:\n{done.stderr}")
        return tvm_ffi.load_module(str(target))  # the file may go: the library stays mapped


register(
    NAME,
    patterns=patterns,
    supports={operator: supports for operator in OPERATORS},
    codegen=CRegion,
)
