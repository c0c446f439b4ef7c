"""Other right answers to "write-a-predicate"."""

from __future__ import annotations

import numpy as np

from byoc_lab.backends import Refused


def in_a_sentence(call):
    dtype = str(call.args[0].checked_type.dtype)
    if dtype != "float32":
        return Refused(f"the library computes float32, this conv2d computes {dtype}")
    if call.attrs.groups > 1:
        return Refused(f"conv2d with {call.attrs.groups} groups is not supported")
    height, width = map(int, call.attrs.dilation)
    if (height, width) != (1, 1):
        return Refused(f"Dilation of {height}x{width}: the library needs 1x1")
    return True


def from_a_table(call):
    found = {
        "groups": (call.attrs["groups"], 1),
        "dilation": (tuple(call.attrs["dilation"]), (1, 1)),
        "dtype": (call.checked_type.dtype, "float32"),
    }
    for name, (value, wanted) in found.items():
        if value != wanted:
            return Refused(f"{name} is {value}, must be {wanted}")
    return True


def in_one_expression(call):
    a, dtype = call.attrs, call.args[1].checked_type.dtype
    return (
        Refused(f"groups = {a.groups}")
        if a.groups != 1
        else Refused(f"dilation {a.dilation[0]}, {a.dilation[1]}")
        if max(a.dilation) > 1
        else dtype == "float32" or Refused(reason=f"dtype={dtype}")
    )


def with_numpy(call):
    if call.attrs.groups > 1:
        return Refused(f"groups={call.attrs.groups}")
    if not np.all(np.array(call.attrs.dilation) == 1):
        return Refused(f"dilation={np.array(call.attrs.dilation)}")
    return call.args[0].checked_type.dtype == np.dtype("float32") or Refused("float64")


RIGHT = (with_numpy, in_a_sentence, from_a_table, in_one_expression)
