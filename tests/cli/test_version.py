"""`byoc-lab --version` and `--help`."""

from __future__ import annotations

import importlib.metadata

import pytest

from byoc_lab.cli import main


def test_version_option_prints_the_version_of_the_installed_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"byoc-lab {importlib.metadata.version('byoc-lab')}\n"


def test_help_names_the_course(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "begin with the course:\n\n  byoc-lab notebooks " in capsys.readouterr().out
