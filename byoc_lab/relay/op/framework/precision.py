"""The category of an operator for ToMixedPrecision.

Source: python/tvm/relay/transform/mixed_precision.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from byoc_lab.relay.ir.expr import Call

Conversion = Callable[[Call, str], "list[int | str]"]


class MixedPrecision(IntEnum):
    """Whether ToMixedPrecision computes an operator in a narrow dtype.

    ALWAYS: it becomes faster, such as convolutions. FOLLOW: it is computed in the dtype of its
    operands. NEVER: it would lose accuracy, such as a sum of many terms or a result much larger
    than the operands.
    """

    ALWAYS = 0
    FOLLOW = 1
    NEVER = 2

    def conversion(self, call: Call, dtype: str) -> list[int | str]:
        """The entry of this category in the form that TVM registers for an operator."""
        return [int(self), dtype, dtype]


ALWAYS, FOLLOW, NEVER = MixedPrecision
