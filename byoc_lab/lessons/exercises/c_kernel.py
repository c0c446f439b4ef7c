"""The exercise on a kernel in C."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.backends.system_compiler import compiler_command
from byoc_lab.containment import children
from byoc_lab.errors import counted
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.needs import C_COMPILER
from byoc_lab.lessons.verdict import Mistake

GUARD = 64  # at least this many floats around each array, which the kernel must not change
OUTSIDE = 7.0  # their value
BEFORE = (1000.0, 2000.0)  # what out contains before the first and the second run
SECONDS = 2.0  # seconds of processor time for the kernel alone
ASLEEP = 120.0  # seconds until a process that uses no processor time is stopped

# The kernel runs in a separate process, so a crash only loses the answer.
RUN = """
import ctypes, signal, sys
import numpy as np
folder, seconds, *numbers = sys.argv[1:]
*starts, channels, pixels = map(int, numbers)
memory = np.load(folder + "/memory.npy")
kernel = ctypes.CDLL(folder + "/kernel.so").bias_relu
kernel.restype = None
timer = getattr(signal, "setitimer", lambda kind, seconds: None)  # Windows has none
kind = getattr(signal, "ITIMER_PROF", None)
timer(kind, float(seconds))
for run in memory:
    pointers = [ctypes.c_void_p(run[start:].ctypes.data) for start in starts]
    kernel(*pointers, ctypes.c_int(channels), ctypes.c_int(pixels))
timer(kind, 0)
np.save(folder + "/out.npy", memory)
"""


class CKernel(Exercise):
    """A kernel for bias and relu in C, run in a separate process.

    Students learn about layout (channel by channel), bounds, and crashes.
    """

    name = "c-kernel"
    title = "A kernel in C"
    minutes = 20
    needs = C_COMPILER
    statement = """\
Set `answer` to a text in C that defines

    void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels)

