"""The recordings used by lessons: they open, and show what the notebook describes."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab.errors import UnknownNameError
from byoc_lab.lessons import recordings


@pytest.mark.parametrize("name", recordings.names())
def test_recording_can_be_opened(name: str) -> None:
    trace = byoc_lab.load_trace(recordings.path(name))
    assert trace.stages and trace.versions["tvm"].startswith("0.")


def test_unknown_recording_is_named_in_the_error() -> None:
    with pytest.raises(UnknownNameError, match="no recording is named 'simplify'"):
        recordings.path("simplify")


def test_simplify_after_annotate_recording_is_decoded_and_replayed() -> None:
    trace = byoc_lab.load_trace(recordings.path("simplify_after_annotate"))
    codes = [[f.code for f in byoc_lab.lint(s.after)] for s in trace.stages if s.after is not None]
    assert codes == [[], [], [], ["BYL015"]]
    assert byoc_lab.decode(str(trace.error), trace.final).rule == "BYL015"
    assert trace["MergeCompilerRegions"].replayed().same
