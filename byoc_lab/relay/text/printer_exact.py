"""Text in the forms that TVM 0.16's parser accepts; TVM's printer also writes other forms.

TVM's printer writes 6 digits of a number, quotes in strings as `\\"` (which TVM's parser does not
unescape), and names of variables unchanged. Text that must be parsed again avoids these forms:
numbers get as many digits as needed, and values without a text form are put into the metadata.

Source: the tokenizer of TVM 0.16, by experiment.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from byoc_lab.relay.ir.types import FuncType, RefType, Type, parts_of
from byoc_lab.relay.text.lexer import KEYWORDS

_STRING = re.compile(r"[ !#-\[\]-~]*")  # matches strings that need no escapes
_NAME = re.compile(r"[A-Za-z_]\w*(?:/\w+)*", re.ASCII)
_NO_NAME = re.compile(r"\W", re.ASCII)
MAX_FLOAT32 = float(np.finfo(np.float32).max)


def scalar(value: Any, suffix: str) -> str | None:
    """The text of a NumPy scalar that is parsed as exactly that value; None if no text is."""
    if value.dtype.kind == "i":
        return None if value == -(2**63) else f"{value}{suffix}"
    if not math.isfinite(value):
        # TVM parses infinity as float32 only, and NaN not at all.
        is_read = value.dtype == np.float32 and not math.isnan(value)
        return f"{value:g}{suffix}" if is_read else None
    # TVM parses a double, which must lie in the range of the dtype: 3.4028235e+38 exceeds float32.
    largest = float(np.finfo(value.dtype).max)
    for text in (f"{value:g}", str(value), repr(float(value))):
        read = float(text)
        if abs(read) <= largest and _is_normal(read) and value.dtype.type(read) == value:
            return text + suffix
    return None


def number(value: float) -> str | None:
    """The exact text of a float attribute; every value but NaN is parsed as a double."""
    if math.isnan(value) or not _is_normal(value):
        return None
    text = f"{value:g}"
    is_float32 = abs(value) <= MAX_FLOAT32 or math.isinf(value)
    return (text if float(text) == value else repr(value)) + ("f" if is_float32 else "f64")


def _is_normal(value: float) -> bool:
    """Whether TVM's parser accepts the digits of a double: it rejects denormals."""
    return value == 0 or abs(value) >= 2.2250738585072014e-308


def is_plain(text: str) -> bool:
    """Whether a string can be written between quotes without escapes."""
    return _STRING.fullmatch(text) is not None


def name(hint: str) -> str:
    """`hint` if the parser accepts it as a name, else a similar name that it accepts."""
    if _NAME.fullmatch(hint):
        return hint + "_" if hint in KEYWORDS else hint
    similar = _NO_NAME.sub("_", hint)
    return similar if _NAME.fullmatch(similar) else "_" + similar


def has_readable_type(ty: Type) -> bool:
    """Whether a type can be parsed: TVM's parser supports neither references nor generic
    functions."""
    if isinstance(ty, RefType) or (isinstance(ty, FuncType) and ty.type_params):
        return False
    return all(map(has_readable_type, parts_of(ty)))
