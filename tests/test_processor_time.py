"""Limits of processor time: endless and sleeping processes end; processes without processor time
get more time."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from byoc_lab import processor_time
from byoc_lab.processor_time import process_seconds, wait

pytestmark = pytest.mark.linux
BUSY = "sum(range(10**5)) and print(flush=True); "


@contextmanager
def running(text: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a Python text and has started."""
    child = subprocess.Popen([sys.executable, "-c", BUSY + text], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child:
        child.stdout.readline()
        try:
            yield child
        finally:
            child.kill()


def ready(child: subprocess.Popen[bytes], seconds: float) -> bool:
    return bool(select.select([child.stdout], [], [], seconds)[0])


def test_endless_loop_uses_up_its_limit() -> None:
    with running("\nwhile True: pass") as child:
        before = process_seconds(child.pid)
        assert not wait(partial(ready, child), child.pid, 0.3)
        assert process_seconds(child.pid) - before >= 0.28


def test_process_without_processor_time_is_waited_for() -> None:
    with running("sys = __import__('sys'); sys.stdin.readline()") as child:
        child.send_signal(signal.SIGSTOP)
        threading.Timer(1, child.send_signal, [signal.SIGCONT]).start()
        threading.Timer(1, child.kill).start()  # which closes its output
        assert wait(partial(ready, child), child.pid, 0.2)


def test_sleeping_process_is_given_up_after_the_longer_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processor_time, "LEAST_ASLEEP", 0.2)
    with running("__import__('time').sleep(600)") as child:
        assert not wait(partial(ready, child), child.pid, 0.01)


def test_ended_process_used_no_time() -> None:
    with running("") as child:
        child.wait()
        assert wait(partial(ready, child), child.pid, 1)
        assert process_seconds(child.pid) == 0
