"""`reduce`: finds the smallest module for which a predicate holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from byoc_lab.errors import ArgumentError, InputError, kind_of
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.reducing.asking import Asker, Exhausted, Predicate
from byoc_lab.lab.reducing.named import NamedPredicate, predicate_named
from byoc_lab.lab.reducing.reduction import Reduction
from byoc_lab.lab.reducing.search import Search
from byoc_lab.lab.reducing.tables import Entry, Table, checked_table
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.foreign import adopted, refuse_foreign
from byoc_lab.relay.ir.module import IRModule, module_expected
from byoc_lab.relay.typing.infer import infer_module

BUDGET = 1000


def reduce(
    mod: IRModule | Function,
    predicate: Predicate | str,
    *,
    table: Sequence[Entry] | None = None,
    target: str | None = None,
    pipeline: str | None = None,
    budget: int = BUDGET,
    seconds: float | None = None,
    state: str | Path | None = None,
    progress: Listener | None = None,
    guarded: bool = False,
) -> Reduction:
    """Find the smallest module for which `predicate` holds, and the nearest one for which it does
    not.

    mod: a module or function with the problem. predicate: a function of a typed module, or the name
        of one, such as "finding:BYL013", "wrong:dnnl" or "not-offloaded:nn.conv2d on dnnl"
        (`byoc_lab.lab.reducing.KINDS` lists them; `predicate_named` there creates a predicate that
        imports code, too). A ByocLabError that a function raises for a smaller module means that it
        does not hold; any other exception ends the search.
    table: a pattern table to reduce, too: entries, checks and parts of patterns are dropped. The
    predicate is then a function of a module and a table. target, pipeline: only for named
    predicates: the back end, and the pipeline if it is not the back end's. A pipeline is a name, or
    pass names separated by commas. The default target is the one that the pipeline annotates, or
    dnnl. budget: the maximum number of calls of the predicate. seconds: the maximum processor time;
    without this limit, the result depends only on the arguments. state: a file that receives each
    answer. After an interruption, the same search reuses these answers.
    progress: is called with a `ProgressUpdate` for each call of the predicate; None: if the work
        takes more than a second, a line on a terminal or in a notebook shows it.

    guarded: whether the predicate runs in a separate process, which imports it by its name. If a
    module crashes this process, or the predicate does not end within 120 s of processor time, the
    predicate does not hold, and the search continues. "crash:SIGSEGV" holds for a module that
    crashes the process with this signal.

    Every module that the predicate receives is typed. Equal arguments give equal results. Calls,
    branches, parameters, results, functions, lets, dimension sizes, constants and attributes are
    removed, shrunk or simplified until no single change is left.

    Raises ArgumentError and UnknownNameError for wrong arguments, InputError if the predicate does
    not hold for `mod`, ReductionError for an exception of the predicate, and the errors of type
    inference for `mod`.
    """
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    refuse_foreign(adopted(mod), "reduce")
    if not isinstance(mod, IRModule):
        raise ArgumentError(module_expected("reduce", mod))
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ArgumentError(f"reduce: budget must be a positive integer, found {budget!r:.80}")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        raise ArgumentError(f"reduce: seconds must be a number or None, found {seconds!r:.80}")
    chosen, name = _chosen(predicate, target, pipeline)
    if table is not None and isinstance(predicate, str):
        raise ArgumentError("reduce: table is for predicates that are functions")
    entries = None if table is None else checked_table(table)
    typed = infer_module(mod)
    with Progress("reduce", budget, progress) as steps:
        asker = Asker(chosen, name, budget, seconds, state, steps, guarded)
        try:
            search, minimal = _searched(typed, asker, entries)
        finally:
            asker.close()
    return Reduction(
        name,
        mod,
        search.current,
        search.nearest(),
        tuple(search.steps),
        asker.calls,
        asker.raised,
        minimal,
        chosen,
        search.table,
    )


def _searched(typed: IRModule, asker: Asker, table: Table | None) -> tuple[Search, bool]:
    """The finished search, and whether no single change is left."""
    asker.begin(typed, table)
    if not asker.holds(typed, "the module as it was given", table):
        raise InputError(
            f"reduce: {asker.name} does not hold for the module that was given; expected a module "
            f"for which it does"
        )
    search = Search(typed, asker, table)
    try:
        search.run()
    except Exhausted:
        return search, False
    return search, True


def _chosen(predicate: Any, target: str | None, pipeline: str | None) -> tuple[Predicate, str]:
    """The predicate as a function, and its name."""
    if isinstance(predicate, str):
        predicate = predicate_named(predicate, target=target, pipeline=pipeline)
        return predicate, predicate.__name__
    if not callable(predicate):
        raise ArgumentError(
            f"reduce: the predicate must be a function of a module, or a name such as "
            f"'finding:BYL013', found {kind_of(predicate)} {predicate!r:.80}"
        )
    if target is not None or pipeline is not None:
        raise ArgumentError("reduce: target and pipeline are for predicates with a name")
    if isinstance(predicate, NamedPredicate):
        return predicate, predicate.__name__
    known = getattr(predicate, "__qualname__", type(predicate).__qualname__)
    module = getattr(predicate, "__module__", None)
    return predicate, f"{module}.{known}" if module else known
