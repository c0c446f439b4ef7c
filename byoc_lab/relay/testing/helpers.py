"""Helpers that run a pass on an expression. Source: `tvm.relay.testing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module


def run_infer_type(expr: Expr) -> Any:
    """`expr` with types. Raises TypeInferenceError."""
    return run_opt_pass(expr, infer_module)


def run_opt_pass(expr: Expr, opt_pass: Callable[[IRModule], IRModule]) -> Any:
    """The result of `opt_pass` for `expr`: a function for a function, else an expression.

    The pass runs on a typed module with `expr` as @main; its free variables become parameters.
    Raises TypeInferenceError, and the errors of the pass.
    """
    made = opt_pass(infer_module(IRModule.from_expr(expr)))["main"]
    return made if isinstance(expr, Function) else made.body
