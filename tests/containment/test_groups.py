"""Control groups: found, limited, and removed, also after a kill.

Folders stand in for the kernel's file system; if real groups can be created, they are tested too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byoc_lab.containment import groups
from byoc_lab.containment.children import run
from byoc_lab.containment.groups import Group, GroupError, group, parent

pytestmark = pytest.mark.linux
real = pytest.mark.skipif(bool(groups.failure()), reason=f"no control groups: {groups.failure()}")
SHARED = """
import mmap, os
place = mmap.mmap(-1, 256 << 20)  # shared, so that no process has all of it in its own pages
for part in range(4):
    if os.fork() == 0:
        place[part << 26 : (part + 1) << 26] = b"x" * (1 << 26)
        os._exit(0)
for part in range(4):
    os.wait()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process's group, inside its session's group, inside the root group."""
    place = tmp_path / "all" / "session" / "own"
    for path in (place.parent.parent, place.parent, place):
        path.mkdir()
        (path / "cgroup.controllers").write_text("cpu memory pids")
        (path / "cgroup.subtree_control").write_text("cpu pids memory")
        (path / "cgroup.procs").write_text("1")
    monkeypatch.setattr(groups, "_own", lambda: (place, place.parent.parent))
    return place


def kernel_refuses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write to a file that fails as the kernel's does for a group with processes."""
    write_text = Path.write_text

    def write(each: Path, text: str, *rest: str) -> int:
        if each == path:
            raise OSError(16, "Device or resource busy")
        return write_text(each, text, *rest)

    monkeypatch.setattr(Path, "write_text", write)


def test_parent_group_is_the_one_that_delegates_controllers(own: Path) -> None:
    assert parent() == own


def test_group_with_processes_is_skipped_for_its_parent(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "cgroup.subtree_control").write_text("")
    kernel_refuses(own / "cgroup.subtree_control", monkeypatch)
    assert parent() == own.parent


def test_group_without_processes_enables_controllers_for_its_children(own: Path) -> None:
    (own / "cgroup.subtree_control").write_text("cpu")
    assert parent() == own
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_error_without_controllers_has_reasons_and_advice(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (own, own.parent, own.parent.parent):
        (path / "cgroup.controllers").write_text("cpu pids")
    with pytest.raises(GroupError, match=r"own: without the controller memory; .*/all: [\w ]*$"):
        parent()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(GroupError, match=r"own: this account may not write it; .*systemd-run"):
        parent()


def test_group_gets_its_limits_and_is_removed(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = removing(monkeypatch)
    with group(1 << 30, 9) as made:
        limits = {path.name: path.read_text() for path in made.path.iterdir()}
        assert made.path.parent == own
    assert limits == {"memory.max": str(1 << 30), "pids.max": "9", "memory.swap.max": "0"}
    assert removed == [made.path] and not made.path.exists()


def test_groups_of_killed_processes_are_removed(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = removing(monkeypatch)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, live = own / f"byoc-lab-{ended.pid}-ab", own / f"byoc-lab-{os.getpid()}-ab"
    left.mkdir()
    live.mkdir()
    with group(1, 1):
        assert removed == [left] and live.exists()


def test_command_enters_its_group_before_it_begins(tmp_path: Path) -> None:
    done = run(Group(tmp_path).entering(["cat", f"{tmp_path}/cgroup.procs"]), 60)
    assert (done.code, done.output) == (0, "0\n"), done.errors
    assert run(Group(tmp_path / "none").entering(["echo", "begun"]), 60).output == ""


def test_processes_killed_for_memory_are_counted(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\n")
    assert Group(tmp_path).killed() == 2
    assert Group(tmp_path / "none").killed() == 0


@real
def test_shared_memory_counts_once_and_a_command_above_the_limit_is_ended() -> None:
    for memory, ended in ((512 << 20, False), (128 << 20, True)):
        with group(memory, 64) as made:
            run(made.entering([sys.executable, "-S", "-c", SHARED]), 60)
            assert bool(made.killed()) == ended


@real
def test_group_has_no_more_processes_than_its_limit() -> None:
    code = "import os\nwhile True:\n    os.fork()"
    with group(1 << 30, 8) as made:
        done = run(made.entering([sys.executable, "-S", "-c", code]), 60)
    assert "BlockingIOError" in done.errors


@real
def test_group_of_a_killed_process_is_removed_by_the_next_process() -> None:
    code = (
        "import os, time\nfrom byoc_lab.containment.groups import group\n"
        "with group(1 << 30, 8) as made:\n    print(made.path, flush=True)\n    time.sleep(1000)\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    path = Path(maker.stdout.readline().strip())
    sleeper = subprocess.Popen(Group(path).entering(["sleep", "1000"]))
    while str(sleeper.pid) not in (path / "cgroup.procs").read_text().split():
        time.sleep(0.01)  # the process has not entered its group yet
    maker.kill()
    maker.communicate()
    with group(1 << 30, 8):
        assert not path.exists() and sleeper.wait() == -9


def removing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Records the removed folders, and removes them with their files, as the kernel does."""
    removed: list[Path] = []
    rmdir = Path.rmdir

    def remove(path: Path) -> None:
        for each in path.iterdir():
            each.unlink()
        rmdir(path)
        removed.append(path)

    monkeypatch.setattr(Path, "rmdir", remove)
    return removed
