"""`python -m tests.fuzz`: runs each kind of attack for a given time, or repeats one input by its
seed."""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .attacks import ATTACKS

SAMPLES = Path(__file__).parent / "samples"
REDUCING = 60.0  # seconds for reducing one input
MEMORY = 8 << 30  # bytes of address space per worker
COMMAND = [sys.executable, "-m", "tests.fuzz"]
STUCK = 120.0  # seconds for one input, after which its worker is stopped from outside


def main() -> int:
    """The exit code: 1 if an input revealed a fault (the input is kept in `samples/`), else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--kind", choices=sorted(ATTACKS), help="only this kind")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, help="only this input, made smaller")
    parser.add_argument("--first", type=int, help="the seed to begin with; default: the clock")
    parser.add_argument("--jobs", type=int, default=1, help="how many kinds at a time")
    parser.add_argument("--keep-going", action="store_true", help="after a failure, too")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.seed is not None:
        return _again(given.kind or "mutation", given.seed)
    first = given.first if given.first is not None else time.time_ns() % 10**9
    if given.worker is not None:
        return _work(given.kind, first, given.seconds, given.keep_going, given.worker)
    kinds = [given.kind] if given.kind else sorted(ATTACKS)
    seconds = given.seconds / len(kinds)
    with ThreadPoolExecutor(given.jobs) as jobs:
        good = jobs.map(lambda kind: _guarded(kind, first, seconds, given.keep_going), kinds)
        return 0 if all(list(good)) else 1


def _guarded(kind: str, first: int, seconds: float, keep_going: bool) -> bool:
    """Whether all inputs of a kind passed, in a separate process that may crash or hang."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder, "seed")
        command = [*COMMAND, "--kind", kind, "--first", str(first), "--seconds", str(seconds)]
        command += ["--keep-going"] * keep_going
        worker = subprocess.Popen([*command, "--worker", str(current)])
        while worker.poll() is None:
            time.sleep(0.1)
            changed = current.stat().st_mtime if current.exists() else time.time()
            if time.time() - changed > STUCK or time.monotonic() > until + STUCK:
                worker.kill()
                worker.wait()
        if worker.returncode in (0, 1):
            return worker.returncode == 0
        seed = int(current.read_text()) if current.exists() else first
    print(f"{kind}: the process ended with {worker.returncode} at seed {seed}", flush=True)
    _keep(kind, seed, ATTACKS[kind].make(random.Random(seed)))
    return False


def _work(
    kind: str,
    first: int,
    seconds: float,
    keep_going: bool,
    current: Path,
    memory: int | None = MEMORY,
) -> int:
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seed, steps = first, 0
    until = time.monotonic() + seconds
    faults: set[str] = set()
    while time.monotonic() < until and (keep_going or not faults):
        current.write_text(str(seed))
        data = ATTACKS[kind].make(random.Random(seed))
        fault = _fault(kind, data)
        if isinstance(fault, int):
            steps += fault
        elif fault not in faults:
            faults.add(fault)
            print(f"{kind} seed {seed}: {fault}", flush=True)
            _keep(kind, seed, data)
        seed += 1
    count = seed - first
    print(f"{kind}: {count} inputs from seed {first}, {steps} steps, {len(faults)} faults")
    return 1 if faults else 0


def _keep(kind: str, seed: int, data: bytes) -> None:
    path = SAMPLES / f"{kind}-{seed}"
    path.write_bytes(data)
    print(f"  kept as {path}\n  python -m tests.fuzz --kind {kind} --seed {seed}", flush=True)


def _again(kind: str, seed: int) -> int:
    data = ATTACKS[kind].make(random.Random(seed))
    fault = _fault(kind, data)
    if isinstance(fault, int):
        print(f"{kind} seed {seed}: all is well, {fault} steps")
        return 0
    data = _smaller(data, lambda d: _fault(kind, d) == fault)
    print(data.decode(errors="backslashreplace"), "\n")
    _keep(kind, seed, data)
    ATTACKS[kind].examine(data)  # raises
    return 1


def _fault(kind: str, data: bytes) -> str | int:
    """The number of successful steps; or the error, with the line of the product that raised it."""
    try:
        return ATTACKS[kind].examine(data)
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "byoc_lab" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} in {place}: {str(error)[:100]}"


def _smaller(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    """Removes lines, then single words, as long as the fault remains."""
    until = time.monotonic() + REDUCING
    for unit in (b"\n", b" "):
        parts, size = data.split(unit), len(data.split(unit)) // 2
        while size and time.monotonic() < until:
            at = 0
            while at < len(parts) and time.monotonic() < until:
                fewer = parts[:at] + parts[at + size :]
                if still(unit.join(fewer)):
                    parts = fewer
                else:
                    at += size
            size //= 2
        data = unit.join(parts)
    return data


if __name__ == "__main__":
    sys.exit(main())
