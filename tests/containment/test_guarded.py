"""Guarded calls: calls in a worker process, each with a time limit."""

from __future__ import annotations

import os
import signal
import time

import pytest

from byoc_lab import processor_time
from byoc_lab.containment import children
from byoc_lab.containment.children import ChildError
from byoc_lab.containment.guarded import WorkerProcess, forked

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")


def close_all_and_stay() -> None:
    os.closerange(3, 256)
    time.sleep(600)


def test_child_that_closes_its_pipe_and_stays_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "END_LIMIT", 0.05)
    guard = WorkerProcess()
    with pytest.raises(ChildError, match="closed its pipe and did not end"):
        guard.call(close_all_and_stay, time_limit=9)
    assert guard.call(os.getpid, time_limit=9) != os.getpid()
    guard.close()


def test_stopped_child_that_reads_no_request_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = WorkerProcess()
    child = guard.call(os.getpid, time_limit=9)
    monkeypatch.setattr(processor_time, "LEAST_ASLEEP", 0.2)
    os.kill(child, signal.SIGSTOP)
    with pytest.raises(ChildError, match="did not end") as raised:
        guard.call(len, b"x" * (8 << 20), time_limit=0.01)
    assert raised.value.kind == "timed out"
    guard.close()
    monkeypatch.undo()
    assert guard.call(len, b"x" * (8 << 20), time_limit=9) == 8 << 20
    guard.close()


def test_child_started_in_advance_serves_the_first_call() -> None:
    guard = WorkerProcess()
    guard.start()
    child = guard._child
    guard.start()
    assert child is not None and guard.call(os.getpid, time_limit=9) == child.pid
    guard.close()
    assert guard.call(os.getpid, time_limit=9) != child.pid
    guard.close()


STATE: list[int] = []


def remember(number: int) -> tuple[int, list[int]]:
    STATE.append(number)
    return os.getpid(), STATE


def test_forked_calls_leave_no_state() -> None:
    (first, state), (second, later) = (forked(remember, n, time_limit=9) for n in (1, 2))
    assert len({first, second, os.getpid()}) == 3
    assert (state, later, STATE) == ([1], [2], [])


def test_error_of_a_forked_call_is_raised_in_the_parent() -> None:
    with pytest.raises(ZeroDivisionError):
        forked(divmod, 1, 0, time_limit=9)
    with pytest.raises(RuntimeError, match="cannot be sent to another process"):
        forked(open, os.devnull, time_limit=9)
    with pytest.raises(ChildError, match="SIGKILL"):
        forked(lambda: os.kill(os.getpid(), signal.SIGKILL), time_limit=9)
