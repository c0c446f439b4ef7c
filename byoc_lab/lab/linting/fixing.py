"""`fix` of Relay: repairs of a module's annotations, each proved before it is offered.

Findings propose edits. First the likeliest edits of all findings are made at once, which repairs
many faults of one kind. If findings are left, or the repair cannot be proved, each proposal is
tried alone, and the one with the best result is kept (`_rank`). This repeats up to `_ROUNDS` times.
A repair counts if it reduces the findings and the module without annotations computes the same
results: its structure is unchanged, or it gives the same results for random inputs. If no finding
is left, the module must also pass PartitionGraph, with and without MergeCompilerRegions. A round
examines the module once for each proposal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from byoc_lab.backends.registry import Backend
from byoc_lab.backends.registry import get as get_backend
from byoc_lab.errors import ArgumentError, ByocLabError, counted, nearest
from byoc_lab.lab.linting.context import Context, Pipeline, context_of
from byoc_lab.lab.linting.discovery import all_rules
from byoc_lab.lab.linting.edits import Edit, Proposal, edited_module, without_annotations
from byoc_lab.lab.linting.examine import examine, in_text_order
from byoc_lab.lab.linting.external import compilers_of
from byoc_lab.lab.linting.finding import Finding, Fix, Severity
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.analysis.annotations import END, is_annotation
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule, module_expected
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module

TOLERANCE = 1e-4
"""The relative tolerance for results in float64, because folded weights are rounded to float32."""
_ROUNDS = 8


def fix_relay(
    mod: Any,
    params: Mapping[str, Any] | None,
    pipeline: Pipeline | Context | None,
    backend: str | Backend | None,
) -> Fix:
    """Repairs the annotations of a Relay module."""
    if not isinstance(mod, IRModule):
        raise ArgumentError(module_expected("fix", mod))
    context = context_of(pipeline, backend)
    found = examine(mod, all_rules(), context)
    if all(f.severity is Severity.INFO for f in found):
        return Fix((), mod, mod, _no_faults(mod, in_text_order(found, mod), context))
    if not params:
        return _repaired(mod, context)
    bound = _bound(mod, params)
    step = f"bind {', '.join(f'%{name}' for name in params)}"
    if not _faults(bound, context):
        return Fix((step,), mod, bound, "with these values bound, the linter finds nothing")
    rest = _repaired(bound, context)
    if not rest:
        return replace(rest, before=mod, after=mod)
    proof = f"compared with the module in which these values are bound: {rest.proof}"
    return replace(rest, steps=(step, *rest.steps), before=mod, proof=proof)


def _bound(mod: IRModule, params: Mapping[str, Any]) -> IRModule:
    known = [p.name_hint for p in mod["main"].params]
    for name in params:
        if name not in known:
            raise ArgumentError(f"@main has no parameter %{name}; {nearest(name, known)}")
    out = mod.copy()
    out["main"] = bind_params_by_name(mod["main"], params)
    return infer_module(out)


def _no_faults(mod: IRModule, hints: Sequence[Finding], context: Context) -> str:
    """The sentence for a module without errors and warnings: the arguments of the check, the hints,
    and the back ends of the module with which lint reports more."""
    if context.backend is not None:
        asked = f" for the back end {context.backend.name!r}"
    elif context.passes is not None:
        asked = " for this pipeline"
    else:
        asked = " (it was given neither a back end nor a pipeline)"
    lines = [f"the linter reports no errors and no warnings{asked}"]
    for name in compilers_of(mod) if context.backend is None else ():
        more = _faults(mod, replace(context, backend=get_backend(name)))
        if more:
            lines.append(
                f"lint(mod, backend={name!r}) reports {counted(len(more), 'finding')}; "
                f"fix(mod, backend={name!r}) repairs them where that can be proved"
            )
    return "\n".join([*lines, *map(str, hints)])


def _repaired(mod: IRModule, context: Context) -> Fix:
    """The module after the steps that leave no findings, if they can be proved."""
    found = first = _faults(mod, context)
    steps: list[str] = []
    now, why = mod, ""
    for _ in range(_ROUNDS):
        better = _all_at_once(now, found, context) or _one_by_one(now, found, context)
        if better is None:
            break
        steps += better.steps
        now, why = better.after, better.proof
        found = list(better.left)
        if not found:
            break
    if found:
        left = tuple(in_text_order(_faults(mod, context), mod))
        return Fix((), mod, mod, "no repair of all these findings could be proved", left)
    others: list[Fix] = []
    if len(first) == len(steps) == 1:
        others = [
            f for f in prove(mod, context, first[0]) if f.steps != tuple(steps) and not f.left
        ]
    return Fix(tuple(steps), mod, now, why, others=tuple(others))


def prove(mod: IRModule, context: Context, finding: Finding) -> Iterator[Fix]:
    """The proposals of a finding that can be proved separately."""
    before = _faults(mod, context)
    for proposal in finding.proposals:
        made = _tried(mod, [proposal], context, before)
        if made is not None:
            yield made


def _faults(mod: IRModule, context: Context) -> list[Finding]:
    """The findings other than hints."""
    return [f for f in examine(mod, all_rules(), context) if f.severity is not Severity.INFO]


def _all_at_once(mod: IRModule, found: list[Finding], context: Context) -> Fix | None:
    """The fix that makes the likeliest edits of all findings at once; None if it leaves findings.
    It repairs modules with many faults of one kind."""
    first = [f.proposals[0] for f in found if f.proposals]
    if len(first) < 2 or any(p.make is not None for p in first):
        return None
    made = _tried(mod, first, context, found)
    return made if made is not None and not made.left else None


def _one_by_one(mod: IRModule, found: list[Finding], context: Context) -> Fix | None:
    """The proposal with the best result (`_rank`); of several equal ones, the one with the most
    operators in regions."""
    best: Fix | None = None
    ends = _ends(mod)
    for finding in found:
        for proposal in finding.proposals:
            made = _tried(mod, [proposal], context, found)
            if made is not None and (best is None or _rank(made) < _rank(best)):
                best = made
                if not best.left and _ends(best.after) >= ends:
                    return best
    return best


def _rank(made: Fix) -> tuple[int, int]:
    """The rank of a result; lower is better."""
    return len(made.left), -_ends(made.after)


def _ends(mod: IRModule) -> int:
    """The number of values that leave regions."""
    return sum(is_annotation(n, END) for n in post_order(*mod.functions.values()))


def _tried(
    mod: IRModule, proposals: Sequence[Proposal], context: Context, before: Sequence[Finding]
) -> Fix | None:
    """The fix made of these proposals, if it can be proved."""
    try:
        after = _made(mod, proposals)
        if after is None:
            return None
        left = _faults(after, context)
        if len(left) >= len(before):
            return None
        if not left:
            PartitionGraph()(after)
            PartitionGraph()(MergeCompilerRegions()(after))
        proof = same(mod, after)
    except ByocLabError:
        return None  # a proposal that leads to no valid module is not a fix
    if proof is None:
        return None
    return Fix(tuple(dict.fromkeys(p.title for p in proposals)), mod, after, proof, tuple(left))


def _made(mod: IRModule, proposals: Sequence[Proposal]) -> IRModule | None:
    edits: dict[str, list[Edit]] = {}
    for proposal in proposals:
        if proposal.make is not None:
            return proposal.make(mod)
        edits.setdefault(proposal.function, []).extend(proposal.edits)
    return infer_module(edited_module(mod, edits))


def same(before: IRModule, after: IRModule) -> str | None:
    """A proof, in words, that both modules compute the same without annotations; None if there is
    none."""
    plain = [infer_module(without_annotations(m)) for m in (before, after)]
    if structural_equal(plain[0], plain[1]):
        return "without annotations the module is structurally equal to what it was"
    count = 0
    for inputs in _random_inputs(plain[0]):
        expected, found = (_results(m, inputs) for m in plain)
        if len(expected) != len(found):
            return None
        for a, b in zip(expected, found, strict=True):
            scale = float(np.max(np.abs(a))) if a.size else 0.0
            if a.shape != b.shape or not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * scale):
                return None
        count += 1
    return f"the module computes the same numbers for {count} random inputs (NumPy reference)"


def _random_inputs(mod: IRModule) -> Iterator[list[Any]]:
    for seed in range(2):
        random = np.random.RandomState(seed)
        yield [_random(p.name_hint, p.checked_type, random) for p in mod["main"].params]


def _random(name: str, ty: Type, random: np.random.RandomState) -> Any:
    if isinstance(ty, TupleType):
        return tuple(_random(name, field, random) for field in ty.fields)
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise ArgumentError(f"no random values for %{name} of type {ty}")
    return np.asarray(random.uniform(0.5, 1.5, ty.concrete_shape)).astype(ty.dtype)


def _results(mod: IRModule, inputs: list[Any]) -> list[np.ndarray]:
    from byoc_lab.run.reference import evaluate

    return list(_arrays(evaluate(mod, inputs, dtype="float64").value))


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """The tensors of a value, with tuples flattened."""
    if isinstance(value, (tuple, list)):
        for field in value:
            yield from _arrays(field)
    else:
        yield np.asarray(value)
