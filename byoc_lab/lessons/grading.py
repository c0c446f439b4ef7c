"""Grading: checks of an answer; each returns messages for the student, none if it passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting import lint
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

Messages = list[str]
RegionShape = tuple[str, tuple[str, ...]]
"""The compiler of a region, and its operators in the order of evaluation."""

TOLERANCE = 1e-9
"""Relative; both sides are computed in float64."""


def wrong_kind(answer: Any) -> Messages:
    """An answer must be a module with a @main."""
    if answer is None:
        return ["expected a module, found None: does your function return its result?"]
    if isinstance(answer, Function):
        return ["expected a module, found a function: IRModule.from_expr(function) makes a module"]
    if not isinstance(answer, IRModule):
        return [f"expected a module (IRModule), found {type(answer).__name__}"]
    if "main" not in answer:
        return ['expected a module with a function "main", found none in it']
    return []


def wrong_types(answer: IRModule) -> Messages:
    """Types must be inferable."""
    try:
        infer_module(answer)
    except ByocLabError as error:
        return [f"the module has no consistent types: {error}"]
    return []


def wrong_network(answer: IRModule, plain: IRModule) -> Messages:
    """Without its annotations an answer must be the plain network."""
    if structural_equal(without_annotations(answer)["main"], plain["main"]):
        return []
    counted = [Counter(_operators(mod["main"])) for mod in (answer, plain)]
    added, lost = counted[0] - counted[1], counted[1] - counted[0]
    changes = [
        f"{what} {', '.join(sorted(ops.elements()))}"
        for what, ops in (("added", added), ("lost", lost))
        if ops
    ]
    return [
        "the network itself has changed, not only its annotations"
        + (f": it has {' and '.join(changes)}" if changes else "")
    ]


def lint_findings(answer: IRModule) -> Messages:
    """The linter must find nothing."""
    return [str(finding) for finding in lint(answer)]


def wrong_regions(answer: IRModule, expected: Iterable[RegionShape]) -> Messages:
    """PartitionGraph must cut out the expected regions, in any order."""
    try:
        partitioned = PartitionGraph()(infer_module(answer))
    except ByocLabError as error:
        return [f"PartitionGraph refuses the module: {error}"]
    found = sorted(
        (str(function.attrs["Compiler"]), tuple(_operators(function)))
        for function in partitioned.functions.values()
        if "Compiler" in function.attrs
    )
    wanted = sorted((compiler, tuple(operators)) for compiler, operators in expected)
    if found == wanted:
        return []
    return [f"expected {_listed(wanted)}; found {_listed(found)}"]


def wrong_numbers(answer: IRModule, plain: IRModule, seed: int = 0) -> Messages:
    """After partitioning an answer must compute what the plain network does."""
    random = np.random.RandomState(seed)
    inputs = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.concrete_shape).astype("float32")
        for p in plain["main"].params
    }
    try:
        partitioned = PartitionGraph()(infer_module(answer))
        found = evaluate(partitioned, inputs, dtype="float64").value
    except ByocLabError as error:
        return [f"the partitioned module cannot be evaluated: {error}"]
    wanted = evaluate(plain, inputs, dtype="float64").value
    if np.shape(found) != np.shape(wanted):
        return [f"expected a result of shape {np.shape(wanted)}, found {np.shape(found)}"]
    if np.allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE):
        return []
    largest = float(np.max(np.abs(np.asarray(found) - np.asarray(wanted))))
    return [
        f"the numbers are wrong: the largest difference from the plain network is {largest:.3g}"
    ]


def without_annotations(mod: IRModule) -> IRModule:
    """The module without its begins and ends, typed again."""

    def remove(pre: Expr, post: Expr) -> Expr:
        return post.args[0] if is_annotation(post) else post

    out = mod.copy()
    for gv, function in mod.functions.items():
        out[gv] = rebuild(function, remove)
    return infer_module(out)


def _operators(function: Function) -> list[str]:
    """The operators of a function's calls in the order of evaluation, without annotations."""
    calls = (n for n in post_order(function) if isinstance(n, Call) and not is_annotation(n))
    return [c.op.name for c in calls if isinstance(c.op, Op)]


def _listed(regions: list[RegionShape]) -> str:
    if not regions:
        return "no region"
    shown = (f"{compiler} with {', '.join(operators)}" for compiler, operators in regions)
    return f"{len(regions)} region{'s' * (len(regions) > 1)}: {'; '.join(shown)}"