`x` and `out` have channels * pixels numbers, channel after channel; `bias` has one number for each
channel. The kernel adds the bias to each number of its channel and writes the result to `out`, or 0
if it is negative.
"""
    stub = '''\
answer = """
void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
}
"""
'''
    mistakes = {
        "no-compile": "The compiler refuses the text: begin with its first message.",
        "crashed": "The kernel crashed: which pointer, with which index, leaves its array?",
        "ended": "A kernel returns to its caller; it does not end the process.",
        "timed-out": "The kernel does not end. Does each loop change what its condition tests?",
        "unwritten": "Some numbers of out are never written: how many are there in all?",
        "reads-out": "The kernel reads a number of out before it has written it.",
        "past-end": "The kernel writes outside of out. There are channels * pixels numbers.",
        "changed-input": "The kernel writes into x or bias; it writes to out alone.",
        "no-relu": "The sum is right, and negative numbers remain negative.",
        "bias": "Each channel has one bias; which index has the channel of number i?",
        "numbers": "Compute one of the wrong numbers by hand: the sum first, then the relu.",
        "kind": "The answer is a str with the text of a C file.",
        "no-symbol": "A function is missing: is it spelled as in the statement, and not static?",
    }
    hints = (
        "There are two loops, over channels and over the pixels of one; the bias changes with "
        "the outer one only.",
        "Number p of channel c is at c * pixels + p.",
    )

    def varies(self, answer: Any) -> bool:
        return True

    def question(self, seed: int = 0) -> list[np.ndarray]:
        random = np.random.RandomState(seed)
        channels, pixels = 2 + seed % 5, 7 + seed % 11
        x = random.uniform(-2, 2, (channels, pixels)).astype("float32")
        return [x, random.uniform(-1, 1, channels).astype("float32")]

    def respond(self, answer: Any, question: Any) -> Any:
        text = answer() if self.is_function(answer) else answer
        if not isinstance(text, str):
            return ["kind", f"expected a text in C, a str, found {type(text).__name__}"]
        x, bias = question
        memory, starts = _memory(x, bias)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "kernel.c").write_text(text, encoding="utf-8")
            np.save(path / "memory.npy", memory)
            return _run(compiler_command(), path, [*starts, bias.size, x.size // bias.size])

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, (list, tuple)) or len(reply) != 2:
            return Mistake("kind", f"expected a text in C, found {type(reply).__name__}")
        status, found = reply
        if status != "ran":
            return Mistake(str(status), str(found)[:2000])
        x, bias = self.question(seed)
        memory, (start_x, start_bias, start) = _memory(x, bias)
        if not isinstance(found, np.ndarray) or found.shape != memory.shape:
            return Mistake("kind", "the kernel gave no array")
        end = start + x.size
        changed = np.flatnonzero((found != memory).any(axis=0))
        for name, first, array in (("x", start_x, x), ("bias", start_bias, bias)):
            if ((changed >= first) & (changed < first + array.size)).any():
                return Mistake("changed-input", f"{name} has other values after the call")
        if (changed < start).any():
            return Mistake("past-end", "numbers before the start of out were overwritten")
        if (changed >= end).any():
            return Mistake("past-end", "numbers after the end of out were overwritten")
        return _compared(found[:, start:end], x, bias)


def _memory(x: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The memory before each run of the kernel, and where x, bias and out start in it."""
    starts, end = [], GUARD
    for size in (x.size, bias.size, x.size):
        starts.append(end)
        end += (size // GUARD + 2) * GUARD
    memory = np.full((len(BEFORE), end), OUTSIDE, "float32")
    for start, values in zip(starts, (x.ravel(), bias), strict=False):
        memory[:, start : start + values.size] = values
    memory[:, starts[-1] : starts[-1] + x.size] = np.array(BEFORE, "float32")[:, None]
    return memory, starts


def _compared(runs: np.ndarray, x: np.ndarray, bias: np.ndarray) -> Mistake | None:
    """The mistake in the results of the two runs, which start from different values of out."""
    left = (runs == np.array(BEFORE, "float32")[:, None]).all(axis=0)
    if not np.array_equal(runs[0][~left], runs[1][~left], equal_nan=True):
        return Mistake("reads-out", "the result depends on the numbers in out before the call")
    if left.any():
        told = counted(int(left.sum()), "number")
        return Mistake("unwritten", f"{told} of out kept the value from before the call")
    result, total = runs[0].reshape(x.shape), x + bias[:, None]
    wanted = np.maximum(total, 0)
    message = structure.differences(result, wanted)
    if not message:
        return None
    if np.allclose(result, total):
        return Mistake("no-relu", message)
    channel, pixel = np.argwhere(~np.isclose(result, wanted, structure.TOLERANCE))[0]
    told = f"{message}; the first wrong number is number {pixel} of channel {channel}"
    others = np.maximum(x[..., None] + [*bias, OUTSIDE], 0)  # OUTSIDE: after the end of bias
    by_another = np.isclose(result[..., None], others).any(axis=-1).all()
    return Mistake("bias" if by_another else "numbers", told)


def _run(compiler: list[str], folder: Path, numbers: list[int]) -> list[Any]:
    """Compile and run the kernel of a folder; return its outcome, and its result or a message."""
    flags = ["-O1", "-shared", "-fPIC", "-o", "kernel.so", "kernel.c", "-lm"]
    try:
        compiled = children.run([*compiler, *flags], ASLEEP, ASLEEP, cwd=folder)
        if compiled.code != 0:
            return ["no-compile", compiled.errors]
        done = children.run(
            [sys.executable, "-c", RUN, str(folder), str(SECONDS), *map(str, numbers)],
            ASLEEP, ASLEEP, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    except children.ChildError:
        return ["timed-out", f"the kernel did not end within {ASLEEP:g} seconds"]
    if done.code == -getattr(signal, "SIGPROF", 0):
        return ["timed-out", f"the kernel used more than {SECONDS:g} seconds of processor time"]
    if missing := re.search(r"^(?:AttributeError|OSError): (.*)", done.errors, re.MULTILINE):
        return ["no-symbol", f"the library misses a function: {missing[1].rpartition('/')[2]}"]
    if done.code < 0:
        return ["crashed", f"the kernel crashed with {signal.Signals(-done.code).name}"]
    if not (folder / "out.npy").is_file():
        return ["ended", f"the kernel ended its process with code {done.code}"]
    return ["ran", np.load(folder / "out.npy", allow_pickle=False)]
