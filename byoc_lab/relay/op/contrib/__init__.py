"""What external compilers ("bring your own codegen") register: tables of fusable patterns."""

from byoc_lab.relay.op.contrib.register import (
    get_pattern_table,
    pattern_table_names,
    register_pattern_table,
)

__all__ = ["get_pattern_table", "pattern_table_names", "register_pattern_table"]
