"""Compares a module of byoc_lab with a text of TVM: equal structure, nearly equal constants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.compat import tvm
from byoc_lab.errors import (
    ByocLabError,
    FreeVariableError,
    ParseError,
    PartitionError,
    PassError,
    TypeInferenceError,
)
from byoc_lab.relay.analysis.structural import first_difference
from byoc_lab.relay.ir.visit import post_order

from . import steps, tables

# NumPy folds constants here, and compiled code in TVM: they agree within a few roundings. A
# scalar in a text has six digits.
RELATIVE, ABSOLUTE = 1e-5, 1e-6

# Passes that correct a fault of TVM 0.16, unless an option disables that.
HAVE_COMPAT = ("AnnotateTarget", "ToGraphNormalForm")

# Prefix of a failure message of TVM -> the error that byoc_lab raises for it.
ERRORS: dict[str, type[ByocLabError]] = {
    "Check failed: fv.size() == 0": FreeVariableError,
    "Check failed: region.defined() == arg_region.defined()": PartitionError,
    "Check failed: region->GetTarget() == target": PartitionError,
    "Check failed: (*it).second == var": PartitionError,
    "Check failed: (ptr != nullptr)": PartitionError,
    "Cannot find the corresponding region for end annotation": PartitionError,
    "annotation.compiler_begin doesn't have an FTVMStrategy registered": PassError,
    "SIGSEGV": PartitionError,
    "The Relay type checker is unable to show": TypeInferenceError,
    "Incompatible broadcast type": TypeInferenceError,
    "Check failed: cgn->GetRefCount() == 0U": PassError,
    "Check failed: (opt_global_symbol.defined())": PassError,
    "Check failed: (dfs.is_subset_of(fs)) is false": PassError,
    "Check failed: (function_node->GetAttr<String>(attr::kComposite).defined())": PassError,
}


@contextmanager
def targets_registered() -> Iterator[None]:
    """Registers the predicates of `tables.py` on byoc_lab's operators; restores the previous
    ones afterwards."""
    earlier = [
        (op, f"target.{target}", op.get_attr(f"target.{target}"))
        for op in map(relay.op.get, relay.Op.list_op_names())
        for target in tables.TARGET_OPS
    ]
    tables.register_targets(tvm)
    try:
        yield
    finally:
        for op, key, predicate in earlier:
            op.reset_attr(key)
            if predicate is not None:
                op.set_attr(key, predicate)


def run(step: Any, mod: tvm.IRModule) -> tvm.IRModule:
    """The result of `step` on `mod` in byoc_lab, with the faults of TVM 0.16."""
    name = step.get("pass") if isinstance(step, dict) else step
    if name in HAVE_COMPAT:
        step = {**(step if isinstance(step, dict) else {"pass": step}), "era": "0.16"}
    return steps.apply(step, mod, tvm, relay)


def missing(wanted: list[Any]) -> str | None:
    """The first of TVM's passes in `wanted` that byoc_lab lacks, or None."""
    for step in wanted:
        arguments = step if isinstance(step, dict) else {"pass": step}
        for name in arguments.get("sequential", [arguments.get("pass")]):
            if name not in (None, "drop_let_begins") and steps.transform_of(name, relay) is None:
                return name
    return None


def expected_error(message: str) -> type[ByocLabError]:
    """The type of byoc_lab's error for a failure of TVM.

    Raises KeyError for an unknown one.
    """
    for beginning, error in ERRORS.items():
        if message.startswith(beginning):
            return error
    raise KeyError(f"compare.ERRORS knows no failure of TVM that begins with {message[:80]!r}")


def difference(ours: tvm.IRModule, text: str) -> str | None:
    """The first difference between `ours` and the module in `text`, or None.

    InferType runs on both first, because some passes leave types to the next pass. Constants are
    compared by type and, if the text has their values, by value.
    """
    theirs = relay.transform.InferType()(relay.parse(text))
    ours = relay.transform.InferType()(ours)
    found = first_difference(ours, theirs, constants=False)
    if found is not None:
        return str(found)
    if "meta[relay.Constant]" in text and "#[metadata]" not in text:
        return None
    return _values(ours, theirs)


def is_misplaced_value(text: str, error: ParseError) -> bool:
    """Whether a text of TVM cannot be read because of a fault of its printer.

    TVM prints a captured value at its first use, inside the closure's block. If the block is
    printed later than other users of the value, these users mention a `%N` that is defined below
    them. (byoc_lab prints the closure first.)
    """
    wanted = re.search(r": (%\d+) is not defined", str(error))
    if wanted is None:
        return False
    use = re.search(rf"{wanted[1]}\b(?! =)", text)
    home = re.search(rf"^   +{wanted[1]} = ", text, re.MULTILINE)  # inside a block
    return bool(use and home and home.start() > use.start())


def _values(ours: tvm.IRModule, theirs: tvm.IRModule) -> str | None:
    """The first constant with different values, in two modules of equal structure."""
    for name in (gv.name_hint for gv in ours.get_global_vars()):
        pairs = zip(_constants(ours[name]), _constants(theirs[name]), strict=True)
        for index, (mine, other) in enumerate(pairs):
            if not np.allclose(mine, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
                worst = np.max(np.abs(mine.astype("float64") - other.astype("float64")))
                return f"constant {index} of @{name}, {mine.shape}: values differ by up to {worst}"
    return None


def _constants(function: relay.Function) -> list[np.ndarray]:
    """The constants of a function, once for each use.

    Projections are omitted: of two modules with equal structure, one may share them and the other
    not.
    """
    return [
        part.data.numpy()
        for node in post_order(function)
        if not isinstance(node, relay.TupleGetItem)
        for part in node.parts()
        if isinstance(part, relay.Constant)
    ]
