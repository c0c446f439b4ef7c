"""Supervised functions: each outcome has a status, and no file or process of theirs is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from byoc_lab.containment.confinement import become_reaper
from byoc_lab.containment.family import below
from byoc_lab.containment.guarded import forked
from byoc_lab.containment.limits import Limits
from byoc_lab.containment.supervised import Supervised, supervised

pytestmark = pytest.mark.linux
LIMITS = Limits(seconds=60, output=1 << 20, reply=1 << 20)


def reply(written: int) -> None:
    os.write(1, b"printed\n")
    os.write(written, b"x" * (1 << 19))


def reply_late(written: int) -> None:
    time.sleep(0.2)  # several polls of the processes
    reply(written)


def write_files(written: int) -> None:
    Path("folder/folder").mkdir(parents=True)
    Path("folder/file").write_text(os.getcwd())
    os.write(written, Path("folder/file").read_bytes())


def leave_a_process(written: int) -> None:
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    os.write(written, str(process.pid).encode())


def reply_for_ever(written: int) -> None:
    while True:
        os.write(written, b"x" * 4096)


def take_memory(written: int) -> None:
    os.write(written, str(len(bytearray(8 << 30))).encode())


def take_memory_in_forks(written: int) -> None:
    for _ in range(2):
        if os.fork() == 0:
            held = bytearray(b"y") * (256 << 20)
            time.sleep(len(held))
    held = bytearray(b"y") * (256 << 20)
    time.sleep(1)  # several polls of the processes
    reply(written)


ENDS = {
    "crashed": lambda written: os.kill(os.getpid(), signal.SIGSEGV),
    "ended Python": lambda written: os._exit(3),
    "too much output": reply_for_ever,
    "timed out": lambda written: [None for _ in iter(int, 1)],
}


def served(function: object, folder: Path, limits: Limits) -> Supervised:
    """Runs `supervised` in a separate process, which waits only for descendants of the function."""
    found: Supervised = forked(_served, function, folder, limits, time_limit=100.0)
    return found


def _served(function: object, folder: Path, limits: Limits) -> Supervised:
    assert callable(function)
    become_reaper()
    return supervised(function, limits, folder, False)


def test_all_output_is_returned(tmp_path: Path) -> None:
    assert served(reply, tmp_path, LIMITS) == ("ran", b"printed\n", b"x" * (1 << 19))


@pytest.mark.parametrize("status", ENDS)
def test_each_outcome_has_its_status(status: str, tmp_path: Path) -> None:
    limits = Limits(seconds=0.2) if status == "timed out" else LIMITS
    assert served(ENDS[status], tmp_path, limits)[::2] == (status, b"")


def test_process_gets_no_more_address_space_than_the_limit(tmp_path: Path) -> None:
    assert served(take_memory, tmp_path, Limits(memory=1 << 30)).status == "ended Python"


def test_memory_of_the_caller_does_not_count(tmp_path: Path) -> None:
    held = bytearray(b"x") * (256 << 20)
    limits = Limits(memory=len(held) // 2, output=1 << 20, reply=1 << 20)
    assert served(reply_late, tmp_path, limits).status == "ran"


def test_memory_of_forks_counts_in_full(tmp_path: Path) -> None:
    held = bytearray(b"x") * (256 << 20)  # each fork inherits it, and allocates as much again
    for limit, status in ((5 * len(held) // 2, "too much memory"), (7 * len(held) // 2, "ran")):
        limits = Limits(seconds=60, memory=limit, output=1 << 20, reply=1 << 20)
        assert served(take_memory_in_forks, tmp_path, limits).status == status


def test_files_and_processes_are_removed_afterwards(tmp_path: Path) -> None:
    assert served(write_files, tmp_path, LIMITS).reply == bytes(tmp_path)
    assert list(tmp_path.iterdir()) == []
    process = int(served(leave_a_process, tmp_path, LIMITS).reply)
    assert not os.path.exists(f"/proc/{process}") and process not in below(os.getpid())


def test_stopped_function_ends_after_the_wall_clock_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "byoc_lab.containment.supervised.asleep_limit"
    monkeypatch.setattr(module, lambda seconds: 0.3 if seconds else 60.0)
    started = time.process_time()
    stop = served(lambda written: os.kill(os.getpid(), signal.SIGSTOP), tmp_path, LIMITS)
    assert stop.status == "timed out" and time.process_time() - started < 30
