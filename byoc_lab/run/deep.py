"""Runs programs that are recursive or nest many branches: TVM's virtual machine uses stack space
for each call, and each branch is compiled to a call.

Such programs run in a thread with a large stack. Each recursive call first calls a function that
counts the depth, so endless recursion raises an error, as in `run.evaluate`, instead of a crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.errors import EvaluationError
from byoc_lab.run.tvm_runtime import import_tvm, to_device

DEEPER = "byoc_lab.run.deeper"
RECURSIVE = "recursive_1"  # the first recursive function: see `inline`
# Each `if` becomes two functions (see `to_relax`), so this one exists if the program has 200 `if`s,
# which may be nested.
MANY_BRANCHES = "branch_400"
STACK_BYTES = 1 << 30  # address space is reserved; memory is used only as calls get deeper
MAX_DEPTH = 100_000  # each level takes about 5 kB of the stack
TOO_DEEP = (
    f"calls and branches are nested {MAX_DEPTH} deep: endless recursion, or a loop with more "
    "iterations than TVM's virtual machine supports"
)

_lock = threading.Lock()  # `threading.stack_size` is a global setting for all threads started later


def register_deeper() -> str:
    """Register a global TVM function that returns depth + 1 for the call depth (a scalar int64);
    returns its name.

    It raises EvaluationError beyond MAX_DEPTH.
    """
    import_tvm()
    import tvm_ffi

    tvm_ffi.register_global_func(DEEPER, _deeper, override=True)
    return DEEPER


def _deeper(depth: Any) -> Any:
    deep = int(depth.numpy())
    if deep >= MAX_DEPTH:
        raise EvaluationError(TOO_DEEP)
    return to_device(np.array(deep + 1, np.int64))


def needs_depth(module: Any) -> bool:
    """Whether a VM module (`VirtualMachine.module`) may take more stack than threads have."""
    return any(map(module.implements_function, (RECURSIVE, MANY_BRANCHES)))


def run_deep(run: Callable[..., Any], *args: Any) -> Any:
    """`run(*args)` in a thread with a stack for deep recursion. Its exceptions are raised here.

    Raises EvaluationError if there is not enough memory for such a thread.
    """
    ended: dict[str, Any] = {}

    def work() -> None:
        try:
            ended["value"] = run(*args)
        except BaseException as error:
            ended["error"] = error

    thread = threading.Thread(target=work, name="byoc_lab recursion")
    with _lock:
        before = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        except RuntimeError as error:
            raise EvaluationError(
                f"a recursive program needs a thread with {STACK_BYTES >> 20} MB of stack: {error}"
            ) from error
        finally:
            threading.stack_size(before)
    thread.join()
    failure = ended.get("error")
    if isinstance(failure, RuntimeError) and TOO_DEEP in str(failure):
        raise EvaluationError(TOO_DEEP) from failure  # TVM converts it to its own error
    if failure is not None:
        raise failure
    return ended["value"]
