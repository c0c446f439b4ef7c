"""Terminals: any encoding, no control sequences, and one line for an error that ends a command."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import cli
from byoc_lab.terminal import ProgressLine, Visible, visible

RELU = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32]) {
  nn.relu(%x)
}
"""


@given(st.text())
def test_no_control_character_remains(text: str) -> None:
    shown = visible(text)
    assert all(c.isprintable() or c.isspace() or ord(c) > 0x9F for c in shown)
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown
    if text.isprintable():
        assert shown == text


def test_colour_is_kept_only_on_request() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b[2J"
    assert visible(text, colours=True) == "\x1b[1;31mred\x1b[0m \\x1b[2J"
    assert visible(text) == "\\x1b[1;31mred\\x1b[0m \\x1b[2J"


@given(st.text(), st.sampled_from(["ascii", "latin-1", "utf-8", "cp437"]))
def test_any_text_is_written_in_every_encoding(text: str, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print(text, "● → ✖", file=Visible(stream))
    stream.flush()


def _run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "byoc_lab.cli", *arguments]
    return subprocess.run(command, capture_output=True, timeout=900, **options)  # type: ignore


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_trace_command_prints_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "net.relay").write_text(RELU)
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = _run("trace", str(tmp_path / "net.relay"), env=environment)
    assert done.returncode == cli.OK and done.stderr == b""
    assert b"* changed" in done.stdout and b"- unchanged" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["trace", "net.relay"], ["--help"], ["lint", "--help"]])
def test_full_disk_error_is_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.relay").write_text(RELU)
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "byoc_lab.cli", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=900)
    assert done.returncode == cli.USAGE
    assert done.stderr.splitlines() == [b"byoc-lab: No space left on device"]


def test_closed_output_pipe_ends_the_command(tmp_path: Path) -> None:
    lines = "".join(f"  %{n} = nn.relu(%{n - 1});\n" for n in range(1, 3000))
    text = RELU.replace("  nn.relu(%x)\n", f"  %0 = nn.relu(%x);\n{lines}  %2999\n")
    (tmp_path / "net.relay").write_text(text)
    command = [sys.executable, "-m", "byoc_lab.cli", "diff", str(tmp_path / "net.relay"), "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(text.replace("nn.relu", "tanh").encode())
    process.stdin.close()
    assert process.wait(60) == cli.BROKEN_PIPE
    assert process.stderr.read() == b""
    process.stderr.close()


def test_ctrl_c_prints_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("byoc_lab.doctor.examine", lambda: signal.raise_signal(signal.SIGINT))
    # Background jobs of a shell ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert cli.main(["doctor"]) == cli.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "byoc-lab: interrupted\n"


def test_name_cannot_send_a_control_sequence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.relay").write_text('def @"\x1b[31mred"() { 1 }')
    assert cli.main(["lint", str(tmp_path / "net.relay")]) == cli.USAGE
    shown = capsys.readouterr()
    assert "\x1b" not in shown.err and "[31mred" in shown.err


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown_by(stream: io.StringIO) -> list[str]:
    """The successive contents of the line."""
    return [text.strip() for text in stream.getvalue().split("\r") if text.strip()]


def wait_for(text: str, stream: io.StringIO) -> None:
    """Waits until the line shows a text, at most ten minutes."""
    until = time.monotonic() + 600
    while text not in stream.getvalue() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.parametrize("filtered", [False, True])
def test_work_longer_than_the_delay_shows_a_line(
    filtered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", Visible(stream) if filtered else stream)
    monkeypatch.setattr("byoc_lab.terminal.DELAY", 0.01)
    monkeypatch.setattr("byoc_lab.terminal.INTERVAL", 0.01)
    with ProgressLine() as progress:
        progress("reading a\x1b[2Jfile")
        wait_for("reading", stream)
        progress("FoldConstant", 3, 4)
        wait_for("FoldConstant", stream)
    shown = shown_by(stream)
    assert re.fullmatch(re.escape("reading a\\x1b[2Jfile, ") + r"\d+ s", shown[0])
    done = re.escape("[##########..........] 3 of 4: FoldConstant, ")
    assert re.fullmatch(done + r"\d+ s", shown[-1])
    assert stream.getvalue().endswith(" \r")  # the line is removed


def test_before_the_first_step_only_the_title_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("byoc_lab.terminal.DELAY", 0.0)
    monkeypatch.setattr("byoc_lab.terminal.INTERVAL", 0.0)
    with ProgressLine() as progress:
        time.sleep(0.05)
        progress("reading")
        wait_for("reading", stream)
    assert shown_by(stream)[0].startswith("reading, ")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("byoc_lab.terminal.DELAY", 600)
    with ProgressLine() as progress:
        progress("reading")
    assert stream.getvalue() == ""


def test_nothing_is_shown_on_other_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("byoc_lab.terminal.DELAY", 0.0)
    with ProgressLine() as progress:
        progress("reading")
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_error_removes_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("byoc_lab.terminal.DELAY", 0.0)
    with pytest.raises(ValueError, match="no"), ProgressLine() as progress:
        progress("working")
        wait_for("working", stream)
        raise ValueError("no")
    assert stream.getvalue().endswith(" \r")


def test_usage_error_escapes_control_characters(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["lint", "file", "--\x1b[2J"])
    assert r"unrecognized arguments: --\x1b[2J" in capsys.readouterr().err
