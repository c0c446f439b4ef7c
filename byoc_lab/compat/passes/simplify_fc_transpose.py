"""`tvm.relay.data_dep_optimization.simplify_fc_transpose`."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import numpy as np

from byoc_lab.compat.runtime import nd
from byoc_lab.passes.simplify.simplify_fc_transpose import SimplifyFCTranspose, search_fc_transpose
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule


def convert(func: Expr, params: MutableMapping[str, Any]) -> tuple[Expr, MutableMapping[str, Any]]:
    """`func` with weights that are taken transposed, and `params`, changed in place, with them."""
    names = [str(name) for name in search_fc_transpose(func)]
    for name in names:
        weight = params.pop(name)
        params[f"{name}.T"] = nd.array(np.transpose(nd.array(weight).numpy()))
    return SimplifyFCTranspose(names)(IRModule.from_expr(func))["main"], params
