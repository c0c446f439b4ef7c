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
from byoc_lab import passes as transform
from byoc_lab.passes import qnn_transform as _qnn_transform
from byoc_lab.passes.extract_fused_functions import (
    extract_fused_functions as _extract_fused_functions,
)

# TVM's name for the passes. They are built on relay, which therefore cannot import them itself.
relay.transform = transform  # type: ignore[attr-defined]
relay.analysis.extract_fused_functions = _extract_fused_functions  # type: ignore[attr-defined]
_sys.modules["byoc_lab.relay.transform"] = _sys.modules["byoc_lab.transform"] = transform
relay.qnn.transform = _qnn_transform  # type: ignore[attr-defined]
_sys.modules["byoc_lab.relay.qnn.transform"] = _qnn_transform

# The view needs notebook packages, so it is loaded when something is shown.
display.provide(lambda: _import_module("byoc_lab.view"))

from byoc_lab import backends, dnnl, ir  # noqa: E402
from byoc_lab.backends import ccompiler as _ccompiler  # noqa: E402, F401
from byoc_lab.diff import Diff, diff  # noqa: E402
from byoc_lab.dnnl import contrib as _contrib  # noqa: E402
from byoc_lab.lint import Finding, Findings, lint  # noqa: E402
from byoc_lab.passes import PassContext, Sequential  # noqa: E402
from byoc_lab.relax.registration import (  # noqa: E402
    register_codegen_when_possible as _register_codegen,
)
from byoc_lab.relay import IRModule  # noqa: E402
from byoc_lab.relay.structural import assert_structural_equal, structural_equal  # noqa: E402
from byoc_lab.trace import Trace, trace  # noqa: E402

# DNNL for Relax: registered now, or when TVM-FFI is imported.
_register_codegen()

# TVM's name for what DNNL defines; Relay itself knows no back end.
relay.op.contrib.dnnl = _contrib  # type: ignore[attr-defined]
_sys.modules["byoc_lab.relay.op.contrib.dnnl"] = _contrib

if TYPE_CHECKING:
    from byoc_lab.run.build import build
    from byoc_lab.run.reference import evaluate
    from byoc_lab.run.validate import validate

__version__ = "0.1.0"
__all__ = [
    "Diff", "Finding", "Findings", "IRModule", "PassContext", "Sequential", "Trace",
    "assert_structural_equal", "backends", "build", "diff", "dnnl", "errors", "evaluate", "ir",
    "lint", "passes", "relay", "structural_equal", "trace", "transform", "validate",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    # Running things needs more than looking at them does, so it is loaded when it is used.
    homes = {"build": "build", "validate": "validate", "evaluate": "reference"}
    if name not in homes:
        raise AttributeError(f"module 'byoc_lab' has no attribute {name!r}")
    return getattr(_import_module(f"byoc_lab.run.{homes[name]}"), name)
