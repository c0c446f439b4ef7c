"""Print the coverage measured by `make coverage`, one row per folder of the package."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import coverage


def measured() -> dict[str, dict[str, dict[str, int]]]:
    """coverage.py's report for each file."""
    data = coverage.Coverage()
    data.load()
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        path = Path(folder) / "coverage.json"
        data.json_report(outfile=str(path))
        return json.loads(path.read_text())["files"]


def main() -> None:
    statements: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    for file, report in measured().items():
        folder = str(Path(file).parent)
        statements[folder] += report["summary"]["num_statements"]
        covered[folder] += report["summary"]["covered_lines"]
    for folder in sorted(statements):
        share = covered[folder] / statements[folder] if statements[folder] else 1.0
        print(f"{folder:40} {share:6.1%} of {statements[folder]:5} statements")
    total = sum(covered.values()) / sum(statements.values())
    print(f"{'all':40} {total:6.1%} of {sum(statements.values()):5} statements")


if __name__ == "__main__":
    main()
