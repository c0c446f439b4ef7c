"""`python -m tests.fuzz`: random texts for a given time, or one of them again by its seed."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from .examine import examine
from .mutations import spoiled

REDUCING = 60.0  # seconds that making a text smaller may take


def main() -> int:
    """0 when all texts were well, 1 when one was not (written to a file), as in any test."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, help="only this text, made smaller")
    parser.add_argument("--first", type=int, help="the seed to begin with; default: the clock")
    parser.add_argument("--keep-going", action="store_true", help="after a failure, too")
    given = parser.parse_args()
    if given.seed is not None:
        return _again(given.seed)
    seed = given.first if given.first is not None else time.time_ns() % 10**9
    first, good, steps = seed, True, 0
    until = time.monotonic() + given.seconds
    faults: set[str] = set()
    while time.monotonic() < until and (good or given.keep_going):
        text = spoiled(random.Random(seed))
        fault = _fault(text)
        if isinstance(fault, int):
            steps += fault
        elif fault not in faults:
            faults.add(fault)
            good = False
            print(f"seed {seed}: {fault}\n  python -m tests.fuzz --seed {seed}", flush=True)
        seed += 1
    print(f"{seed - first} texts from seed {first}, {steps} steps, {len(faults)} faults")
    return 0 if good else 1


def _again(seed: int) -> int:
    text = spoiled(random.Random(seed))
    fault = _fault(text)
    if isinstance(fault, int):
        print(f"seed {seed}: all is well, {fault} steps")
        return 0
    text = _smaller(text, lambda t: _fault(t) == fault)
    path = Path(f"fuzz-{seed}.relay")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    print(f"{text}\n\nwritten to {path}", flush=True)
    examine(text)  # raises
    return 1


def _fault(text: str) -> str | int:
    """How many steps went well; or what was raised, and the line of the product it came from."""
    try:
        return examine(text)
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "byoc_lab" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} in {place}: {str(error)[:100]}"


def _smaller(text: str, still: Callable[[str], bool]) -> str:
    """Lines, then single words left out as long as the fault stays."""
    until = time.monotonic() + REDUCING
    for unit in ("\n", " "):
        parts, size = text.split(unit), len(text.split(unit)) // 2
        while size and time.monotonic() < until:
            at = 0
            while at < len(parts) and time.monotonic() < until:
                fewer = parts[:at] + parts[at + size :]
                if still(unit.join(fewer)):
                    parts = fewer
                else:
                    at += size
            size //= 2
        text = unit.join(parts)
    return text


if __name__ == "__main__":
    sys.exit(main())
