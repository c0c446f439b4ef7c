"""Models for jobs in other processes: valid ones, and some that crash, hang or raise."""

from __future__ import annotations

import ctypes
import os
from typing import NoReturn

from byoc_lab import relay
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.typing.infer import infer_module


def small() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return infer_module(IRModule.from_expr(Function([x], nn.relu(relay.tanh(x)))))


def chatty() -> IRModule:
    """Writes to the standard output, also without going through Python."""
    print("one line")
    os.system("echo another")
    return small()


def segfaulting() -> NoReturn:
    ctypes.string_at(0)
    raise AssertionError


def hanging() -> NoReturn:
    while True:
        pass


def leaving() -> NoReturn:
    os._exit(3)


def raising() -> NoReturn:
    raise ValueError("no model today")
