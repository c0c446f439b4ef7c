"""The table of faults in native/README.md agrees with its probe of the oneDNN that runs here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.cpp.source import compile_command

ROOT = Path(__file__).parents[3]
TOLD = re.compile(r"^(yes|no) +(.+)$", re.M)


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_probe_finds_the_faults_of_the_table(tmp_path: Path) -> None:
    program = tmp_path / "onednn_faults"
    line = compile_command(str(ROOT / "native/probes/onednn_faults.cc"), str(program))
    subprocess.run([word for word in line if word not in ("-shared", "-O2")], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    version = native.library()
    assert printed.splitlines()[0] == version
    table = (ROOT / "native/README.md").read_text(encoding="utf-8")
    head = re.search(r"^\| found by the probe \| (.+) \|$", table, re.M)
    assert head is not None
    column = head[1].split(" | ").index(version.removeprefix("oneDNN "))
    found = {fault: told for told, fault in TOLD.findall(printed)}
    rows = re.findall(r"^\| ([^|]+) \| ((?:yes|no)(?: \| (?:yes|no))*) \|$", table, re.M)
    assert found == {fault: told.split(" | ")[column] for fault, told in rows} and found
