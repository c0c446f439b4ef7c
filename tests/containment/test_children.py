"""Child processes end with this process, and every wait for one has a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from byoc_lab import processor_time
from byoc_lab.containment import children
from byoc_lab.containment.children import LENGTH, Child, ChildError, run, write_message
from tests.containment.test_family import wait_for_end

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals of POSIX")
LARGE = b"x" * (1 << 20)  # more than a pipe buffer holds


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def silent(written: int) -> None:
    stopped()


def within_the_length(written: int) -> None:
    os.write(written, LENGTH.pack(len(LARGE))[:3])
    stopped()


def within_the_message(written: int) -> None:
    os.write(written, LENGTH.pack(len(LARGE)) + LARGE[:100])
    stopped()


def test_fork_sends_a_large_answer_and_ends() -> None:
    child = Child.forked(lambda written: write_message(written, LARGE))
    assert child.receive(9) == LARGE
    assert child.ended(9) == 0
    child.end()


@pytest.mark.parametrize("serve", [silent, within_the_length, within_the_message])
def test_fork_that_stops_itself_is_ended(
    serve: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor_time, "LEAST_ASLEEP", 0.2)
    child = Child.forked(serve)
    with pytest.raises(ChildError, match="did not end") as raised:
        child.receive(0.01)
    assert raised.value.kind == "timed out"
    child.end()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_fork_that_exits_without_an_answer_reports_its_status() -> None:
    child = Child.forked(lambda written: os._exit(3))
    with pytest.raises(ChildError, match="exit status 3") as raised:
        child.receive(9)
    assert (raised.value.kind, raised.value.code) == ("crashed", 3)
    child.end()


def test_fork_that_closes_its_pipe_and_stays_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(written: int) -> None:
        os.closerange(3, 256)
        time.sleep(600)

    monkeypatch.setattr(children, "END_LIMIT", 0.05)
    child = Child.forked(serve)
    with pytest.raises(ChildError, match="closed its pipe") as raised:
        child.receive(9)
    assert raised.value.code is None
    monkeypatch.undo()
    child.end()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_fork_ends_with_its_parent() -> None:
    script = (
        "import os, time\n"
        "from byoc_lab.containment.children import Child\n"
        "child = Child.forked(lambda written: time.sleep(600))\n"
        "print(child.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert wait_for_end(int(done.stdout))


def test_run_returns_status_and_output() -> None:
    script = "import sys; print(sys.stdin.read(), 1); print(2, file=sys.stderr); sys.exit(3)"
    done = run([sys.executable, "-c", script], 9)
    assert (done.code, done.output, done.errors) == (3, " 1\n", "2\n")


def test_run_ends_a_stopped_command(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    with pytest.raises(ChildError, match="did not end"):
        run([sys.executable, "-c", script], 60, asleep=0.5)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_run_ends_processes_that_a_command_leaves_running() -> None:
    script = (
        "import subprocess, sys\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)\n"
    )
    done = run([sys.executable, "-c", script], 60)
    assert done.code == 0
    assert wait_for_end(int(done.output))
