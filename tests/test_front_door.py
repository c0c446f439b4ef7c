"""Wrong arguments of every function in `byoc_lab.__all__` raise a ByocLabError with advice."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, ByocLabError, InputError, PassError
from byoc_lab.relay import IRModule

X = relay.var("x", shape=(2, 2))
FUNCTION = relay.Function([X], relay.nn.relu(X))
MODULE = IRModule.from_expr(FUNCTION)
ARRAY = np.ones((2, 2), "float32")
TRACE = byoc_lab.trace(MODULE, ["InferType"])
SAVED = TRACE.save(Path(tempfile.mkdtemp()) / "trace")

# Valid arguments of each function; the test replaces each of them by each of WRONG.
GOOD: dict[str, dict[str, Any]] = {
    "apply": {"diff": byoc_lab.diff(MODULE, MODULE), "mod": MODULE},
    "assert_structural_equal": {"lhs": MODULE, "rhs": MODULE},
    "bisect": {"mod": MODULE, "pipeline": "dnnl", "inputs": [ARRAY], "era": None, "folder": None},
    "build": {"mod": MODULE, "params": None, "target": "llvm", "backends": None},
    "compare": {"first": TRACE, "second": TRACE},
    "coverage": {"mod": MODULE, "backend": "dnnl", "pipeline": None},
    "decode": {"text": "Segmentation fault", "mod": None},
    "diff": {"before": MODULE, "after": MODULE},
    "explain": {"mod": MODULE, "target": "dnnl", "call": None, "pipeline": None},
    "explain_patterns": {"table": "dnnl", "modules": MODULE},
    "evaluate": {"program": MODULE, "inputs": [ARRAY], "dtype": None},
    "fix": {"mod": MODULE},
    "lint": {"mod": MODULE, "rules": None},
    "load_trace": {"path": SAVED},
    "many": {
        "function": "validate", "models": [MODULE], "backends": ["dnnl"], "seeds": [0],
        "executor": None, "time_limit": 9.0, "imports": [],
    },
    "reduce": {"mod": MODULE, "predicate": "not-offloaded:nn.relu on ccompiler", "budget": 3},
    "structural_equal": {"lhs": MODULE, "rhs": MODULE},
    "trace": {"mod": MODULE, "pipeline": "dnnl", "era": None, "opt_level": None},
    "board": {"mod": MODULE},
    "validate": {"before": MODULE, "after": MODULE, "inputs": [ARRAY]},
    "Sequential": {"passes": [], "required": None},
    "PassContext": {
        "opt_level": 3, "required_pass": None, "disabled_pass": None, "instruments": None,
        "config": None,
    },
}  # fmt: skip
WRONG: dict[str, Any] = {
    "none": None,
    "word": "something",
    "number": 3,
    "function": FUNCTION,
    "functions": [FUNCTION],
    "list of none": [None],
    "tuple": (1, 2),
    "module": MODULE,
    "array": ARRAY,
    "dict": {},
    "constant": relay.const(1.0),
    "object": object(),
    "callable": len,
    "class": byoc_lab.transform.InferType,
    "call": relay.nn.relu(relay.var("z")),
}
# Classes of results, which users do not call.
RESULTS = {
    "Comparison", "Diff", "Explanation", "Explanations", "Finding", "Findings", "Fix", "IRModule",
    "Trace",
}  # fmt: skip


def test_every_public_function_is_covered() -> None:
    functions = {n for n in byoc_lab.__all__ if callable(getattr(byoc_lab, n))}
    assert functions - RESULTS == set(GOOD)


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, p) for name, good in GOOD.items() for p in good]
)
def test_wrong_arguments_raise_a_byoc_lab_error(name: str, parameter: str) -> None:
    function = getattr(byoc_lab, name)
    assert parameter in inspect.signature(function).parameters
    others: dict[str, str] = {}
    for wrong, value in WRONG.items():
        try:
            function(**{**GOOD[name], parameter: value})
        except ByocLabError as error:
            assert len(str(error)) > 20, wrong
        except ImportError:
            pytest.skip("needs apache-tvm")
        except Exception as error:
            others[wrong] = repr(error)
    assert others == {}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: byoc_lab.build(FUNCTION), ArgumentError, r"build expects an IRModule, found Func"),
        (lambda: byoc_lab.trace(FUNCTION), PassError, r"IRModule\.from_expr\(\.\.\.\) creates one"),
        (lambda: byoc_lab.apply(MODULE, MODULE), ArgumentError, "apply takes a Diff and a module"),
        (lambda: byoc_lab.diff(MODULE, None), PassError, "diff takes two modules or functions"),
        (lambda: byoc_lab.compare(TRACE, MODULE), ArgumentError, "takes two traces, found IR"),
        (lambda: byoc_lab.lint(MODULE, rules=3), ArgumentError, "rules must be a list of codes"),
        (lambda: byoc_lab.lint(None), PassError, "lint expects an IRModule or a Function"),
        (lambda: byoc_lab.evaluate(None), ArgumentError, "evaluate takes a module, a function"),
        (
            lambda: byoc_lab.evaluate(MODULE, ARRAY), InputError,
            r"must be a list or a dict of arrays, found one array of shape \(2, 2\); write \[x\]",
        ),
        (lambda: byoc_lab.evaluate(MODULE, None), InputError, "must be a list or a dict of arrays"),
        (
            lambda: byoc_lab.validate(MODULE, MODULE, ARRAY), InputError,
            r"found one array of shape \(2, 2\); write \[x\]",
        ),
        (lambda: byoc_lab.validate(MODULE, 3, [ARRAY]), ArgumentError, "expects an IRModule"),
        (
            lambda: byoc_lab.PassContext(3, disabled_pass="FoldConstant"), ByocLabError,
            "disabled_pass must be a list of names of passes, found str",
        ),
        (
            lambda: byoc_lab.Sequential(["InferType"]), ArgumentError,
            "a Sequential is made of passes, found 'InferType' at position 0",
        ),
    ],
)  # fmt: skip
def test_error_says_how_to_continue(call: Any, error: type[ByocLabError], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_single_rule_needs_no_list() -> None:
    assert not byoc_lab.lint(MODULE, rules="BYL001")


def test_programs_refuse_a_single_array_as_inputs() -> None:
    pytest.importorskip("tvm")
    program = byoc_lab.build(MODULE)
    with pytest.raises(InputError, match=r"found one array of shape \(2, 2\); write \[x\]"):
        program.run(ARRAY)
    with pytest.raises(ArgumentError, match=r"validate\(module, executable, inputs\)"):
        byoc_lab.validate(program, MODULE, [ARRAY])  # type: ignore[arg-type]
    assert byoc_lab.validate(MODULE, program, [ARRAY]).ok
