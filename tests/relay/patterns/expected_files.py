"""Writes the files of `expected/`: TVM 0.16's result for each case.

python -m tests.relay.patterns.expected_files
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.parity.client import python_path, skip_reason
from tests.relay.patterns.cases import CASES

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "expected"


def ask_tvm() -> dict[str, dict[str, Any]]:
    """By case: `matched`, and the `text` of the partitioned module.

    Needs the oracle's Python.
    """
    command = [str(python_path()), str(HERE / "tvm_outcomes.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"TVM failed on a case: {done.stderr[-2000:]}")
    return json.loads(done.stdout)["outcomes"]


def write(outcomes: dict[str, dict[str, Any]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, found in outcomes.items():
        head = f"// {CASES[name].why}\n// matched: {' '.join(found['matched'])}".rstrip()
        (FOLDER / f"{name}.relay").write_text(f"{head}\n{found['text']}")


def read(name: str) -> dict[str, Any]:
    _, matched, text = (FOLDER / f"{name}.relay").read_text().split("\n", 2)
    return {"matched": matched.removeprefix("// matched:").split(), "text": text}


if __name__ == "__main__":
    reason = skip_reason()
    if reason is not None:
        raise SystemExit(reason)
    write(ask_tvm())
    print(f"written: {len(CASES)} files in {FOLDER}")
