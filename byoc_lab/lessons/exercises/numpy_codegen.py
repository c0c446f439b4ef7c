"""The exercise on a code generator in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tools import numbers
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

OPERATORS = ("add", "subtract", "multiply", "nn.relu", "tanh")
SHAPE = (2, 3)


class NumpyCodegen(Exercise):
    """A region becomes a Python function of arrays: the simplest code generator.

    The regions are random graphs with shared values, constant operands, and subtract, whose
    operands must be in order.
    """

    name = "numpy-codegen"
    title = "A code generator in NumPy"
    minutes = 20
    statement = """\
Write `answer(function)`. It gets the function of a region, of `add`, `subtract`, `multiply`,
`nn.relu` and `tanh`, with parameters and constants as operands. It returns a Python function that
takes the parameters as NumPy arrays, in their order, and returns the result as an array of float32.
It is called more than once, and must not change its inputs. This is what
`byoc_lab.backends.PythonRegion` takes.
"""
    stub = """\
import numpy as np
from byoc_lab.relay import Call, Constant, Var
from byoc_lab.relay.ir.visit import post_order


def answer(function):
    def run(*arrays):
        return arrays[0]

    return run
"""
    shown = "function, arrays = task.start()\nprint(function)"
    mistakes = {
        "numbers": "Your function computes different results. Which operators have an order of "
        "operands, and does each call get the values of its operands, unchanged by another call?",
        "not-array": "The result is one NumPy array: the value of the function's body itself.",
        "shape": "The result has another shape: is it the value of the function's body?",
        "dtype": "The result has another dtype: an array or number of float64 widens float32.",
        "second-call": "Your function is right if it is called once. What does it keep from one "
        "call to the next?",
        "changed-input": "Your function writes into an array that it was given (out=, +=).",
        "not-callable": "answer(function) returns a function over arrays: not its result, and not "
        "an object that holds the function.",
        "kind": "The answer is a function that gets the region's function.",
        "unhandled": "An operator or a kind of operand is not handled: print(function) shows them.",
        "none": "Your function returns None for some region.",
    }
    errors = {r"^KeyError|^\w*AttributeError": "unhandled"}
    hints = (
        "post_order(function.body) gives each node after its operands: keep the array of each in a "
        "dict.",
        "There are three kinds of nodes that have arrays: parameters, constants, calls. Two calls "
        "may use one value; compute it once.",
    )
    only_functions = True

    def function(self, seed: int) -> Function:
        """A random region of a seed."""
        random = np.random.RandomState(seed)
        params = [relay.var(f"p{n}", shape=SHAPE) for n in range(2 + seed % 2)]
        values: list[relay.Expr] = [*params, numbers(random, *SHAPE)]
        shared = relay.subtract(params[0], params[1])  # of both signs, used before and after relu
        out = relay.subtract(values[-1], relay.add(relay.nn.relu(shared), shared))
        for _ in range(6):
            name = OPERATORS[int(random.randint(len(OPERATORS)))]
            builder = relay.nn.relu if name == "nn.relu" else getattr(relay, name)
            other = values[int(random.randint(len(values)))]
            values.append(out)
            out = builder(out) if name in ("nn.relu", "tanh") else builder(other, out)
        out = relay.subtract(out, params[1])
        typed = infer_module(IRModule.from_expr(Function(params, out)))["main"]
        assert isinstance(typed, Function)
        return typed

    def arrays(self, seed: int) -> list[np.ndarray]:
        """The inputs of a seed."""
        random = np.random.RandomState(seed + 1)
        params = self.function(seed).params
        return [random.uniform(-1, 1, SHAPE).astype("float32") for _ in params]

    def question(self, seed: int = 0) -> list[Any]:
        return [self.function(seed), self.arrays(seed)]

    def respond(self, answer: Any, question: Any) -> Any:
        function, arrays = question
        run = answer(function)
        if not self.is_function(run):
            return type(run).__name__
        given, others = [array.copy() for array in arrays], [-array for array in arrays]
        return [run(*given), given, run(*others), answer(function)(*others)]

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        function, arrays = self.question(seed)
        mod = IRModule.from_expr(function)
        if not isinstance(reply, (list, tuple)) or len(reply) != 4:
            found = reply if isinstance(reply, str) else type(reply).__name__
            return Mistake("not-callable", f"expected a function over arrays, found {found}", mod)
        found, given, again, alone = reply
        if not isinstance(given, (list, tuple)) or not all(
            np.array_equal(a, b) for a, b in zip(given, arrays, strict=True)
        ):
            return Mistake("changed-input", "an input has other values after the call", mod)
        others = [-array for array in arrays]
        if (mistake := _wrong(found, arrays, mod) or _wrong(alone, others, mod)) is not None:
            return mistake
        if _wrong(again, others, mod) is not None:
            return Mistake("second-call", "the second call of one function is wrong", mod)
        return None


def _wrong(found: Any, arrays: list[np.ndarray], mod: IRModule) -> Mistake | None:
    """The mistake in the result of one call."""
    if found is None:
        return Mistake("none", "the function returned None", mod)
    if not isinstance(found, np.ndarray):
        return Mistake("not-array", f"expected an array, found {type(found).__name__}", mod)
    if found.shape != SHAPE:
        return Mistake("shape", f"expected an array of shape {SHAPE}, found {found.shape}", mod)
    if found.dtype != np.float32:
        return Mistake("dtype", f"expected float32, found {found.dtype}", mod)
    wanted = evaluate(infer_module(mod), arrays, dtype="float64").value
    message = structure.differences(found, wanted, 1e-4)
    return Mistake("numbers", message, mod) if message else None
