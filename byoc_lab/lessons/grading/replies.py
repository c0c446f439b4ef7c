"""Replies of answers as JSON: data that another process can judge, without any code."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.json.reader import read_node_json
from byoc_lab.relay.text.json.writer import write_node_json

MAX_DEPTH = 20


class ReplyError(ByocLabError, ValueError):
    """A reply cannot be read: it is not JSON that `encode` writes."""


def encode(value: Any, depth: int = 0) -> Any:
    """JSON for a reply. A value that JSON cannot represent is replaced by the name of its type: it
    is not a valid answer."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return {"float": repr(float(value))}
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": data, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return {"list": [encode(each, depth + 1) for each in value]}
    if isinstance(value, (IRModule, Expr)):
        return {"relay": write_node_json(value)}
    return {"other": type(value).__name__}


def decode(data: Any, depth: int = 0) -> Any:
    """The reply that was given to `encode`. Raises ReplyError for other data."""
    if data is None or isinstance(data, (bool, int, str)):
        return data
    try:
        if depth > MAX_DEPTH or not isinstance(data, dict):
            raise ValueError("a list in a list, too deep")
        if "float" in data:
            return float(data["float"])
        if "array" in data:
            numbers = np.frombuffer(base64.b64decode(data["array"]), np.dtype(data["dtype"]))
            return numbers.reshape(data["shape"])
        if "list" in data:
            return [decode(each, depth + 1) for each in data["list"]]
        if "relay" in data:
            return read_node_json(data["relay"])
        return Other(str(data["other"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplyError(f"the reply cannot be read: {error}") from error


class Other:
    """A value that is not an answer; its class has the name of the value's type."""

    def __new__(cls, name: str) -> Any:
        return object.__new__(type(name[:80] or "unknown", (Other,), {}))

    def __init__(self, name: str):
        self.name = name
