"""`--import` of every command that reads a model: loads a third-party back end from a file."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byoc_lab import cli
from byoc_lab.commands import all_commands
from tests.cli import chip
from tests.cli.samples import CLEAN, NO_END

MODULE = "mychip_for_the_command_line"


@pytest.fixture(autouse=True)
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options; unloads the module afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    Path(f"{MODULE}.py").write_text(chip.CHIP)
    Path("net.relay").write_text(CLEAN)
    Path("wrong.relay").write_text(NO_END.replace("dnnl", "mychip"))
    yield ["--import", f"{MODULE}.py"]
    sys.modules.pop(MODULE, None)
    chip.forget()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explain", "net.relay", "--target", "mychip"], cli.NO, "offloaded to mychip"),
        (["coverage", "net.relay", "--target", "mychip"], cli.OK, "1 of 2 operators"),
        (["trace", "net.relay", "--pipeline", "mychip"], cli.OK, "mychip: 5 stages"),
        (["validate", "net.relay", "--pipeline", "mychip"], cli.OK, "valid"),
        (["bisect", "net.relay", "--pipeline", "mychip"], cli.OK, "no difference"),
        (["lint", "wrong.relay", "--target", "mychip"], cli.NO, "BYL002"),
        (["fix", "wrong.relay", "--target", "mychip"], cli.NO, "compiler_end"),
        (
            ["reduce", "net.relay", "--keep", "not-offloaded:tanh", "--target", "mychip"],
            cli.OK,
            "tanh",
        ),
    ],
)
def test_command_uses_the_imported_back_end(
    imported: list[str],
    arguments: list[str],
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(arguments) == cli.USAGE, "the name is unknown without --import"
    assert "mychip" in capsys.readouterr().err
    assert cli.main([*arguments, *imported]) == code
    assert words in capsys.readouterr().out


def test_every_command_that_reads_a_model_has_the_import_option() -> None:
    options = {"--shape", "--import"}
    for name, command in all_commands():
        parser = argparse.ArgumentParser()
        command.configure(parser)
        found = options & set(parser._option_string_actions)
        assert found in (options, {"--import"} if name == "doctor" else set()), name


def test_doctor_lists_the_imported_back_end(
    imported: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["doctor"])
    assert "mychip" not in capsys.readouterr().out
    cli.main(["doctor", *imported])
    row = "ok        back end mychip: 0 patterns and 1 operator, a code generator"
    assert row in capsys.readouterr().out.splitlines()


def test_doctor_lists_the_imported_relax_back_end(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    from byoc_lab.relax import backends

    Path(f"{MODULE}.py").write_text(
        "from byoc_lab import relax\nrelax.register('relaxchip', supports=['nn.relu'])\n"
    )
    request.addfinalizer(lambda: backends.unregister("relaxchip"))
    cli.main(["doctor", "--import", f"{MODULE}.py"])
    row = "ok        back end relaxchip of Relax: 1 pattern, no code generator"
    assert row in capsys.readouterr().out.splitlines()


def test_imported_file_that_raises_exits_with_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("bad.py").write_text("raise ValueError('the driver is missing')\n")
    assert cli.main(["explain", "net.relay", "--import", "bad.py"]) == cli.USAGE
    said = capsys.readouterr()
    assert not said.out
    assert (
        said.err
        == "byoc-lab: cannot import bad.py: ValueError: the driver is missing at bad.py:1\n"
    )


def test_unknown_back_end_error_mentions_the_import_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["explain", "net.relay", "--target", "mychip"]) == cli.USAGE
    assert "--import" in capsys.readouterr().err


@pytest.mark.slow
def test_isolated_reduction_imports_the_file_too(
    imported: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    failing = chip.CHIP.replace("return", "raise ArithmeticError('no such chip')  #")
    Path(f"{MODULE}.py").write_text(failing)
    predicate = ["--keep", "crash:no such chip", "--target", "mychip"]
    arguments = ["reduce", "net.relay", *predicate, "--script", "repro.py", *imported]
    assert cli.main(arguments) == cli.OK
    assert "reduced from 2 operators to 1 with " in capsys.readouterr().out
    assert "IMPORT HERE" not in Path("repro.py").read_text()
    ended = subprocess.run([sys.executable, "repro.py"], capture_output=True, text=True)
    assert ended.returncode == 0 and "no such chip" in ended.stdout, ended.stderr
