"""DNNL for users of Relax in the current TVM.

Importing this package registers DNNL as a code generator: `relax.transform.RunCodegen()` then
compiles functions with the attribute Codegen="dnnl". If byoc_lab is installed, `import tvm` also
registers it. `partition_for_dnnl` moves all operators that DNNL supports into such functions.

`register` registers your own back end, with patterns and a code generator in Python;
`register(name)` reuses a back end registered with `byoc_lab.backends.register`. `build` compiles a
partitioned module to an executable with cards (`assert_offloaded`, `export_library`), `explain`
says for each operator whether a region computes it, and `coverage` reports the share of the work in
regions. `trace`, `lint`, `fix`, `explain_patterns`, `validate` and `bisect` are the functions of
`byoc_lab`, which also accept Relax modules. `board` raises an error that says how to import a
module into Relay.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from byoc_lab.relax.partition import partition_for_dnnl, patterns, why_not_relax
from byoc_lab.relax.registration import CODEGEN, register_codegen

if TYPE_CHECKING:
    from byoc_lab.lab.checking.bisection import bisect
    from byoc_lab.lab.checking.validation import validate
    from byoc_lab.lab.explaining import explain_patterns
    from byoc_lab.lab.linting import lint
    from byoc_lab.lab.tracing import trace
    from byoc_lab.relax.backends import RelaxBackend, register, unregister
    from byoc_lab.relax.executable import RelaxExecutable, build
    from byoc_lab.relax.lab.covering import coverage
    from byoc_lab.relax.lab.explaining import explain

__all__ = [
    "CODEGEN", "RelaxBackend", "RelaxExecutable", "bisect", "board", "build", "coverage", "explain",
    "explain_patterns", "fix", "lint", "partition_for_dnnl", "patterns", "register",
    "register_codegen", "trace", "unregister", "validate", "why_not_relax",
]  # fmt: skip

# Loaded on first use: functions that check modules import a lot, and every `import tvm` imports
# this package.
_LAZY = {
    "RelaxBackend": "relax.backends",
    "RelaxExecutable": "relax.executable",
    "bisect": "lab.checking.bisection",
    "board": "lab.view.board",
    "build": "relax.executable",
    "coverage": "relax.lab.covering",
    "explain": "relax.lab.explaining",
    "explain_patterns": "lab.explaining",
    "fix": "lab.linting",
    "lint": "lab.linting",
    "register": "relax.backends",
    "trace": "lab.tracing",
    "unregister": "relax.backends",
    "validate": "lab.checking.validation",
}

if find_spec("tvm_ffi") is not None:
    register_codegen()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'byoc_lab.relax' has no attribute {name!r}")
    # Cached, because otherwise the submodule of the same name would replace the function.
    found = getattr(import_module(f"byoc_lab.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
