"""C and C++ sources as one library that TVM-FFI loads, built by the system's compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.errors import BuildError

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-shared", "-fPIC", "-Wl,--no-undefined")


def c_library(
    symbol: str,
    sources: Mapping[str, str],
    flags: Sequence[str] = (),
    includes: Sequence[Path] = (),
) -> Any:
    """The TVM-FFI module of a region's sources.

    sources: texts by file name; what the name ends in (.c, .cc) is their language.
    flags: further flags, before the files. includes: folders of headers; TVM-FFI's and DLPack's are
        there.

    Raises BuildError when no compiler is there, with the compiler's words when it fails.
    """
    import tvm_ffi
    from tvm_ffi import libinfo

    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise BuildError(
            f"region @{symbol} needs a C compiler, and found none of {', '.join(COMPILERS)}. "
            f"Install one (Debian, Ubuntu: sudo apt-get install gcc), or name it in the "
            f"environment variable CC"
        )
    library = Path(libinfo.find_libtvm_ffi())
    folders = [*includes, libinfo.find_include_path(), libinfo.find_dlpack_include_path()]
    with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
        paths = [Path(folder) / name for name in sources]
        for path, text in zip(paths, sources.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        target = Path(folder) / "region.so"
        runtime = [] if all(path.suffix == ".c" for path in paths) else ["-lstdc++"]
        command = [compiler, *FLAGS, *flags, *(f"-I{i}" for i in folders), *map(str, paths),
                   "-o", str(target), str(library), f"-Wl,-rpath,{library.parent}", "-lm",
                   *runtime]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"region @{symbol}: {' '.join(command)}\nfailed:\n{done.stderr}")
        return tvm_ffi.load_module(str(target))  # the file may go: the library stays mapped
