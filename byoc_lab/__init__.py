"""byoc_lab: a laboratory for BYOC ("bring your own codegen") graph partitioning.

    import byoc_lab
    from byoc_lab import relay

    mod, params = relay.testing.mobilenet.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    byoc_lab.trace(mod, pipeline="dnnl")

`relay` and `transform` are TVM's; `trace`, `diff` and `lint` are what the laboratory adds. The
import loads nothing heavy: apache-tvm, the compiled extension and the notebook packages come when
they are used.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from byoc_lab import display, errors, passes, relay

# The view needs notebook packages, so it is loaded when something is shown.
display.provide(lambda: _import_module("byoc_lab.view"))

# Importing the modules under TVM's names makes them attributes: `relay.transform`, ...
import byoc_lab.relay.op.contrib.dnnl  # noqa: E402
import byoc_lab.relay.qnn.transform  # noqa: E402
import byoc_lab.relay.transform  # noqa: E402, F401
from byoc_lab import backends, dnnl, ir, transform  # noqa: E402
from byoc_lab.backends import ccompiler as _ccompiler  # noqa: E402, F401
from byoc_lab.diff import Diff, diff  # noqa: E402
from byoc_lab.lint import Finding, Findings, lint  # noqa: E402
from byoc_lab.passes import PassContext, Sequential  # noqa: E402
from byoc_lab.relay import IRModule  # noqa: E402
from byoc_lab.relay.structural import assert_structural_equal, structural_equal  # noqa: E402
from byoc_lab.trace import Trace, trace  # noqa: E402

if "tvm_ffi" in _sys.modules:  # TVM's users get DNNL for Relax; it takes no time any more
    _import_module("byoc_lab.relax")

if TYPE_CHECKING:
    from byoc_lab import relax as relax
    from byoc_lab.run.build import build
    from byoc_lab.run.reference import evaluate
    from byoc_lab.run.validate import validate

__version__ = "0.1.0"
__all__ = [
    "Diff", "Finding", "Findings", "IRModule", "PassContext", "Sequential", "Trace",
    "assert_structural_equal", "backends", "build", "diff", "dnnl", "errors", "evaluate", "ir",
    "lint", "passes", "relay", "structural_equal", "trace", "transform", "validate",
]  # fmt: skip

# Running things needs more than looking at them does, so it is loaded when it is used.
_LAZY = {
    "build": "byoc_lab.run.build",
    "validate": "byoc_lab.run.validate",
    "evaluate": "byoc_lab.run.reference",
}


def __getattr__(name: str) -> _Any:
    if name == "relax":
        return _import_module("byoc_lab.relax")
    if name not in _LAZY:
        raise AttributeError(f"module 'byoc_lab' has no attribute {name!r}")
    return getattr(_import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "relax"})
