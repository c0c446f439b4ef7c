"""byoc_lab: a laboratory for BYOC ("bring your own codegen") graph partitioning.

    import byoc_lab
    from byoc_lab import relay

    mod, params = relay.testing.mobilenet.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    byoc_lab.trace(mod, pipeline="dnnl")

Functions to inspect modules: `trace` (every stage and rewrite of a pipeline; `Trace.save` and
`load_trace` keep it in a file), `diff` (structural differences between two modules) and `apply`
(applies a diff to a module), `compare` (two traces side by side: their first difference, and the
operators that moved between host and regions), `lint` (malformed annotations) and `fix` (repairs
them), `explain` (why a call is not offloaded, and what would change that), `explain_patterns` (why
entries of a pattern table do not match), `decode` (the meaning of a TVM error message). Functions
to run them: `build` (regions with their back ends, the rest with TVM), `evaluate` (the NumPy
reference), `validate` (compares a build with the reference), `bisect` (finds the pass and the
operator where the numbers changed), `coverage` (how much of a module a back end computes), `reduce`
(the smallest module that still has a problem), `many` (these functions for lists of models, on any
executor). `relay` is the language, `transform` has its passes, `backends` and `dnnl` are the back
ends.

`import byoc_lab` is fast: apache-tvm, the compiled extension and the notebook packages are imported
on first use.
"""

from __future__ import annotations

import sys as _sys
from collections.abc import Callable as _Callable
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

import byoc_lab.backends.ccompiler
import byoc_lab.relay.frontend
import byoc_lab.relay.op.contrib.dnnl
import byoc_lab.relay.qnn.transform
import byoc_lab.relay.transform  # noqa: F401 (these are attributes under TVM's names)
from byoc_lab import backends, errors, passes, relay, transform
from byoc_lab.backends import dnnl
from byoc_lab.display import VIEW as _VIEW
from byoc_lab.display import View as _View
from byoc_lab.lab.language import RELAY as _RELAY
from byoc_lab.lab.language import Language as _Language
from byoc_lab.passes import PassContext, Sequential
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.structural import assert_structural_equal, structural_equal
from byoc_lab.relay.ir.foreign import READERS as _READERS
from byoc_lab.version import VERSION as _VERSION

if TYPE_CHECKING:
    from byoc_lab import importers as importers
    from byoc_lab import relax as relax
    from byoc_lab.jobs import many
    from byoc_lab.lab.checking.bisection import bisect
    from byoc_lab.lab.checking.covering import coverage
    from byoc_lab.lab.checking.validation import validate
    from byoc_lab.lab.comparing import Comparison, compare
    from byoc_lab.lab.diffing import Diff, apply, diff
    from byoc_lab.lab.explaining import Explanation, Explanations, decode, explain, explain_patterns
    from byoc_lab.lab.linting import Finding, Findings, Fix, fix, lint
    from byoc_lab.lab.reducing import reduce
    from byoc_lab.lab.tracing import Trace, load_trace, trace
    from byoc_lab.run.build import build
    from byoc_lab.run.reference import evaluate

__version__ = _VERSION
__all__ = [
    "Comparison", "Diff", "Explanation", "Explanations", "Finding", "Findings", "Fix", "IRModule",
    "PassContext", "Sequential", "Trace", "apply", "assert_structural_equal", "backends", "bisect",
    "board", "build", "compare", "coverage", "decode", "diff", "dnnl", "errors", "evaluate",
    "explain", "explain_patterns", "fix", "lint", "load_trace", "many", "passes", "reduce", "relay",
    "structural_equal", "trace", "transform", "validate",
]  # fmt: skip


def _view() -> _View:
    from byoc_lab.lab import view

    return view


def _relay() -> _Callable[[_Any], _Language]:
    from byoc_lab.lab.relay_module import RelayModule

    return RelayModule


def _reader() -> _Callable[[_Any], _Any]:
    from byoc_lab.relax.tracing import read

    return read


_VIEW.fill(_view)  # imports notebook packages
_RELAY.fill(_relay)
_READERS["tvm"].fill(_reader)  # imports TVM

if "tvm_ffi" in _sys.modules:  # TVM is in use: this import registers DNNL for Relax
    _import_module("byoc_lab.relax")

# The language, the passes and the back ends are imported; the laboratory on first use.
_LAZY = {
    "byoc_lab.jobs": ["many"],
    "byoc_lab.lab.checking.bisection": ["bisect"],
    "byoc_lab.lab.checking.covering": ["coverage"],
    "byoc_lab.lab.checking.validation": ["validate"],
    "byoc_lab.lab.comparing": ["Comparison", "compare"],
    "byoc_lab.lab.diffing": ["Diff", "apply", "diff"],
    "byoc_lab.lab.explaining": [
        "Explanation", "Explanations", "decode", "explain", "explain_patterns",
    ],
    "byoc_lab.lab.linting": ["Finding", "Findings", "Fix", "fix", "lint"],
    "byoc_lab.lab.reducing": ["reduce"],
    "byoc_lab.lab.tracing": ["Trace", "load_trace", "trace"],
    "byoc_lab.lab.view.board": ["board"],
    "byoc_lab.run.build": ["build"],
    "byoc_lab.run.reference": ["evaluate"],
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}


def __getattr__(name: str) -> _Any:
    if name in ("importers", "relax"):
        return _import_module(f"byoc_lab.{name}")
    if name not in _MODULE_OF:
        from byoc_lab.errors import UnknownAttributeError

        raise UnknownAttributeError(
            f"module 'byoc_lab' has no attribute {name!r}", lambda: _where_instead(name)
        )
    return getattr(_import_module(_MODULE_OF[name]), name)


def _where_instead(name: str) -> str:
    """The place of a name that another public module has; for other names the nearest ones."""
    from byoc_lab.errors import nearest

    there = (m.__name__ for m in (backends, passes, relay) if name in dir(m))
    return next((f"it is {module}.{name}" for module in there), nearest(name, __all__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "importers", "relax"})
