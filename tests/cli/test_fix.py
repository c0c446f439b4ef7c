"""`byoc-lab fix`: shows or writes a repaired module."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from byoc_lab import cli, lint, relay, trace
from tests.cli.samples import CLEAN, NO_END


def test_fix_of_a_clean_module_exits_with_ok(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(CLEAN)
    assert cli.main(["fix", str(file)]) == cli.OK
    assert "the linter reports no errors and no warnings" in capsys.readouterr().out


def test_fix_without_apply_shows_the_fix_and_writes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["fix", str(file)]) == cli.NO
    out = capsys.readouterr().out
    assert '+   annotation.compiler_end(%1, compiler="dnnl")' in out
    assert "proved: without annotations the module is structurally equal" in out
    assert file.read_text() == NO_END


def test_fix_with_apply_writes_a_clean_module(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(NO_END)
    assert cli.main(["fix", "--apply", str(file)]) == cli.OK
    assert f"written: {file}" in capsys.readouterr().out
    assert not lint(relay.parse(file.read_text()))
    assert cli.main(["lint", str(file)]) == cli.OK


def test_fix_with_apply_keeps_comments(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin, end = "// what DNNL gets", "/* the last layer,\n   and all of it */"
    lines = NO_END.splitlines()
    at = next(n for n, line in enumerate(lines) if "compiler_begin" in line)
    lines[at] += "  // the input"
    commented = [begin, *lines[: at + 1], end, *lines[at + 1 :], "// done"]
    file.write_text("\n".join(commented))
    file.chmod(0o640)
    assert cli.main(["fix", "--apply", str(file)]) == cli.OK
    assert "(replaced the module that was there)" in capsys.readouterr().out
    text = file.read_text()
    assert all(text.count(comment) == 1 for comment in (begin, end, "  // the input\n", "// done"))
    assert text.startswith(f"{begin}\n#[version") or text.startswith(f"{begin}\ndef @main")
    assert re.search(r"^ *%\d+ = .*compiler_begin.*// the input$", text, re.M)
    assert not lint(relay.parse(text))
    assert file.stat().st_mode & 0o777 == 0o640
    assert cli.main(["fix", str(file)]) == cli.OK


@pytest.mark.parametrize("typed", [True, False])
def test_fix_adds_type_comments_only_to_a_text_that_has_them(file: Path, typed: bool) -> None:
    kept = "/* span=net.py:3:7 */"
    text = relay.parse(NO_END).astext(show_types=typed)
    text = re.sub(r"(compiler_begin.*)$", rf"\1 {kept}", text, count=1, flags=re.M)
    assert kept in text and ("/* ty=" in text) == typed
    file.write_text(text)
    assert cli.main(["fix", "--apply", str(file)]) == cli.OK
    assert file.read_text().count(kept) == 1
    assert ("/* ty=" in file.read_text()) == typed


def test_fix_command_reads_stdin_and_writes_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NO_END))
    assert cli.main(["fix", "--apply", "-"]) == cli.OK
    assert not lint(relay.parse(capsys.readouterr().out))


def test_fix_command_reads_stdin_and_writes_a_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NO_END))
    assert cli.main(["fix", "--apply", "-", "--output", str(file)]) == cli.OK
    assert not lint(relay.parse_file(file))


def test_fix_with_output_writes_another_file_and_keeps_the_input(file: Path) -> None:
    file.write_text(NO_END)
    other = file.with_name("fixed.relay")
    assert cli.main(["fix", str(file), "--output", str(other)]) == cli.OK
    assert file.read_text() == NO_END
    assert not lint(relay.parse_file(other))


def test_fix_refuses_to_overwrite_files_other_than_relay_text(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = file.with_suffix(".byoc")
    trace(relay.parse(NO_END), ["InferType"]).save(saved)
    content = saved.read_bytes()
    assert cli.main(["fix", "--apply", str(saved)]) == cli.USAGE
    assert "name another file with --output" in capsys.readouterr().err
    assert saved.read_bytes() == content
    assert cli.main(["fix", str(saved), "--output", str(file)]) == cli.OK
    assert not lint(relay.parse_file(file))


@pytest.mark.parametrize("option", ["--target", "--backend"])
def test_fix_with_a_back_end_applies_its_rules(
    option: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = NO_END.replace("  nn.relu(%0)", '  annotation.compiler_end(erf(%0), compiler="dnnl")')
    file.write_text(ended)
    assert cli.main(["fix", str(file)]) == cli.OK
    assert "fix(mod, backend='dnnl') repairs them" in capsys.readouterr().out
    assert cli.main(["fix", option, "dnnl", "--apply", str(file)]) == cli.OK
    assert cli.main(["lint", option, "dnnl", str(file)]) == cli.OK
