"""The passes of a recording as a tree, and the choice of the stages among them.

In TVM, passes run inside passes: a sequence runs its members, each with the passes that it requires
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

UNNAMED = "sequential"  # TVM's name for a sequence without a given name
# Passes that TVM implements as an unnamed sequence, and the passes inside such a sequence.
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

    before, after: modules; after is None if the pass did not end. begun: the start time in seconds,
    of a clock that stops while recording. required: the passes that it requires.
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
    """The passes that are stages, each with the name of its sequence, if that is named.

    sequences: names of known sequences; other sequences are recognized by the passes that they ran.
    """
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
                # a change that none of its members made
                members.append((replace(ran, before=last, inner=[]), own))
            left += reversed(members)


def _is_sequence(ran: RecordedPass, sequences: Collection[str]) -> bool:
    """Whether a pass only ran other passes. A pass that byoc_lab also has is never treated as a
    sequence."""
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
    """The name of the single pass that TVM implements as an unnamed sequence."""
    names = [member.name for member in ran.inner if member.name not in PARTS]
    one = ran.name == UNNAMED and len(names) == 1 and names[0] in IN_PARTS
    return names[0] if one else None


def _members(ran: RecordedPass) -> Iterator[RecordedPass]:
    """The passes that a sequence ran, except required passes that changed nothing."""
    dropped: set[int] = set()
    for n, member in enumerate(ran.inner):
        first = max(0, n - len(member.required))
        before = ran.inner[first:n]
        if tuple(p.name for p in before) == member.required:
            dropped.update(first + k for k, p in enumerate(before) if p.after == p.before)
    return (member for n, member in enumerate(ran.inner) if n not in dropped)
