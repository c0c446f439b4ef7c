"""Workers of a pool end with the pool's use and with the process that created them, even if they
are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from byoc_lab.containment.workers import pool
from tests.containment.test_family import wait_for_end

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def ids(made: ProcessPoolExecutor) -> set[int]:
    """The process ids of the pool's two workers."""
    found: set[int] = set()
    while len(found) < 2:
        found |= {each.result() for each in [made.submit(os.getpid) for _ in range(8)]}
    return found


def test_stopped_workers_end_with_the_use_of_the_pool() -> None:
    with pool(2, os.getpid) as made:
        (first, second) = ids(made)
        made.submit(stop, first)
        made.submit(time.sleep, 1000)
    assert wait_for_end(first) and wait_for_end(second)


def test_pool_ends_only_its_own_workers() -> None:
    with pool(1, os.getpid) as outer:
        before = outer.submit(os.getpid).result()
        with pool(1, os.getpid) as inner:
            assert inner.submit(os.getpid).result() != before
        assert outer.submit(os.getpid).result() == before


def test_workers_begin_with_a_call_and_ignore_interrupts() -> None:
    with pool(1, os.chdir, "/") as made:
        assert made.submit(os.getcwd).result() == "/"
        assert made.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN


@pytest.mark.linux
def test_workers_end_with_the_process_that_created_them() -> None:
    code = (
        "import os, time\n"
        "from byoc_lab.containment.workers import pool\n"
        "if __name__ == '__main__':\n"
        "    with pool(1, os.getpid) as made:\n"
        "        print(made.submit(os.getpid).result(), flush=True)\n"
        "        time.sleep(1000)\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    worker = int(maker.stdout.readline())
    maker.kill()
    maker.communicate()
    assert wait_for_end(worker)
