"""Lint rule BYL030 shadowed-pattern: earlier entries of the table match all calls that a pattern
needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.covering import always_takes_part
from byoc_lab.lab.linting.matching import Experiment
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.framework.predicates import labels
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(tanh(%x))\n}"


def _table(*order: int) -> Sequence[Pass]:
    tanh = is_op("tanh")(wildcard())
    table = [("dnnl.tanh", tanh), ("dnnl.tanh_relu", is_op("nn.relu")(is_op("tanh")(wildcard())))]
    return [MergeComposite([table[n] for n in order])]


class ShadowedPattern(LintRule):
    """For every match of a pattern of the table, an earlier entry has already matched a part of it.

    ## Why is this bad?
    MergeComposite tries the entries in order. Calls that an earlier entry matched are inside a
    composite function, which later entries do not search. A short pattern before a longer one with
    the same operator hides the longer one, without a message.

    ## What to do instead
    Put the longer, more specific patterns first. If the new order could be tried, the finding shows
    its effect on this module.

    ## References
    TVM 0.16, src/relay/transforms/merge_composite.cc.
    """

    code, name = "BYL030", "shadowed-pattern"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline=lambda: _table(1, 0)),)
    INVALID = (Sample(_TEXT, pipeline=lambda: _table(0, 1)),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        earlier: list[tuple[int, DFPattern]] = []
        names = labels(context.table)
        for n, (name, pattern, *check) in enumerate(context.table):
            by = next((e for e, p in earlier if always_takes_part(p, pattern)), None)
            # A value that all of a long match uses may prevent the shorter match in it.
            if by is not None and (name != names[n] or not _matches(mod, context, name)):
                yield self.finding(
                    f"the pattern {names[n]!r} never matches: the earlier {names[by]!r} takes part "
                    f"of every match",
                    _moved(mod, context, n, by),
                    None,
                )
            # an entry with a check may leave the match to the next entry
            if not check or check[0] is None:
                earlier.append((n, pattern))


def _matches(mod: IRModule, context: Context, name: str) -> bool:
    """Whether the module has composites of an entry; false if the pipeline fails."""
    try:
        return Experiment(mod, context).has(name)
    except ByocLabError:
        return False


def _moved(mod: IRModule, context: Context, moved: int, other: int) -> str:
    """Advise on swapping two entries, by running the module with the new order."""
    table, names = list(context.table), labels(context.table)
    name, before = names[moved], names[other]
    table.insert(other, table.pop(moved))
    move = f"put {name!r} before {before!r}"
    try:
        experiment = Experiment(mod, context)
        now, then = experiment.merged(context.table), experiment.merged(table)
    except ByocLabError as error:
        return f"perhaps {move}; that could not be tried: {str(error).partition(chr(10))[0]}"
    if then < now:
        return f"{move}: {then}, not {now}"
    if then == now:
        return f"perhaps {move}: in this module it makes no difference"
    return f"keep the order, or remove {name!r}: before {before!r} it makes {then}, not {now}"
