"""Functions of Python regions that return anything, raise anything, or end their process."""

from __future__ import annotations

import os
import random as _random
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from byoc_lab import backends, build, relay
from byoc_lab.backends import PythonRegion
from byoc_lab.relay.ir.module import IRModule
from tests.fuzz.examine import Steps, limited

VALUES = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
NAME, SYMBOL = "fuzz_region", "fuzz_region_0"


class _Array:
    """Claims to be an array, but behaves differently."""

    def __init__(self, does: Callable[[], Any]):
        self.does = does

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.does()


class _List(list):
    def __iter__(self) -> Any:
        raise KeyError("no fields")


class _Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


class _Shape(np.ndarray):
    shape = (2, 3)  # type: ignore[assignment]


def _raised(error: BaseException) -> Any:
    raise error


def _deeper(x: Any) -> Any:
    return _deeper(x)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "right": lambda x: x + 1,
    "another order in memory": np.asfortranarray,
    "backwards": lambda x: x[::-1, ::-1],
    "not a number": lambda x: x * np.nan,
    "another shape": lambda x: x[0],
    "another dtype": lambda x: x.astype("float64"),
    "big-endian": lambda x: x.astype(">f4"),
    "objects": lambda x: x.astype(object),
    "fields": lambda x: np.zeros((2, 3), [("a", "f4")]),
    "dates": lambda x: np.zeros((2, 3), "M8[s]"),
    "nothing": lambda x: None,
    "a list of numbers": lambda x: x.tolist(),
    "a ragged list": lambda x: [[1.0], [1.0, 2.0]],
    "too many": lambda x: [x] * 100_000,
    "text": lambda x: "text \ud800",
    "a set": lambda x: {1},
    "a function": lambda x: lambda: x,
    "a generator": lambda x: (row for row in x),
    "a lock": lambda x: threading.Lock(),
    "masked": lambda x: np.ma.masked_array(x, mask=True),
    "huge": lambda x: np.broadcast_to(np.float32(1), (10**6, 10**6)),
    "an array that raises": lambda x: _Array(lambda: 1 / 0),
    "an array that ends the process": lambda x: _Array(lambda: sys.exit(3)),
    "an array of text": lambda x: _Array(lambda: "text"),
    "a list that raises": lambda x: _List([x]),
    "a shape that is not true": lambda x: np.ones((4, 4), np.float32).view(_Shape),
    "division by zero": lambda x: 1 / 0,
    "an error without message": lambda x: _raised(_Silent()),
    "an error that is no text": lambda x: _raised(ValueError("\ud800\x1b[2J\0")),
    "a long error": lambda x: _raised(ValueError("y" * 10**6)),
    "exit": lambda x: sys.exit(3),
    "the end of a generator": lambda x: _raised(GeneratorExit()),
    "no exception": lambda x: _raised(BaseException("base")),
    "no memory": lambda x: _raised(MemoryError()),
    "recursion": _deeper,
}
ENDINGS: dict[str, Callable[[Any], Any]] = {  # only in a separate process
    "abort": lambda x: os.abort(),
    "the end of the process": lambda x: os._exit(9),
    "a signal": lambda x: os.kill(os.getpid(), 9),
    "an endless loop": lambda x: [None for _ in iter(int, 1)],
}


def make(random: _random.Random) -> bytes:
    """Whether the region is isolated, its number of results, and the kind of each result."""
    isolated = random.random() < 0.2
    known = sorted(RESULTS) + (sorted(ENDINGS) if isolated else [])
    results = random.choice([1, 1, 2])
    count = random.choice([results, results, 1, 3])
    names = [random.choice(["right", random.choice(known)]) for _ in range(count)]
    return "\n".join([str(int(isolated)), str(results), *names]).encode()


def examine(data: bytes) -> int:
    isolated, results, *names = data.decode().split("\n")
    functions = [{**RESULTS, **ENDINGS}[name] for name in names]

    def fn(x: Any) -> Any:
        made = [function(x) for function in functions]
        return made[0] if len(made) == 1 else tuple(made)

    def codegen(function: Any, symbol: str) -> PythonRegion:
        return PythonRegion(fn, isolated=isolated == "1", time_limit=0.5)

    steps = Steps()
    with limited():
        backends.register(NAME, supports=["nn.relu"], codegen=codegen)
        try:
            exe = build(_module(int(results)))
            found = steps.do(exe, VALUES)
        finally:
            backends.unregister(NAME)
    if found is not None:
        for array in found:
            assert np.asarray(array).shape == (2, 3) and np.asarray(array).dtype == np.float32
    return steps.done


@cache
def _module(results: int) -> IRModule:
    """A module of one region with the given number of results."""
    y, z = relay.var("y", shape=(2, 3)), relay.var("z", shape=(2, 3))
    body = relay.nn.relu(y) if results == 1 else relay.Tuple([relay.nn.relu(y)] * results)
    attrs = {"Primitive": 1, "Compiler": NAME, "global_symbol": SYMBOL}
    region = relay.GlobalVar(SYMBOL)
    mod = IRModule({region: relay.Function([y], body).with_attr(attrs)})
    mod["main"] = relay.Function([z], region(z))
    return relay.transform.InferType()(mod)
