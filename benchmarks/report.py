"""Timing, tables and JSON files that the benchmarks share."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")
PACKAGES = ("apache-tvm", "apache-tvm-ffi", "numpy", "onnxruntime", "torch")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
RESULTS = Path(__file__).resolve().parents[1] / "build" / "benchmarks"


def timed(
    run: Callable[[], Result], clock: Callable[[], float] = time.perf_counter
) -> tuple[Result, float]:
    """Call `run`; return its result and its time in seconds by `clock` (by default the wall
    clock)."""
    start = clock()
    result = run()
    return result, clock() - start


def least(ways: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The minimum processor time of each function over alternating runs, in seconds."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(turns):
        for name, run in ways.items():
            best[name] = min(best[name], timed(run, time.process_time)[1])
    return best


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A text table: the first column left-aligned, the others right-aligned."""
    texts = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[n]) for row in texts) for n in range(len(head))]
    lines = []
    for row in texts:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A time in a suitable unit."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


def forget_peak() -> None:
    """Reset Linux's peak-memory counter; on other systems the peak is since the process started."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """The peak memory of this process since the reset."""
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def machine() -> dict[str, Any]:
    """The machine of a measurement: the processor, and software versions."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        **processor(),
        "versions": versions,
    }


def processor() -> dict[str, Any]:
    """The processor's name and the vector instructions that determine kernels, according to
    Linux."""
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags", "").split()
    cache = facts.get("cache size", "unknown")
    return {
        "processor": facts.get("model name", "unknown"),
        "instructions": [name for name in INSTRUCTIONS if name in flags],
        "cache": cache,
    }


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write `data` and a description of the machine; print the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **data}, indent=2) + "\n")
    print(f"\nwritten: {path}")


def arguments(doc: str) -> argparse.ArgumentParser:
    """A parser with the common option of all benchmarks."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    return parser


def verdict(misses: Sequence[str]) -> int:
    """Print the claims that are not satisfied; returns the exit status."""
    for miss in misses:
        print(f"MISSED  {miss}")
    print("all claims hold" if not misses else f"{len(misses)} claims missed")
    return 1 if misses else 0
