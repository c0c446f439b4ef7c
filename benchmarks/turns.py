"""Times contenders alternately, each in a separate process: the basis of all speed comparisons.

The speed of a shared machine varies, so absolute times mean little and only ratios within one run
count. A round is one block of calls per contender, in sequence; the first contender changes from
round to round. A block's time is the median of its calls, a ratio compares two blocks of one round,
and the result is the median over the rounds. Each contender has a separate process, because thread
pools of several libraries in one process would compete for the processors.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

Call = Callable[[], Any]
Clock = Callable[[], float]
CONFIDENCE = 0.95
SLOW = 5  # a contender is slow if one call takes longer than this many blocks
SLOW_ROUNDS = 3  # maximum number of rounds for a slow contender


@dataclass(frozen=True)
class Contender:
    """`make(*args)` returns the function to time, in a new process; both must be picklable."""

    make: Callable[..., Call]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Turns:
    """results: the result of each contender's first call. blocks: for each contender and round, the
    seconds per call; None if the contender skipped the round."""

    results: dict[str, Any]
    blocks: dict[str, list[float | None]]

    def seconds(self, name: str) -> float:
        """The median time of a contender over its blocks."""
        return statistics.median(b for b in self.blocks[name] if b is not None)

    def ratios(self, name: str, base: str) -> list[float]:
        """The time of `name` divided by the time of `base`, in each round that has both."""
        pairs = zip(self.blocks[name], self.blocks[base], strict=True)
        return [b / a for b, a in pairs if a is not None and b is not None]

    def ratio(self, name: str, base: str) -> float:
        """The median of `ratios`."""
        return statistics.median(self.ratios(name, base))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The confidence interval of the median, by the sign test: the narrowest pair of symmetric
    order statistics with the level CONFIDENCE; for few values, minimum and maximum."""
    ordered, n = sorted(values), len(values)
    outside, tail = 0, 0.5**n  # tail: P(at most `outside` of n are below the median)
    while tail <= (1 - CONFIDENCE) / 2:
        outside += 1
        tail += math.comb(n, outside) * 0.5**n
    return ordered[max(outside - 1, 0)], ordered[n - 1 - max(outside - 1, 0)]


def set_threads(threads: int) -> None:
    """Set the number of threads that OpenMP (oneDNN, torch) and TVM read when a process starts;
    child processes inherit it."""
    os.environ.update(OMP_NUM_THREADS=str(threads), TVM_NUM_THREADS=str(threads))


def take_turns(
    contenders: Mapping[str, Contender],
    *,
    threads: int,
    rounds: int = 25,
    seconds: float = 0.15,
    clock: Clock = time.perf_counter,
) -> Turns:
    """Time `rounds` rounds with blocks of `seconds`, after warm-up calls.

    clock: `time.process_time` measures the processor time of all threads, which other programs on
        the machine change little. Threads that wait must sleep then (OMP_WAIT_POLICY=PASSIVE).

    The first contender is prepared alone, the others then side by side.

    Raises ChildProcessError if a contender's process exits; its own message is on stderr.
    """
    set_threads(threads)
    workers: dict[str, _Worker] = {}
    first: dict[str, Any] = {}
    try:
        for name, contender in contenders.items():
            workers[name] = _Worker(name, contender, clock)
            if len(workers) == 1:  # preparation may include measurements, so it runs alone
                first[name] = workers[name].receive()
        first |= {name: workers[name].receive() for name in workers if name not in first}
        slow = {name for name, (_, taken) in first.items() if taken > SLOW * seconds}
        blocks: dict[str, list[float | None]] = {name: [None] * rounds for name in workers}
        names = list(workers)
        for n in range(rounds):
            for name in names[n % len(names) :] + names[: n % len(names)]:
                if name in slow and n >= SLOW_ROUNDS:
                    continue
                blocks[name][n] = workers[name].ask(0.0 if name in slow else seconds)
        return Turns({name: result for name, (result, _) in first.items()}, blocks)
    finally:
        for worker in workers.values():
            worker.close()


class _Worker:
    def __init__(self, name: str, contender: Contender, clock: Clock):
        context = multiprocessing.get_context("spawn")
        self.name = name
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there, contender, clock), daemon=True)
        self.process.start()
        there.close()

    def ask(self, question: Any) -> Any:
        self.connection.send(question)
        return self.receive()

    def receive(self) -> Any:
        try:
            return self.connection.recv()
        except EOFError:
            raise ChildProcessError(f"the process of contender {self.name!r} ended") from None

    def close(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(connection: Connection, contender: Contender, clock: Clock) -> None:
    """Send (result, seconds of a call); then, for each requested number of seconds, a block's
    median."""
    call = contender.make(*contender.args)
    result = call()
    gc.collect()
    gc.disable()
    connection.send((result, _timed(call, clock)))
    while True:
        seconds = connection.recv()
        warm_up = time.perf_counter() + seconds / 4
        while time.perf_counter() < warm_up:
            call()
        taken = [_timed(call, clock)]
        while sum(taken) < seconds:
            taken.append(_timed(call, clock))
        connection.send(statistics.median(taken))


def _timed(call: Call, clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start
