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
OBJECT_FLAGS = ("-O2", "-c", "-fPIC")


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

    with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
        target = Path(folder) / "region.so"
        paths = _written(sources, Path(folder))
        runtime = [] if all(path.suffix == ".c" for path in paths) else ["-lstdc++"]
        options = [*FLAGS, *flags, *_included(includes), *map(str, paths), "-o", str(target)]
        _compile(symbol, [*options, *linked(), *runtime])
        return tvm_ffi.load_module(str(target))  # the file may go: the library stays mapped


def c_objects(
    symbol: str,
    sources: Mapping[str, str],
    folder: Path,
    flags: Sequence[str] = (),
    includes: Sequence[Path] = (),
) -> list[Path]:
    """A region's sources as object files in `folder`, to be linked with `linked()`.

    The arguments and errors are those of `c_library`.
    """
    made = []
    for path in _written(sources, folder):
        made.append(path.with_suffix(".o"))
        options = [*OBJECT_FLAGS, *flags, *_included(includes), str(path), "-o", str(made[-1])]
        _compile(symbol, options)
    return made


def linked() -> list[str]:
    """What a library of such code is linked with: TVM-FFI, found where it is now, and C's own."""
    from tvm_ffi import libinfo

    library = Path(libinfo.find_libtvm_ffi())
    return [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]


def _written(sources: Mapping[str, str], folder: Path) -> list[Path]:
    paths = [folder / name for name in sources]
    for path, text in zip(paths, sources.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def _included(includes: Sequence[Path]) -> list[str]:
    from tvm_ffi import libinfo

    folders = [*includes, libinfo.find_include_path(), libinfo.find_dlpack_include_path()]
    return [f"-I{folder}" for folder in folders]


def _compile(symbol: str, options: Sequence[str]) -> None:
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise BuildError(
            f"region @{symbol} needs a C compiler, and found none of {', '.join(COMPILERS)}. "
            f"Install one (Debian, Ubuntu: sudo apt-get install gcc), or name it in the "
            f"environment variable CC"
        )
    command = [compiler, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"region @{symbol}: {' '.join(command)}\nfailed:\n{done.stderr}")
