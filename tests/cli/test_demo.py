"""`byoc-lab demo`: its exit code. (`tests/test_mobilenet.py` runs the demo itself.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import cli, demo
from byoc_lab.errors import BuildError


@pytest.mark.parametrize(("verdict", "code"), [(True, cli.OK), (False, cli.NO)])
def test_demo_exit_code_is_the_result_of_validation(
    verdict: bool, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Path] = []
    page = tmp_path / "x.html"
    monkeypatch.setattr(demo, "run_demo", lambda path: seen.append(path) or verdict)
    assert cli.main(["demo", "--html", str(page)]) == code
    assert seen == [page]


def test_demo_without_a_compiler_exits_with_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(path: Path) -> bool:
        raise BuildError("the compiler is missing")

    monkeypatch.setattr(demo, "run_demo", fails)
    assert cli.main(["demo"]) == cli.USAGE
    assert "byoc-lab: the compiler is missing" in capsys.readouterr().err
