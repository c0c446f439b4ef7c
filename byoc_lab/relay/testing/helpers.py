"""Helpers that run a pass on an expression. Source: `tvm.relay.testing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.prelude import Prelude
from byoc_lab.relay.typing.infer import infer_module


def run_infer_type(expr: Expr) -> Any:
    """`expr` with types. Raises TypeInferenceError."""
    return run_opt_pass(expr, infer_module)


def run_opt_pass(
    expr: Expr, opt_pass: Callable[[IRModule], IRModule], import_prelude: bool = False
) -> Any:
    """The result of `opt_pass` for `expr`: a function for a function, else an expression.

    The pass runs on a typed module with `expr` in @main, its free variables as parameters, and
    with `import_prelude` the functions of the `Prelude`. Raises TypeInferenceError, and what the
    pass raises.
    """
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    made = opt_pass(infer_module(mod))["main"]
    return made if isinstance(expr, Function) else made.body
