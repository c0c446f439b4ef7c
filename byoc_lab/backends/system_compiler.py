"""Compiles C and C++ sources with the system's compiler into a library that TVM-FFI loads."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from byoc_lab.containment.children import ChildError, run
from byoc_lab.errors import ArgumentError, BuildError, MissingDependencyError
from byoc_lab.run.symbols import checked_symbol, is_symbol

COMPILERS = ("cc", "gcc", "clang")
# A C function without `return` returns an arbitrary number, which TVM interprets as an error.
CODE_FLAGS = ("-O2", "-fPIC", "-Werror=return-type")
FLAGS = (*CODE_FLAGS, "-shared", "-Wl,--no-undefined")
HEADERS = Path(__file__).parent
"""The folder of `tensor_argument.h`, for the argument `includes`."""
OBJECT_FLAGS = (*CODE_FLAGS, "-c")
COMPILE_SECONDS = 600.0  # limit of processor time
DATA_ALIGNMENT = 64  # bytes: a cache line, and the longest vector
# If a function returns -1, TVM-FFI reads the error that it has set, and crashes if there is none.
# Therefore the function of a region is compiled under another name, and called by this one.
GUARD = """
#undef __tvm_ffi_{symbol}
#include <tvm/ffi/c_api.h>

int __tvm_ffi_code_of_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  int status = __tvm_ffi_code_of_{symbol}(self, args, count, result);
  if (status != -1) return status;
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL)
    TVMFFIErrorSetRaised(error);
  else
    TVMFFIErrorSetRaisedFromCStr("RegionError",
        "region @{symbol}: its code returned -1, which says that it failed, and set no error; "
        "set_region_error of tensor_argument.h sets one");
  if (error != NULL) TVMFFIObjectDecRef(error);
  return -1;
}}
"""
NO_DATA: Mapping[str, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class SourceText:
    """A text to compile, and the suffix of its file."""

    text: str
    suffix: str


@dataclass(frozen=True)
class C(SourceText):
    """A text in C."""

    suffix: str = ".c"


@dataclass(frozen=True)
class Cpp(SourceText):
    """A text in C++."""

    suffix: str = ".cc"


def c_library(
    symbol: str,
    sources: Sequence[SourceText],
    flags: Sequence[str] = (),
    includes: Sequence[Path] = (),
    data: Mapping[str, np.ndarray] = NO_DATA,
) -> Any:
    """The TVM-FFI module of a region's sources.

    flags: further flags, before the files. includes: folders of headers; TVM-FFI's and DLPack's
    headers are always available. data: arrays by the names that the sources declare, such as
    `extern const float weight[64];`. Their bytes are linked into the library, row-major and aligned
    to 64 bytes, without passing through the compiler as text. These names are global in an exported
    library, so they must begin with the symbol, or the declaration must set such a name: `extern
    const float w[64] __asm__("r0_w");`.

    The files have fixed names ("source_0.c", ...) in a temporary folder.

    The module has a method `link_into(folder)`, with which `Executable.export_library` compiles the
    sources again into the exported library (see `run.CompiledRegion`).

    Raises BuildError for a symbol or a name of data that is not an identifier of C, for data
    without a plain dtype, if no compiler is found, if the compiler fails (with its message), and if
    the temporary folder is on a file system mounted without permission to execute. Raises
    MissingDependencyError without apache-tvm-ffi. Raises ArgumentError if `sources` is not a list
    of `C` and `Cpp`, or `includes` is not a list.
    """
    checked_symbol(symbol)
    _compiler(symbol)
    tvm_ffi = _tvm_ffi(symbol)

    with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
        target = Path(folder) / "region.so"
        paths = _written(symbol, sources, data, Path(folder))
        needed = _needed(sources)
        options = [*FLAGS, *_renamed(symbol), *flags, *_included(includes), *map(str, paths)]
        _compile(symbol, [*options, "-o", str(target), *needed])
        try:
            # The file may be deleted: the loaded library stays mapped in memory.
            module = tvm_ffi.load_module(str(target))
        except (RuntimeError, OSError) as error:
            raise BuildError(
                f"region @{symbol} was compiled, and its library cannot be loaded: {error}. If "
                f"{tempfile.gettempdir()} is mounted without permission to execute (noexec), name "
                f"another folder in the environment variable TMPDIR"
            ) from error

    def link_into(folder: Path) -> tuple[list[Path], list[str]]:
        return c_objects(symbol, sources, folder, flags, includes, data), needed

    module.link_into = link_into
    return module


def _needed(sources: Sequence[SourceText]) -> list[str]:
    """Linker arguments for a library of these sources."""
    return [*linked(), *(["-lstdc++"] if any(isinstance(s, Cpp) for s in sources) else [])]


def _tvm_ffi(symbol: str) -> Any:
    """The package tvm_ffi, with the headers and the runtime of compiled regions."""
    try:
        import tvm_ffi
    except (ImportError, OSError) as error:
        raise MissingDependencyError(
            f"region @{symbol}: its code needs apache-tvm-ffi, which cannot be imported ({error}); "
            f"install it with: pip install 'apache-tvm-ffi>=0.1.15,<0.2'"
        ) from error
    return tvm_ffi


def c_objects(
    symbol: str,
    sources: Sequence[SourceText],
    folder: Path,
    flags: Sequence[str] = (),
    includes: Sequence[Path] = (),
    data: Mapping[str, np.ndarray] = NO_DATA,
) -> list[Path]:
    """Compile a region's sources to object files in `folder`, to be linked with the flags of
    `linked()`.

    Arguments and errors are as in `c_library`.
    """
    checked_symbol(symbol)
    made = []
    for path in _written(symbol, sources, data, folder):
        made.append(path.with_suffix(".o"))
        options = [*OBJECT_FLAGS, *_renamed(symbol), *flags, *_included(includes), str(path)]
        _compile(symbol, [*options, "-o", str(made[-1])])
    return made


def _renamed(symbol: str) -> list[str]:
    """The compiler flag that renames the function in the sources to the name that GUARD calls."""
    return [f"-D__tvm_ffi_{symbol}=__tvm_ffi_code_of_{symbol}"]


def linked() -> list[str]:
    """Linker arguments for a library of generated code: TVM-FFI in its installed folder, and
    libm."""
    from tvm_ffi import libinfo

    library = Path(libinfo.find_libtvm_ffi())
    return [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]


def _written(
    symbol: str, sources: Sequence[SourceText], data: Mapping[str, np.ndarray], folder: Path
) -> list[Path]:
    """Write the files to compile, and the file with the data; returns the files to compile."""
    if not isinstance(sources, (list, tuple)) or not all(
        isinstance(source, SourceText) for source in sources
    ):
        raise ArgumentError(
            f"region @{symbol}: its sources must be a list such as [C(text)], found "
            f"{type(sources).__name__} {sources!r:.60}"
        )
    sources = [*sources, C(GUARD.format(symbol=symbol))]
    if data:
        sources = [*sources, _data(symbol, data, folder)]
    paths = [folder / f"source_{n}{source.suffix}" for n, source in enumerate(sources)]
    for path, source in zip(paths, sources, strict=True):
        try:
            path.write_text(source.text, encoding="utf-8")
        except UnicodeEncodeError as error:
            raise BuildError(f"region @{symbol}: its source is not text: {error}") from error
    return paths


def _data(symbol: str, data: Mapping[str, np.ndarray], folder: Path) -> SourceText:
    """Assembly that defines arrays from a file with their bytes, which this function writes."""
    file = folder / "data.bin"
    quoted = str(file).replace("\\", "\\\\").replace('"', '\\"')
    lines = [".section .rodata"]
    with file.open("wb") as out:
        for name, array in data.items():
            if array.dtype.hasobject or not is_symbol(name):
                raise BuildError(
                    f"region @{symbol}: data must be arrays of plain numbers, named by "
                    f"identifiers of C, found {name!r:.80} of dtype {array.dtype}"
                )
            at = out.tell()
            out.write(np.ascontiguousarray(array).tobytes())
            size = out.tell() - at
            lines += [
                f".balign {DATA_ALIGNMENT}",
                f".globl {name}",
                f".hidden {name}",
                f".type {name}, @object",
                f".size {name}, {size}",
                f"{name}:",
                f'.incbin "{quoted}", {at}, {size}' if size else "",
            ]
    lines.append('.section .note.GNU-stack,"",@progbits')
    return SourceText("\n".join([*lines, ""]), ".s")


def _included(includes: Sequence[Path]) -> list[str]:
    from tvm_ffi import libinfo

    if isinstance(includes, (str, Path)):
        raise ArgumentError(f"includes must be a list of folders, found {includes!r}; write [...]")
    folders = [*includes, libinfo.find_include_path(), libinfo.find_dlpack_include_path()]
    return [f"-I{folder}" for folder in folders]


def _compile(symbol: str, options: Sequence[str]) -> None:
    command = [*_compiler(symbol), *options]
    try:
        done = run(command, COMPILE_SECONDS)
    except ChildError as error:
        raise BuildError(
            f"region @{symbol}: the compiler did not end: {shlex.join(command)}: {error}"
        ) from None
    except OSError as error:
        raise BuildError(
            f"region @{symbol}: the compiler {command[0]!r} cannot be run ({error}); the "
            f"environment variable CC names the compiler, with options if needed"
        ) from error
    # The linker's messages: "undefined reference to `name'" or "undefined symbol: name".
    if re.search(rf"undefined [^\n]*\b__tvm_ffi_code_of_{symbol}\b", done.errors):
        raise BuildError(
            f"region @{symbol}: its sources define no function __tvm_ffi_{symbol}; the region's "
            f"code must be there under that name"
        )
    if done.code != 0:
        raise BuildError(
            f"region @{symbol}: its code does not compile:\n{done.errors.strip()}\n"
            f"The command was {shlex.join(command)}"
        )


def compiler_command() -> list[str]:
    """The C compiler: the value of CC, split as a shell does ("ccache gcc"), or the first one
    found; empty if there is none. Raises BuildError if the value of CC cannot be split."""
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise BuildError(
            f"the environment variable CC={os.environ['CC']!r} cannot be split into words as a "
            f"shell does: {error}"
        ) from error
    return named or [path for path in map(shutil.which, COMPILERS) if path][:1]


def _compiler(symbol: str) -> list[str]:
    found = compiler_command()
    if not found:
        raise BuildError(
            f"region @{symbol} needs a C compiler, and found none of {', '.join(COMPILERS)}. "
            f"Install one (Debian, Ubuntu: sudo apt-get install gcc), or name it in the "
            f"environment variable CC"
        )
    return found
