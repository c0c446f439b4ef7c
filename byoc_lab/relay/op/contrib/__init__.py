"""Registration for external compilers ("bring your own codegen"): pattern tables, and optimizers
of the functions partitioned for them."""

from byoc_lab.relay.op.contrib.register import (
    get_optimizer,
    get_pattern_table,
    pattern_table_names,
    register_optimizer,
    register_pattern_table,
)

__all__ = [
    "get_optimizer",
    "get_pattern_table",
    "pattern_table_names",
    "register_optimizer",
    "register_pattern_table",
]
