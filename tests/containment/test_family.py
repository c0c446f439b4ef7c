"""`byoc_lab.containment.family`: finding and ending descendant processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byoc_lab.containment.family import below, end_with_all_below

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(), reason="/proc lists the processes"
)
WAITS = "import time; time.sleep(600)"
PARENT = (
    "import subprocess, sys, time; "
    f"child = subprocess.Popen([sys.executable, '-c', {WAITS!r}]); "
    "print(child.pid, flush=True); time.sleep(600)"
)
DIES = (
    "import os, sys; from byoc_lab.containment.family import die_with; die_with(int(sys.argv[1])); "
    "print(os.getpid(), flush=True); import time; time.sleep(600)"
)


def wait_for_end(process: int) -> bool:
    """Whether a process ends; a zombie counts as ended."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_descendant_processes_are_found_and_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    assert grandchild in below(child.pid) and {child.pid, grandchild} <= below(os.getpid())
    end_with_all_below(child.pid)
    child.wait()
    assert wait_for_end(grandchild)


@pytest.mark.linux
def test_process_ends_with_its_parent() -> None:
    code = (
        "import subprocess, sys, os; "
        f"child = subprocess.Popen([sys.executable, '-c', {DIES!r}, str(os.getpid())], "
        "stdout=subprocess.PIPE, text=True); print(child.stdout.readline().strip())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert wait_for_end(int(done.stdout))


@pytest.mark.linux
def test_process_whose_parent_has_ended_ends_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", DIES, "999999999"], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
