"""DNNL for users of today's Relax.

Importing this registers it: `relax.transform.RunCodegen()` then finds DNNL as it finds any code
generator, and compiles functions with the attribute Codegen="dnnl". Where byoc_lab is installed,
`import tvm` does that by itself. `partition_for_dnnl` makes such functions of everything that DNNL
supports.

`register` makes a back end of one's own, from patterns and a code generator in Python, and
`register(name)` takes over one of `byoc_lab.backends.register`. Of a partitioned module, `build`
makes an executable with cards (`assert_offloaded`, `export_library`), `explain` says of each
operator whether a region computes it, and `coverage` how much of the work regions do. `trace`,
`lint`, `fix`, `explain_patterns`, `validate` and `bisect` are those of `byoc_lab`, which take
modules of Relax, too. `board` raises an error that says how to read a module into Relay.
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

# Functions that check modules are large, and every `import tvm` imports this.
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
    # Kept, as a module of that name would otherwise replace it.
    found = getattr(import_module(f"byoc_lab.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
