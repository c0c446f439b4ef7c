"""Measures the time of `import byoc_lab` beyond `import numpy`, which it needs: processor time, the
minimum over ten new processes, with cached bytecode."""

from __future__ import annotations

import os
import subprocess
import sys

from report import arguments, seconds, table, verdict, write_json

LIMIT = 0.15
PROBE = (
    "import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
)


def import_seconds(module: str) -> float:
    """The processor time in seconds that a new interpreter takes to import `module`, without its
    own start."""
    command = [sys.executable, "-c", PROBE.format(module=module)]
    # The bytecode is cached, as on a user's machine, even if the environment forbids it.
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=cached)
    return float(run.stdout)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    rows, times = [], {}
    for module in ("numpy", "byoc_lab"):
        import_seconds(module)  # writes the bytecode
        times[module] = [import_seconds(module) for _ in range(options.runs)]
        rows.append([module, seconds(min(times[module])), seconds(max(times[module]))])
    print(table(["import", "least", "most"], rows))
    beyond = min(times["byoc_lab"]) - min(times["numpy"])
    print(f"beyond numpy: {seconds(beyond)}")
    write_json(
        options.out / "import_time.json",
        {"limit": LIMIT, "beyond_numpy": beyond, "seconds": times},
    )
    missed = f"import byoc_lab takes {beyond:.3f} s beyond numpy, limit {LIMIT} s"
    return verdict([missed] * (beyond > LIMIT))


if __name__ == "__main__":
    sys.exit(main())
