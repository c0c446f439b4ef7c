"""Changes of the PassContext that enable skipped passes, and changes of the partitioning passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from byoc_lab.errors import enumerated
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.setups import PARTITIONING, Setup
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.passes import Pass


def of_context(setup: Setup) -> Iterator[Trial]:
    """Changes that enable one pass, the passes of one level, then all skipped passes: the smallest
    first."""
    off = list(
        dict.fromkeys(p.name for p, context in setup.skipped() if p.name in context.disabled_pass)
    )
    for name in off:
        yield _enabling([name], setup)
    for level in sorted(set(_lacking(setup).values())):
        yield _at_level(level, setup)
    enabled = setup.enabling(*off)
    needed = _lacking(enabled).values()
    if off and needed:
        listed = enumerated(off)
        at_level = _at_level(max(needed), enabled)
        yield replace(
            at_level,
            what=f"do not disable {listed} in the PassContext, and {at_level.what}",
            key=("enabled", *off, max(needed)),
            missing=f"the PassContext disables {listed}; without that, {at_level.missing}",
        )
    elif len(off) > 1:
        yield _enabling(off, setup)


def _enabling(names: Sequence[str], setup: Setup) -> Trial:
    return Trial(
        f"do not disable {enumerated(names)} in the PassContext",
        setup.enabling(*names), ("enabled", *names),
        missing=f"the PassContext disables {enumerated(names)}",
    )  # fmt: skip


def _at_level(level: int, setup: Setup) -> Trial:
    of_level: dict[int, list[str]] = {}
    for name, its in sorted(_lacking(setup).items(), key=itemgetter(1)):
        of_level.setdefault(its, []).append(name)
    listed = ", and ".join(
        f"{enumerated(names)}, which {'need' if names[1:] else 'needs'} {its}"
        for its, names in of_level.items()
        if its <= level
    )
    has = sorted({
        c.opt_level for p, c in setup.skipped() if (c.needed_level(p.info) or level + 1) <= level
    })  # fmt: skip
    now = f"PassContext has opt_level {has[0]} and skips"
    if has[1:]:
        now = f"PassContexts have opt_level {enumerated(map(str, has))} and skip"
    return Trial(
        f"run under PassContext(opt_level={level})",
        setup.at_level(level), ("level", level),
        missing=f"the {now} {listed}",
    )  # fmt: skip


def _lacking(setup: Setup) -> dict[str, int]:
    """The passes that a context skips because of their level, with the level that they need."""
    needed = {p.name: context.needed_level(p.info) for p, context in setup.skipped()}
    return {name: level for name, level in needed.items() if level is not None}


def of_partitioning(inquiry: Inquiry) -> Iterator[Trial]:
    """Changes that add missing passes that every partitioning needs, or correct their order."""
    given = setup = inquiry.setup
    names = []
    if setup.first(AnnotateTarget) is None:
        names.append("AnnotateTarget")
        later = [setup.first(MergeCompilerRegions), setup.first(PartitionGraph)]
        position = min((p[0] for p in later if p), default=len(setup.passes))
        setup = setup.with_pass(position, AnnotateTarget(inquiry.target))
    if setup.first(PartitionGraph) is None:
        names.append("PartitionGraph")
        setup = setup.with_pass(len(setup.passes), PartitionGraph())
    if names:
        yield _running(names, setup)
    annotate = setup.first(AnnotateTarget)
    merges = setup.first(MergeComposite) is not None
    merging = None
    if annotate is not None and not merges and inquiry.table_of_target:
        merging = setup.with_pass(annotate[0], MergeComposite(inquiry.table_of_target))
        yield _running(["MergeComposite", *names], merging)
    ordered = _in_order(given.passes)
    swapped = [(p, q) for p, q in zip(given.passes, ordered, strict=True) if p is not q]
    if not names and swapped:
        first, then = swapped[0]
        wrong = f"{first.name} before {then.name}"
        in_order = Trial(
            f"run {then.name} before {first.name}",
            replace(given, passes=ordered), ("ordered",),
            missing=f"the pipeline runs {wrong}", decides=True,
        )  # fmt: skip
        yield in_order
        if merging is not None:
            yield replace(
                in_order,
                what=f"run MergeComposite, and {then.name} before {first.name}",
                setup=replace(merging, passes=_in_order(merging.passes)),
                key=("ordered", "MergeComposite"),
                missing=f"the pipeline does not run MergeComposite, and runs {wrong}",
            )


def annotated_first(inquiry: Inquiry) -> Iterator[Trial]:
    """Run the AnnotateTarget that asks the target before those that ask other targets."""
    setup = inquiry.setup
    own, first = inquiry.annotate_target, setup.first(AnnotateTarget)
    if own is not None and first is not None and own[0] > first[0]:
        passes = list(setup.passes)
        passes.insert(first[0], passes.pop(own[0]))
        mine, others = own[1].targets, first[1].targets
        yield Trial(
            f"run AnnotateTarget({mine!r}) before AnnotateTarget({others!r})",
            replace(setup, passes=tuple(passes)), ("annotated first",),
        )  # fmt: skip


def _running(names: Sequence[str], setup: Setup) -> Trial:
    """Add passes that every partitioning needs and the pipeline lacks."""
    listed = enumerated(names)
    missing = f"the pipeline does not run {listed}"
    return Trial(f"run {listed}", setup, ("partitioning", *names), missing=missing, decides=True)


def _in_order(passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """Sort the partitioning passes among their positions; unchanged if they partition several
    times."""
    places = [n for n, p in enumerate(passes) if isinstance(p, PARTITIONING)]
    if len({type(passes[n]) for n in places}) < len(places):
        return tuple(passes)
    ordered = sorted(
        (passes[n] for n in places),
        key=lambda p: next(n for n, kind in enumerate(PARTITIONING) if isinstance(p, kind)),
    )
    made = list(passes)
    for n, p in zip(places, ordered, strict=True):
        made[n] = p
    return tuple(made)
