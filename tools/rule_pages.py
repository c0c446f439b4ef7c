"""Write docs/rules.md from the lint rules: `python tools/rule_pages.py`.

`--check` writes nothing and fails if the file is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from byoc_lab.lab.linting.pages import all_pages

TARGET = Path(__file__).resolve().parents[1] / "docs" / "rules.md"


def main(arguments: list[str]) -> int:
    wanted = all_pages()
    if "--check" in arguments:
        fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print(f"{TARGET.name} is up to date" if fresh else f"run python {sys.argv[0]}")
        return 0 if fresh else 1
    TARGET.write_text(wanted, encoding="utf-8")
    print(f"wrote {TARGET.name}: {wanted.count(chr(10) + '## BYL')} rules")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
