"""Runs every tool on a text: `examine` returns, or raises if the product has a fault."""

from __future__ import annotations

import inspect
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

import byoc_lab
from byoc_lab import passes, relay
from byoc_lab.backends.dnnl import patterns
from byoc_lab.compat import passes as compat_passes
from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.reference import evaluate

SECONDS = 20.0  # seconds of CPU time per text; the slowest valid text takes less than one
MAX_NUMBERS = 100_000  # elements of one tensor in a module that is evaluated

# Passes that cannot be created, or do nothing, without arguments.
ARGUMENTS: dict[str, Callable[[], Any]] = {
    "MergeComposite": lambda: passes.MergeComposite(patterns.pattern_table()),
    "ConvertLayout": lambda: passes.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}),
    "InlineRegions": lambda: passes.InlineRegions("dnnl", lambda function: "must go"),
    "AnnotateTarget": lambda: passes.AnnotateTarget(["dnnl"]),
    "EtaExpand": lambda: compat_passes.EtaExpand(expand_constructor=True, expand_global_var=True),
    "SimplifyFCTranspose": lambda: compat_passes.SimplifyFCTranspose(["w", "weight", "fc_weight"]),
}
LEFT_OUT = {"PrintIR"}  # writes to the terminal; tests of `astext` cover its text


class TookTooLong(Exception):
    """The tools took longer for a text than the limit."""


def all_passes() -> dict[str, Any]:
    """One instance of each pass.

    Raises KeyError for a pass that needs arguments and is missing in `ARGUMENTS`.
    """
    found = {}
    for name, cls in {**passes.PASSES, **compat_passes.PASSES}.items():
        needs = [
            p.name
            for p in inspect.signature(cls).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        if needs and name not in ARGUMENTS:
            raise KeyError(f"{name} needs {', '.join(needs)}: say in ARGUMENTS what to run it with")
        if name not in LEFT_OUT:
            found[name] = ARGUMENTS[name]() if name in ARGUMENTS else passes.make_pass(name)
    found["PartitionGraph of 2020"] = passes.PartitionGraph(era="2020-01")
    return found


def examine(text: str) -> int:
    """Parses a text and runs all tools on the module; returns the number of successful steps.

    Raises any error except ByocLabError, and TookTooLong.
    """
    steps = Steps()
    with limited():
        untyped = steps.do(relay.parse, text, infer=False)
        if untyped is not None:
            _look_at(untyped, steps)
        typed = steps.do(relay.parse, text)
        if typed is not None:
            _look_at(typed, steps)
            _run(typed, steps)
            _transform(typed, steps)
    return steps.done


class Steps:
    """Counts executed steps and successful ones."""

    def __init__(self) -> None:
        self.done = 0

    def do(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """The result, or None after a ByocLabError, which must have a printable message."""
        try:
            result = function(*args, **options)
        except ByocLabError as error:
            str(error)
            return None
        self.done += 1
        return result


def _look_at(mod: relay.IRModule, steps: Steps) -> None:
    """Prints the module, parses the text again, lints and analyses it."""
    for style in ("0.0.5", "0.7", "0.0.4"):
        steps.do(mod.astext, show_meta_data=False, style=style)
    text = steps.do(mod.astext)
    again = steps.do(relay.parse, text, infer=False) if text is not None else None
    if again is not None:
        relay.structural_hash(again)
        relay.structural_equal(again, mod)
    findings = steps.do(byoc_lab.lint, mod)
    if findings is not None:
        str(findings)
    for func in mod.functions.values():
        relay.analysis.well_formed(func)
        relay.analysis.free_vars(func)


def _transform(mod: relay.IRModule, steps: Steps) -> None:
    """Runs every pass alone, and the pipelines, and inspects the results."""
    for one in all_passes().values():
        after = steps.do(one, mod)
        if after is not None and after is not mod:
            steps.do(relay.transform.InferType(), after)
            str(byoc_lab.diff(mod, after).summary)
            steps.do(after.astext)
            str(steps.do(byoc_lab.lint, after))
    for name in passes.pipeline_names():
        trace = steps.do(byoc_lab.trace, mod, pipeline=name)
        if trace is not None:
            str(trace)


def _run(mod: relay.IRModule, steps: Steps) -> None:
    """Evaluates the module with the NumPy reference, unless that needs much memory."""
    if "main" not in mod:
        return
    inputs = {}
    for func in mod.functions.values():
        for node in post_order(func):
            shape = getattr(getattr(node, "_checked_type", None), "shape", ())
            if prod(d if isinstance(d, int) else 1 for d in shape) > MAX_NUMBERS:
                return
    for param in mod["main"].params:
        ty = param.checked_type
        if not isinstance(ty, relay.TensorType) or not ty.is_static:
            return
        try:
            inputs[param.name_hint] = np.ones(ty.concrete_shape, ty.dtype)
        except TypeError:  # bfloat16 and similar dtypes
            return
    steps.do(evaluate, mod, inputs)


@contextmanager
def limited() -> Iterator[None]:
    """Applies the time limit to one input, and hides warnings."""
    with time_limit(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TookTooLong in code that runs longer; without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TookTooLong(f"{seconds:g} s were not enough")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
