"""Dimensions of tensors: numbers, `?`, and symbolic dimensions such as `n` and `2*n + 1`."""

from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.ir.dims.symbolic import (
    COMPUTED,
    Dim,
    Rounded,
    SizeName,
    Symbolic,
    as_dim,
    computed,
    declare,
    longest,
    named,
    shortest,
    symbol,
)
from byoc_lab.relay.ir.dims.unknown import Any, UndecidedError, Unknown

__all__ = [
    "COMPUTED", "Any", "Dim", "IntImm", "Rounded", "SizeName", "Symbolic", "UndecidedError",
    "Unknown", "as_dim", "computed", "declare", "longest", "named", "shortest", "symbol",
]  # fmt: skip
