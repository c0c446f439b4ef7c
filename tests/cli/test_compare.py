"""`byoc-lab compare`: exit code, printed differences and the HTML page."""

from __future__ import annotations

from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import cli
from tests.cli.samples import CLEAN


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "net.relay"
    path.write_text(CLEAN)
    return str(path)


def test_compare_command_shows_two_pipelines_of_one_model(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    pipelines = ["--pipeline", "dnnl", "--pipeline", "ccompiler"]
    assert cli.main(["compare", model, *pipelines, "--html", str(page)]) == cli.NO
    out = capsys.readouterr().out
    assert out.startswith("net.relay, dnnl beside net.relay, ccompiler\n")
    assert "the first is AnnotateTarget; " in out
    assert out.endswith(f"written: {page}\n") and page.is_file()


def test_compare_of_a_saved_trace_and_an_equal_new_one_exits_with_ok(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = byoc_lab.trace(byoc_lab.relay.parse(CLEAN), "dnnl").save(tmp_path / "net.trace")
    assert cli.main(["compare", str(saved), model]) == cli.OK
    assert "dnnl beside net.relay, dnnl\nno difference in 11 stages" in capsys.readouterr().out


@pytest.mark.parametrize("pipelines", [[], ["dnnl"], ["dnnl", "dnnl"]])
def test_compare_of_a_model_with_itself_exits_with_usage_error(
    model: str, pipelines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for name in pipelines for word in ("--pipeline", name)]
    assert cli.main(["compare", model, *options]) == cli.USAGE
    assert "name B, or two different --pipeline" in capsys.readouterr().err


def test_compare_with_invalid_arguments_exits_with_usage_error(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    three = ["--pipeline", "dnnl"] * 3
    assert cli.main(["compare", model, model, *three]) == cli.USAGE
    assert "found 3" in capsys.readouterr().err
    assert cli.main(["compare", "-", "-"]) == cli.USAGE
    assert "standard input (-) can be read once" in capsys.readouterr().err
    assert cli.main(["compare", model, "missing.relay"]) == cli.USAGE
