"""`relay.qnn.op.requantize_config(rounding="TONEAREST", compute_dtype="float32")`: in a `with`
statement, sets how requantize operators with attributes "None" are computed and lowered.

Source: python/tvm/relay/qnn/op/qnn.py, src/relay/qnn/op/requantize_config.h of TVM 0.16.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

from byoc_lab.errors import InputError

ROUNDINGS = UPWARD, TONEAREST = ("UPWARD", "TONEAREST")
TOEVEN = "TOEVEN"
"""The rounding of halves to even, as in ONNX and PyTorch. TVM lacks it, and no configuration can
make it the default of operators that do not specify a rounding."""
COMPUTE_DTYPES = ("int64", "float32", "float64")


class RequantizeConfig:
    """The rounding and compute_dtype of requantize operators that do not specify them.

    Raises InputError for an unknown value.
    """

    def __init__(self, rounding: str = "UPWARD", compute_dtype: str = "int64"):
        for name, value, choices in (
            ("rounding", rounding, ROUNDINGS),
            ("compute_dtype", compute_dtype, COMPUTE_DTYPES),
        ):
            if value not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
        self.rounding, self.compute_dtype = rounding, compute_dtype
        self._tokens: list[Token[RequantizeConfig]] = []

    def __enter__(self) -> RequantizeConfig:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return (
            f"requantize_config(rounding={self.rounding!r}, compute_dtype={self.compute_dtype!r})"
        )


_current: ContextVar[RequantizeConfig] = ContextVar("byoc_lab_requantize_config")


def requantize_config(rounding: str = "UPWARD", compute_dtype: str = "int64") -> RequantizeConfig:
    """A configuration for a `with` statement; see RequantizeConfig."""
    return RequantizeConfig(rounding, compute_dtype)


def current_requantize_config() -> RequantizeConfig:
    """The innermost active configuration, or the default one."""
    return _current.get(None) or RequantizeConfig()


def settled(rounding: str, compute_dtype: str) -> tuple[str, str]:
    """Rounding and compute_dtype of an operator, with "None" replaced by the value of the current
    configuration."""
    config = current_requantize_config()
    return (
        config.rounding if rounding == "None" else rounding,
        config.compute_dtype if compute_dtype == "None" else compute_dtype,
    )
