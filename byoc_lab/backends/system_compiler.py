"""C and C++ sources as one library that TVM-FFI loads, built by the system's compiler."""

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
# A C function that ends without `return` returns any number, which TVM takes for an error.
CODE_FLAGS = ("-O2", "-fPIC", "-Werror=return-type")
FLAGS = (*CODE_FLAGS, "-shared", "-Wl,--no-undefined")
HEADERS = Path(__file__).parent
"""The folder of `tensor_argument.h`, to name in `includes`."""
OBJECT_FLAGS = (*CODE_FLAGS, "-c")
COMPILE_SECONDS = 600.0  # processor time
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

    flags: further flags, before the files. includes: folders of headers; TVM-FFI's and DLPack's are
        there. data: arrays by the names under which the sources declare them, such as
        `extern const float weight[64];`. They are put into the library as they are, row-major and
        aligned to 64 bytes: no text is made of them, and the compiler does not see them. Their
        names are those of the whole library that a region is exported into, so they begin with
        the symbol, or the declaration gives the name: `extern const float w[64] __asm__("r0_w");`.

    The files have names of their own ("source_0.c"), in a temporary folder.

    The module has a method `link_into(folder)`, with which `Executable.export_library` compiles the
    sources again into the exported library (see `run.CompiledRegion`).

    Raises BuildError for a symbol or a name of data that is not an identifier of C, for data
    without a plain dtype, when no compiler is found, with the compiler's message when it fails, and
    when the temporary folder is on a file system that allows no execution. Raises
    MissingDependencyError without apache-tvm-ffi. Raises ArgumentError for sources that are not a
    list of `C` and `Cpp`, and for folders of headers that are not a list.
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
            module = tvm_ffi.load_module(str(target))  # the file may go: the library stays mapped
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
    """The package with the headers and the runtime of compiled regions."""
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
    """A region's sources as object files in `folder`, to be linked with `linked()`.

    The arguments and errors are those of `c_library`.
    """
    checked_symbol(symbol)
    made = []
    for path in _written(symbol, sources, data, folder):
        made.append(path.with_suffix(".o"))
        options = [*OBJECT_FLAGS, *_renamed(symbol), *flags, *_included(includes), str(path)]
        _compile(symbol, [*options, "-o", str(made[-1])])
    return made


def _renamed(symbol: str) -> list[str]:
    """The flag under which the sources define the function that GUARD calls."""
    return [f"-D__tvm_ffi_{symbol}=__tvm_ffi_code_of_{symbol}"]


def linked() -> list[str]:
    """Linker arguments for a library of generated code: TVM-FFI at its present location, and
    libm."""
    from tvm_ffi import libinfo

    library = Path(libinfo.find_libtvm_ffi())
    return [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]


def _written(
    symbol: str, sources: Sequence[SourceText], data: Mapping[str, np.ndarray], folder: Path
) -> list[Path]:
    """The files to compile, and beside them the file of the data."""
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
    """Assembly that defines arrays from a file, which it writes, of their bytes."""
    file = folder / "data.bin"
    quoted = str(file).replace("\\", "\\\\").replace('"', '\\"')
    lines = [".section .rodata"]
    with file.open("wb") as out:
        for name, array in data.items():
            if array.dtype.hasobject or not is_symbol(name):
                raise BuildError(
                    f"region @{symbol}: data must be arrays of plain numbers under identifiers of "
                    f"C, found {name!r:.80} of dtype {array.dtype}"
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
    # "undefined reference to `name'" or "undefined symbol: name", by the linker.
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
    found; empty if there is none. Raises BuildError for a CC that cannot be split."""
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
