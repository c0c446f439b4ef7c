"""TVM's names for operators, and (`definitions/`) the operators that only scripts use."""

from byoc_lab.compat.op import definitions, support_levels
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op.framework.namespace import discover

discover(definitions)
Op.support_level = property(support_levels.of)  # type: ignore[attr-defined]
