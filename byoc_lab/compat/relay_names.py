"""Names of `tvm.relay` that byoc_lab.relay has no use for itself."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.params import load_param_dict, save_param_dict
from byoc_lab.passes import PassContext
from byoc_lab.relay.printer import print_text

build_config = PassContext


def astext(expr: Any, unified_symbols: bool = True, annotate: Any = None) -> str:
    """A module or expression as text, metadata included."""
    return print_text(expr, annotate=annotate)


def pretty_print(obj: Any) -> str:
    """A module or expression as text, without metadata."""
    return print_text(obj, show_meta_data=False)


__all__ = ["astext", "build_config", "load_param_dict", "pretty_print", "save_param_dict"]
