"""The exercise on a kernel in C."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.backends.system_compiler import compiler_command
from byoc_lab.containment import children
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.needs import C_COMPILER
from byoc_lab.lessons.verdict import Mistake

GUARD = 64  # floats after the result, which the kernel must not change
SECONDS = 2.0  # seconds of processor time for the kernel alone
ASLEEP = 120.0  # seconds until a process that uses no processor time is stopped

# The kernel runs in a separate process, so a crash only loses the answer.
RUN = """
import ctypes, signal, sys
import numpy as np
folder = sys.argv[1]
given = np.load(folder + "/given.npz")
x, bias, out = (np.ascontiguousarray(given[name]) for name in ("x", "bias", "out"))
kernel = ctypes.CDLL(folder + "/kernel.so").bias_relu
kernel.restype = None
pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, bias, out)]
timer = getattr(signal, "setitimer", lambda kind, seconds: None)  # Windows has none
kind = getattr(signal, "ITIMER_PROF", None)
timer(kind, float(sys.argv[2]))
kernel(*pointers, ctypes.c_int(bias.size), ctypes.c_int(x.size // bias.size))
timer(kind, 0)
np.save(folder + "/out.npy", out)
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
        "timed-out": "The kernel does not end. Does each loop change what its condition tests?",
        "unwritten": "Some numbers of out are never written: how many are there in all?",
        "past-end": "The kernel writes past the end of out. There are channels * pixels numbers.",
        "no-relu": "The sum is right, and negative numbers remain negative.",
        "bias": "Each channel has one bias; which index has the channel of number i?",
        "kind": "The answer is a str with the text of a C file.",
        "no-symbol": "The library has no function of this name: is it spelled as in the statement?",
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
        out = np.full(x.size + GUARD, np.nan, "float32")
        out[x.size :] = 7
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "kernel.c").write_text(text, encoding="utf-8")
            np.savez(path / "given.npz", x=x, bias=bias, out=out)
            return _run(compiler_command(), path)

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, (list, tuple)) or len(reply) != 2:
            return Mistake("kind", f"expected a text in C, found {type(reply).__name__}")
        status, found = reply
        if status != "ran":
            return Mistake(str(status), str(found)[:2000])
        x, bias = self.question(seed)
        if not isinstance(found, np.ndarray) or found.shape != (x.size + GUARD,):
            return Mistake("kind", "the kernel gave no array")
        if not np.array_equal(found[x.size :], np.full(GUARD, 7, "float32")):
            return Mistake("past-end", "numbers after the end of out were overwritten")
        result, total = found[: x.size].reshape(x.shape), x + bias[:, None]
        if np.isnan(result).any():
            return Mistake("unwritten", f"{int(np.isnan(result).sum())} numbers were not written")
        message = structure.differences(result, np.maximum(total, 0))
        if not message:
            return None
        return Mistake("no-relu" if np.allclose(result, total) else "bias", message)


def _run(compiler: list[str], folder: Path) -> list[Any]:
    """Compile and run the kernel of a folder; return its outcome, and its result or a message."""
    flags = ["-O1", "-shared", "-fPIC", "-o", "kernel.so", "kernel.c", "-lm"]
    try:
        compiled = children.run([*compiler, *flags], ASLEEP, ASLEEP, cwd=folder)
        if compiled.code != 0:
            return ["no-compile", compiled.errors]
        done = children.run(
            [sys.executable, "-c", RUN, str(folder), str(SECONDS)], ASLEEP, ASLEEP,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    except children.ChildError:
        return ["timed-out", f"the kernel did not end within {ASLEEP:g} seconds"]
    if done.code == -getattr(signal, "SIGPROF", 0):
        return ["timed-out", f"the kernel used more than {SECONDS:g} seconds of processor time"]
    if "AttributeError" in done.errors:
        return ["no-symbol", "the text defines no function bias_relu"]
    if done.code != 0 or not (folder / "out.npy").is_file():
        crashed = f"crashed with {signal.Signals(-done.code).name}"
        ended = f"ended its process with code {done.code}"
        return ["crashed", f"the kernel {crashed if done.code < 0 else ended}"]
    return ["ran", np.load(folder / "out.npy", allow_pickle=False)]
