"""Run a script or module written for TVM's Relay, as it is.

    python -m byoc_lab.compat script.py [arguments]
    python -m byoc_lab.compat -m module [arguments]

Under `-m pytest`, the fixtures `target` and `dev` and the parametrization of `tvm.testing` are
there (`tvm.testing.plugin`).
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from byoc_lab.compat.overlay import install


def main(arguments: list[str]) -> int:
    """Run what `arguments` name; its own exit code comes as SystemExit."""
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest or rest[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    install()
    sys.argv = rest
    if not as_module:
        sys.path[0] = str(Path(rest[0]).resolve().parent)
        runpy.run_path(rest[0], run_name="__main__")
        return 0
    if rest[0] == "pytest":
        sys.argv[1:1] = ["-p", "tvm.testing.plugin"]
    sys.path[0] = ""
    runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
