"""How long `import byoc_lab` takes: the median of ten fresh processes, bytecode cached."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from report import arguments, seconds, table, verdict, write_json

LIMIT = 0.3
PROBE = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


def import_seconds(module: str) -> float:
    """Seconds that a fresh interpreter takes to import `module`, its own start not counted."""
    command = [sys.executable, "-c", PROBE.format(module=module)]
    # The bytecode is cached, as it is on a user's machine, also where the environment forbids it.
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=cached)
    return float(run.stdout)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    rows, times = [], {}
    for module in ("numpy", "byoc_lab"):  # the first is what the second cannot do without
        import_seconds(module)  # writes the bytecode
        times[module] = [import_seconds(module) for _ in range(options.runs)]
        shown = (statistics.median(times[module]), min(times[module]), max(times[module]))
        rows.append([module, *map(seconds, shown)])
    print(table(["import", "median", "least", "most"], rows))
    median = statistics.median(times["byoc_lab"])
    write_json(
        options.out / "import_time.json",
        {"limit": LIMIT, "median": median, "seconds": times},
    )
    return verdict([f"import byoc_lab: {median:.3f} s, limit {LIMIT} s"] * (median >= LIMIT))


if __name__ == "__main__":
    sys.exit(main())
