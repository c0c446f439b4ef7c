"""The passes of a recording as a tree, and which of them are stages.

TVM runs passes inside passes: a sequence runs its members, each with the passes that it requires
before it; AnnotateTarget is a sequence of two; MergeComposite runs InferType once for each pattern.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from byoc_lab.lab.tracing.recording.modules import State
from byoc_lab.passes import pass_names
from byoc_lab.passes.framework.passes import COMPAT_PASSES

UNNAMED = "sequential"  # TVM's name of a sequence that was not given one
# Passes that TVM builds as a sequence without a name, and what else is in such a sequence.
IN_PARTS = ("MergeCompilerRegions", "PartitionGraph")
PARTS = (
    "FlattenNestedTuples",
    "FlattenTuples",
    "InferType",
    "NameMangleExtFuncs",
    "RemoveDefaultAnnotations",
)


@dataclass(eq=False)
class RecordedPass:
    """A pass that began.

    before, after: modules; after is None if the pass did not end. begun: when, in seconds, of a
        clock that does not count what recording takes. required: the passes that it requires.
    """

    name: str
    before: State
    begun: float
    required: tuple[str, ...] = ()
    opt_level: int | None = None
    after: State | None = None
    seconds: float = 0.0
    error: Exception | None = None
    inner: list[RecordedPass] = field(default_factory=list)


def shown_passes(
    passes: Sequence[RecordedPass], sequences: Collection[str] = ()
) -> Iterator[tuple[RecordedPass, str]]:
    """The passes that are stages, each with the name of its sequence, if that has one.

    sequences: names of passes that are known to be sequences; others show it by what they ran."""
    left = [(ran, "") for ran in reversed(passes)]
    while left:
        ran, group = left.pop()
        if not _is_sequence(ran, sequences):
            yield ran, group
        elif (name := _as_one(ran)) is not None:
            yield replace(ran, name=name), group
        else:
            own = group if ran.name == UNNAMED else ran.name
            members = [(member, own) for member in _members(ran)]
            last = ran.inner[-1].after if ran.inner else ran.before
            if ran.after is not None and last is not None and ran.after != last:
                members.append((replace(ran, before=last, inner=[]), own))  # its own change
            left += reversed(members)


def _is_sequence(ran: RecordedPass, sequences: Collection[str]) -> bool:
    """Whether a pass only ran others. A pass that byoc_lab has too is shown as one in any case."""
    if (ran.name == UNNAMED or ran.name in sequences) and ran.inner:
        return True
    runs_one = len(ran.inner) == 1 and ran.inner[0].name == UNNAMED
    if ran.name in _known() or (len(ran.inner) < 2 and not runs_one):
        return False
    linked = all(a.after == b.before for a, b in pairwise(ran.inner))
    return linked and ran.before == ran.inner[0].before and ran.after == ran.inner[-1].after


@cache
def _known() -> frozenset[str]:
    return frozenset((*pass_names(), *COMPAT_PASSES))


def _as_one(ran: RecordedPass) -> str | None:
    """The name of the one pass that an unnamed sequence is the parts of."""
    names = [member.name for member in ran.inner if member.name not in PARTS]
    one = ran.name == UNNAMED and len(names) == 1 and names[0] in IN_PARTS
    return names[0] if one else None


def _members(ran: RecordedPass) -> Iterator[RecordedPass]:
    """The passes that a sequence ran, without those that a member requires and that changed
    nothing."""
    dropped: set[int] = set()
    for n, member in enumerate(ran.inner):
        first = max(0, n - len(member.required))
        before = ran.inner[first:n]
        if tuple(p.name for p in before) == member.required:
            dropped.update(first + k for k, p in enumerate(before) if p.after == p.before)
    return (member for n, member in enumerate(ran.inner) if n not in dropped)
