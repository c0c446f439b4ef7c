"""Changes of the PassContext that let skipped passes run, the smallest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from byoc_lab.errors import enumerated
from byoc_lab.lab.explaining.outcome import Setup
from byoc_lab.lab.explaining.trials import Trial
from byoc_lab.passes.framework.passes import skipped_members


def of_context(setup: Setup) -> Iterator[Trial]:
    """Changes that let one pass run, those of a level, then all that are skipped."""
    disabled = setup.context.disabled_pass
    skipped = skipped_members(setup.passes, setup.context)
    off = list(dict.fromkeys(p.name for p in skipped if p.name in disabled))
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
    return Trial(
        f"run under PassContext(opt_level={level})",
        setup.at_level(level), ("level", level),
        missing=f"the PassContext has opt_level {setup.opt_level} and skips {listed}",
    )  # fmt: skip


def _lacking(setup: Setup) -> dict[str, int]:
    """The passes that the context skips for its level, with the level that they need."""
    skipped = skipped_members(setup.passes, setup.context)
    needed = {p.name: setup.context.needed_level(p.info) for p in skipped}
    return {name: level for name, level in needed.items() if level is not None}
