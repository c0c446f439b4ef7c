"""The events of each pass, on the modules of its golden files."""

from __future__ import annotations

import sys
from functools import cache

import pytest

from byoc_lab import transform
from byoc_lab.errors import ByocLabError
from byoc_lab.passes.framework.hook import Event, Note, listening
from byoc_lab.relay.ir.visit import post_order
from tests.docs.test_rewrites import SHOWN, passes_of
from tests.parity.compare import missing, run, targets_registered
from tests.parity.golden import module_before
from tests.parity.goldens.files import GoldenFile, all_golden_files, golden_files
from tools.docs.rewrites import rewrites

PASSES = sorted({path.parent.name for path in all_golden_files()} - {"print", "InferType"})
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@cache
def events(name: str) -> list[Event]:
    """All events of the pass `name`."""
    recorded: list[Event | Note] = []
    for golden in map(GoldenFile.read, golden_files(name)):
        if missing([golden.step]):
            continue
        with targets_registered(), listening(recorded.append):
            try:
                run(golden.step, module_before(golden))
            except ByocLabError:
                assert golden.error is not None
    return [event for event in recorded if isinstance(event, Event)]


@pytest.mark.parametrize("name", PASSES)
def test_event_replaces_nodes_of_the_rewritten_function(name: str) -> None:
    rounds = {event.round: event.round for event in events(name) if event.round is not None}
    nodes = {found: set(post_order(found.root)) for found in rounds}
    for event in events(name):
        if event.round is not None:
            replaced = {event.before, *(event.sources or ())}
            assert replaced <= nodes[event.round], str(event)


@pytest.mark.parametrize("name", [cls.__name__ for cls in SHOWN if cls.__name__ in PASSES])
def test_reference_lists_every_reported_rewrite(name: str) -> None:
    """Rewrites of passes that the pass runs count, too."""
    cls = getattr(transform, name)
    running = [cls, *(one for one in passes_of(sys.modules[cls.__module__]) if one in SHOWN)]
    known = [found for one in running for found in rewrites(one)]
    rules = {event.rule for event in events(name)}
    assert rules
    assert [rule for rule in rules if not any(found.covers(rule) for found in known)] == []
