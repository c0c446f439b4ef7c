"""Checks all claims about run-time speed: runs the benchmarks in sequence, each part of
`inference.py` in a separate process. Results are written to benchmarks/results, which is
version-controlled."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from contenders import NETWORKS
from inference import THREADS

HERE = Path(__file__).resolve().parent
COMMANDS = [
    ["fallbacks.py"],
    ["layouts.py"],
    ["overhead.py"],
    ["preparing.py"],
    *(["inference.py", "--networks", n, "--threads", str(t)] for n in NETWORKS for t in THREADS),
    *([path.name] for path in sorted(HERE.glob("int8_*.py"))),
]


def main() -> int:
    failed = []
    for command in COMMANDS:
        print(f"\n$ {' '.join(command)}", flush=True)
        start = time.perf_counter()
        script, *rest = command
        run = [sys.executable, str(HERE / script), *rest, "--out", str(HERE / "results")]
        if subprocess.run(run, check=False).returncode:
            failed.append(" ".join(command))
        print(f"({time.perf_counter() - start:.0f} s)")
    print("\nall claims hold" if not failed else f"\nclaims missed by: {'; '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
