"""The playground: byoc_lab's results for Relay text, a pattern table and an error message.

The page runs it; the build (tools/lite/choices.py) and tests import it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.errors import ByocLabError, InputError
from byoc_lab.lab.explaining import decode, explain, explain_patterns
from byoc_lab.lab.linting import Findings
from byoc_lab.lab.linting.external import compilers_of
from byoc_lab.lessons import cases
from byoc_lab.lessons.cases.base import PipelineCase
from byoc_lab.passes import Pass, PassContext, make_pass, named_pipeline, pipeline_names
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.module import IRModule

LEVEL = 3  # the opt_level of pipelines given by name
TABLE = "<pattern table>"
Part = tuple[str, Any]
"""The heading of a part, and the object or the exception that it shows."""


def parts(
    relay_text: str = "",
    message: str = "",
    table: str = "",
    pipeline: str = "dnnl",
    passes: Sequence[str] | None = None,
    era: str | None = None,
) -> Iterator[Part]:
    """The results for the input, one after the other.

    relay_text: a module. message: an error message of TVM, or a log around it. table: Python code
    whose last expression is a pattern table, which replaces the pipeline's table. pipeline: the
    name of a pipeline, or of a case, whose author's passes are used. passes: the names of the
    passes to run, with their options in the pipeline; by default all passes. era: "2020-01" or
    "0.16", the TVM version whose behaviour is reproduced.
    """
    mod = None
    try:
        mod = relay.parse(relay_text) if relay_text.strip() else None
    except ByocLabError as error:
        yield "The Relay text cannot be read", error
    if message.strip():
        yield "What the message means", decode(message, mod)
    if mod is None:
        return
    try:
        chosen = chosen_passes(pipeline, passes, era)
    except ByocLabError as error:
        yield "The passes cannot be created", error
        return
    if table.strip():
        try:
            chosen = with_table(chosen, table_of(table))
        except Exception as error:  # any error of the user's code
            yield "The pattern table cannot be created", error
            return
    with PassContext(opt_level=level_of(pipeline)):
        yield from _of_module(mod, chosen, pipeline)


def _of_module(mod: IRModule, chosen: list[Pass], title: str) -> Iterator[Part]:
    """The results for a readable module with the chosen passes."""
    trace = byoc_lab.trace(mod, chosen, title=title)
    yield "Step by step", trace
    named = [name for p in chosen for name in getattr(p, "targets", ())]
    targets = [name for name in dict.fromkeys(named) if name in backends.names()]
    backend = next(iter((*targets, *compilers_of(mod))), None)
    found = byoc_lab.lint(mod, chosen, backend)
    yield "Findings", found
    repaired = _tried(partial(byoc_lab.fix, mod, pipeline=chosen, backend=backend))
    if repaired:
        yield "Fix", repaired
    later = [f for f in trace.findings if f.code not in {known.code for known in found.all}]
    if later:
        last = trace[-1]
        left = last.before if last.after is None else last.after
        yield "Findings after the passes", Findings(later, left)
    for stage in trace:
        made = next((p for p in chosen if p.name == stage.name), None)
        if isinstance(made, MergeComposite):
            yield "Pattern table", _tried(partial(explain_patterns, made.table, stage.before))
    for target in targets:
        heading = f"Which operators are offloaded to {target}, and why not"
        yield heading, _tried(partial(explain, mod, target, pipeline=chosen))


def _tried(make: Callable[[], Any]) -> Any:
    """The result of a function, or the error that it raised."""
    try:
        return make()
    except ByocLabError as error:
        return error


# ---- pipelines --------------------------------------------------------------------------------


def members(pipeline: str, era: str | None = None) -> list[Pass]:
    """The passes of a pipeline, or the passes of a case's author up to PartitionGraph."""
    if pipeline in pipeline_names():
        return list(named_pipeline(pipeline, era))
    case = cases.get(pipeline)
    if isinstance(case, PipelineCase):
        return [*case.passes(), PartitionGraph(era=era)]
    return [make_pass(name, era) for name in case.pipeline]


def level_of(pipeline: str) -> int:
    """The opt_level at which the passes run."""
    if pipeline in pipeline_names():
        return LEVEL
    return getattr(cases.get(pipeline), "level", LEVEL)


def chosen_passes(pipeline: str, names: Sequence[str] | None, era: str | None) -> list[Pass]:
    """The passes with these names: passes of the pipeline in their order, then additional
    passes."""
    given = members(pipeline, era)
    if names is None:
        return given
    left = list(given)
    chosen = []
    for name in names:
        own = next((p for p in left if p.name == name), None)
        if own is not None:
            left.remove(own)
        chosen.append(own or make_pass(name, era))
    return chosen


def table_of(source: str) -> list[tuple[Any, ...]]:
    """The pattern table from Python code: the value of its last expression."""
    tree = ast.parse(source, TABLE)
    last = tree.body.pop() if tree.body else None
    if not isinstance(last, ast.Expr):
        raise InputError(
            "the code ends without an expression; its last line must be the pattern table, a list "
            "of (name, pattern) or (name, pattern, check)"
        )
    names: dict[str, Any] = {}
    exec(compile(tree, TABLE, "exec"), names)
    value = eval(compile(ast.Expression(last.value), TABLE, "eval"), names)
    return MergeComposite(value).table


def with_table(chosen: Sequence[Pass], table: list[tuple[Any, ...]]) -> list[Pass]:
    """The passes with this table in MergeComposite, and the table's back ends in AnnotateTarget."""
    targets = list(dict.fromkeys(name.partition(".")[0] for name, *_ in table))
    own: dict[type[Pass], Pass] = {
        MergeComposite: MergeComposite(table),
        AnnotateTarget: AnnotateTarget(targets),
    }
    return [own.get(type(p), p) for p in chosen]
