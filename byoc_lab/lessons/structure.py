"""Checks of an answer by its structure, the linter and numbers: each returns a mistake or None."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError, counted
from byoc_lab.lab.linting import Severity, lint
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.analysis.annotations import DEFAULT, compiler_of, is_annotation
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate

RegionShape = tuple[str, tuple[str, ...]]
"""The compiler of a region, and its operators in the order of evaluation."""
Check = Callable[[], "Mistake | None"]

TOLERANCE = 1e-6
"""The relative tolerance; both sides are computed in float64, but passes fold in float32."""


def first(checks: Iterable[Check]) -> Mistake | None:
    """The mistake of the first failing check: later checks would repeat its cause."""
    return next((mistake for check in checks if (mistake := check()) is not None), None)


def annotated(
    answer: Any, plain: IRModule, expected: Iterable[RegionShape], seed: int = 0
) -> Iterator[Check]:
    """The checks of an annotated module, in order; each check relies on the earlier ones."""
    yield lambda: wrong_kind(answer)
    yield lambda: wrong_types(answer)
    yield lambda: wrong_network(answer, plain)
    yield lambda: lint_findings(answer)
    yield lambda: wrong_regions(answer, expected)
    yield lambda: wrong_numbers(answer, plain, seed)


def wrong_kind(answer: Any) -> Mistake | None:
    """An answer must be a module with a @main. Keys: "none", "kind"."""
    if answer is None:
        return Mistake(
            "none", "expected a module, found None: does your function return its result?"
        )
    if isinstance(answer, Function):
        hint = "IRModule.from_expr(function) makes a module"
        return Mistake("kind", f"expected a module, found a function: {hint}")
    if not isinstance(answer, IRModule):
        return Mistake("kind", f"expected a module (IRModule), found {type(answer).__name__}")
    if "main" not in answer:
        return Mistake("kind", 'expected a module with a function "main", found none in it')
    return None


def wrong_types(answer: IRModule) -> Mistake | None:
    """Types must be inferable. Key: "types"."""
    try:
        infer_module(answer)
    except ByocLabError as error:
        return Mistake("types", f"the module has no consistent types: {error}")
    return None


def partitioned_already(answer: IRModule) -> Mistake | None:
    """An answer must have annotations, not the functions of a partition. Key: "partitioned"."""
    if not regions_of(answer):
        return None
    told = "the module is partitioned: expected a module with annotations"
    return Mistake("partitioned", told, answer)


def default_only(answer: IRModule) -> Mistake | None:
    """If there are annotations, one must name a compiler. Key: "default-only"."""
    nodes = (node for function in answer.functions.values() for node in post_order(function))
    if {compiler_of(node) for node in nodes if is_annotation(node)} != {DEFAULT}:
        return None
    told = f'all begins and ends name "{DEFAULT}", which is the host: there is no region'
    return Mistake("default-only", told, answer)


def wrong_network(answer: IRModule, plain: IRModule) -> Mistake | None:
    """Without its annotations an answer must be the plain network. Keys: "partitioned",
    "network"."""
    if (partitioned := partitioned_already(answer)) is not None:
        return partitioned
    if structural_equal(without_annotations(answer)["main"], plain["main"]):
        return None
    both = [Counter(operators_of(mod["main"])) for mod in (answer, plain)]
    added, lost = both[0] - both[1], both[1] - both[0]
    changes = [
        f"{what} {with_times(ops)}" for what, ops in (("added", added), ("lost", lost)) if ops
    ]
    message = "the network itself has changed, not only its annotations" + (
        f": it has {' and '.join(changes)}" if changes else ""
    )
    return Mistake("network", message, answer)


def lint_findings(answer: IRModule) -> Mistake | None:
    """The linter must find no error. Key: the code of the first finding."""
    findings = [f for f in lint(answer) if f.severity is Severity.ERROR]
    if not findings:
        return None
    return Mistake(findings[0].code, "\n".join(map(str, findings)), answer)


def wrong_regions(answer: IRModule, expected: Iterable[RegionShape]) -> Mistake | None:
    """PartitionGraph must cut out the expected regions, in any order.

    Keys: "default-only", "refused", "no-region", "compiler" (a region of an unexpected compiler),
    "too-many", "too-few", "other-regions" (the right number, but with other operators).
    """
    if (default := default_only(answer)) is not None:
        return default
    try:
        partitioned = PartitionGraph()(infer_module(answer))
    except ByocLabError as error:
        return Mistake("refused", f"PartitionGraph refuses the module: {error}", answer)
    return other_regions(partitioned, expected)


def other_regions(partitioned: IRModule, expected: Iterable[RegionShape]) -> Mistake | None:
    """A partitioned module must have the expected regions. Keys: as for `wrong_regions`."""
    found = regions_of(partitioned)
    wanted = sorted((compiler, tuple(operators)) for compiler, operators in expected)
    if found == wanted:
        return None
    if not found:
        key = "no-region"
    elif {c for c, _ in found} - {c for c, _ in wanted}:
        key = "compiler"
    elif len(found) != len(wanted):
        key = "too-many" if len(found) > len(wanted) else "too-few"
    else:
        key = "other-regions"
    return Mistake(key, f"expected {_listed(wanted)}; found {_listed(found)}", partitioned)


def regions_of(partitioned: IRModule) -> list[RegionShape]:
    """The regions of a partitioned module, sorted."""
    return sorted(
        (str(function.attrs["Compiler"]), tuple(operators_of(function)))
        for function in partitioned.functions.values()
        if "Compiler" in function.attrs
    )


def wrong_numbers(answer: IRModule, plain: IRModule, seed: int = 0) -> Mistake | None:
    """After partitioning, an answer must compute the same as the plain network. Key: "numbers"."""
    try:
        partitioned = PartitionGraph()(infer_module(answer))
    except ByocLabError as error:
        return Mistake("numbers", f"the partitioned module cannot be evaluated: {error}", answer)
    return other_numbers(partitioned, plain, seed)


def other_numbers(answer: IRModule, plain: IRModule, seed: int = 0) -> Mistake | None:
    """A module must compute the same as the plain network, on random inputs. Key: "numbers"."""
    random = np.random.RandomState(seed)
    inputs = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.concrete_shape).astype("float32")
        for p in plain["main"].params
    }
    wanted = evaluate(plain, inputs, dtype="float64").value
    try:
        found = evaluate(answer, inputs, dtype="float64").value
    except ByocLabError as error:
        return Mistake("numbers", f"the partitioned module cannot be evaluated: {error}", answer)
    message = differences(found, wanted)
    return Mistake("numbers", message, answer) if message else None


def differences(found: Any, wanted: Any, tolerance: float = TOLERANCE) -> str:
    """Describe the difference of two results in words; "" if they agree."""
    if np.shape(found) != np.shape(wanted):
        return f"expected a result of shape {np.shape(wanted)}, found {np.shape(found)}"
    if np.allclose(found, wanted, rtol=tolerance, atol=tolerance):
        return ""
    if nans := int((np.isnan(found) & ~np.isnan(wanted)).sum()):
        return f"the numbers are wrong: {counted(nans, 'element')} of the result: nan"
    largest = float(np.max(np.abs(np.asarray(found) - np.asarray(wanted))))
    return f"the numbers are wrong: the largest difference from the right result is {largest:.3g}"


def without_annotations(mod: IRModule) -> IRModule:
    """The module without its begin and end annotations, typed again."""

    def remove(pre: Expr, post: Expr) -> Expr:
        return post.args[0] if is_annotation(post) else post

    out = mod.copy()
    for gv, function in mod.functions.items():
        out[gv] = rebuild(function, remove)
    return infer_module(out)


def operators_of(function: Function) -> list[str]:
    """The operators that a function calls, in evaluation order, without annotations."""
    calls = (n for n in post_order(function) if isinstance(n, Call) and not is_annotation(n))
    return [c.op.name for c in calls if isinstance(c.op, Op)]


def with_times(operators: Counter[str]) -> str:
    """A list in words, such as "exp, tanh (3 times)"."""
    times = sorted(operators.items())
    return ", ".join(name if n == 1 else f"{name} ({n} times)" for name, n in times)


def _listed(regions: list[RegionShape]) -> str:
    if not regions:
        return "no region"
    shown = Counter(f"{name} with {', '.join(ops) or 'no operator'}" for name, ops in regions)
    each = (text if n == 1 else f"{n} times {text}" for text, n in shown.items())
    return f"{counted(len(regions), 'region')}: {'; '.join(each)}"


def annotated_freely(
    answer: Any, plain: IRModule, offloaded: Iterable[str], regions: int, seed: int = 0
) -> Iterator[Check]:
    """The checks of an annotated module for which only the operators inside regions, and the number
    of regions, are given; each relies on the previous ones."""
    yield lambda: wrong_kind(answer)
    yield lambda: wrong_types(answer)
    yield lambda: wrong_network(answer, plain)
    yield lambda: lint_findings(answer)
    yield lambda: wrong_offload(answer, offloaded, regions)
    yield lambda: wrong_numbers(answer, plain, seed)


def wrong_offload(answer: IRModule, offloaded: Iterable[str], regions: int) -> Mistake | None:
    """The regions together must contain exactly these operators, in this number of regions.

    Keys: "default-only", "refused", "no-region", "unsupported-inside", "left-out", "too-many",
    "too-few".
    """
    if (default := default_only(answer)) is not None:
        return default
    try:
        partitioned = PartitionGraph()(infer_module(answer))
    except ByocLabError as error:
        return Mistake("refused", f"PartitionGraph refuses the module: {error}", answer)
    found = regions_of(partitioned)
    if not found:
        return Mistake("no-region", "PartitionGraph finds no region", partitioned)
    wanted, inside = Counter(offloaded), Counter(op for _, ops in found for op in ops)
    for key, extra, what in (
        ("unsupported-inside", inside - wanted, "in a region, but not supported"),
        ("left-out", wanted - inside, "supported, but in no region"),
    ):
        if extra:
            return Mistake(key, f"{what}: {with_times(extra)}; {_listed(found)}", partitioned)
    if len(found) == regions:
        return None
    key = "too-many" if len(found) > regions else "too-few"
    return Mistake(key, f"expected {regions} regions; found {_listed(found)}", partitioned)
