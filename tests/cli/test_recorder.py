"""`byoc-lab recorder`."""

from __future__ import annotations

import pytest

from byoc_lab.cli import main
from byoc_lab.lab.tracing.recording import recorder_source


def test_it_prints_the_recorder_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recorder"]) == 0
    printed = capsys.readouterr().out
    assert printed == recorder_source()
    assert "class Recorder" in printed
