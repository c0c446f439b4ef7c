"""`byoc-lab doctor`: checks the installation and tells how to install missing parts."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from byoc_lab import plugins
from byoc_lab.errors import ByocLabError, MissingDependencyError, NativeExtensionError, counted
from byoc_lab.printing import printable

# dnnl_cpu_isa_t of oneDNN (dnnl_types.h).
INSTRUCTION_SETS = {
    0x1: "SSE4.1", 0x3: "AVX", 0x7: "AVX2", 0xF: "AVX2 with VNNI", 0x1F: "AVX2 with VNNI and bf16",
    0x27: "AVX-512", 0x67: "AVX-512 with VNNI", 0xE7: "AVX-512 with VNNI and bf16",
    0x1EF: "AVX-512 with VNNI, bf16 and fp16", 0xFEF: "AVX-512 with VNNI, bf16, fp16 and AMX",
    0x1FEF: "AVX-512 with VNNI, bf16, fp16 and AMX with fp16",
    0x201FF: "AVX10.2 with VNNI, bf16 and fp16",
    0x22FFF: "AVX10.2 with VNNI, bf16, fp16 and AMX with fp8",
}  # fmt: skip
# Dtypes and the words in an instruction set's name that show instructions for them.
LACKING = {"VNNI": "8-bit integers", "bf16": "bfloat16"}
THREAD_VARIABLES = (
    "BYOC_LAB_THREADS",
    "OMP_NUM_THREADS",
    "TVM_NUM_THREADS",
    "TVM_THREAD_POOL_SPIN_COUNT",
)


@dataclass(frozen=True)
class Check:
    """One line of the report.

    found: the version or path, None if missing. advice: how to install it. needed: False if
    optional.
    """

    name: str
    found: str | None
    advice: str = ""
    needed: bool = True

    @property
    def missing(self) -> bool:
        return self.found is None and self.needed

    @printable
    def __str__(self) -> str:
        if self.found is not None:
            return f"ok        {self.name}: {self.found}"
        return f"{'MISSING' if self.needed else 'optional':8}  {self.name}: {self.advice}"


def examine() -> Iterator[Check]:
    """Run the checks; each gives one line of the report."""
    yield Check("Python", f"{platform.python_version()}, {sys.executable}")
    yield Check("byoc_lab", _byoc_lab())
    yield Check("runs here", _runs_here())
    yield _package("numpy", "numpy")
    yield _checked("apache-tvm", _tvm)
    yield _package("apache-tvm-ffi", "'apache-tvm-ffi>=0.1.15,<0.2'")
    yield _checked("DNNL extension", _extension)
    yield _checked("instruction set", _instruction_set)
    yield _checked("threads", _threads)
    for name in ("anywidget", "ipywidgets", "jupyterlab"):
        yield _package(name, name)
    yield _checked("graph layout", _layout)
    yield _checked("notebooks", _notebooks, needed=False)
    yield _checked("C compiler", _compiler, needed=False)
    yield _checked("containment", _containment, needed=False)
    for name in ("onnx", "torch"):
        yield _package(name, name, needed=False)
    packages = plugins.packages()
    for name, package in packages.items():
        yield _checked(f"back end {name}", partial(_loaded, name, package), needed=False)
    for name, found in _registered():
        if name not in packages:
            yield Check(f"back end {name}", found, needed=False)


def _loaded(name: str, package: str) -> str:
    plugins.load(name)
    return package


def _registered() -> Iterator[tuple[str, str]]:
    """The registered back ends, with their pattern tables and code generators."""
    from byoc_lab import backends
    from byoc_lab.relax.backends import registered

    for name in backends.names():
        found = backends.get(name)
        operators = counted(len(found.supports), "operator")
        yield name, _in_words(len(found.patterns()), f" and {operators}", found.codegen)
    for own in registered():
        yield f"{own.name} of Relax", _in_words(len(own.table()), "", own.codegen)


def _in_words(patterns: int, more: str, codegen: object) -> str:
    code = "no" if codegen is None else "a"
    return f"{counted(patterns, 'pattern')}{more}, {code} code generator"


def _package(name: str, wanted: str, needed: bool = True) -> Check:
    try:
        return Check(name, importlib.metadata.version(name), needed=needed)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, None, f"not installed; pip install {wanted}", needed)


def _checked(name: str, ask: Callable[[], str], needed: bool = True) -> Check:
    """The result of `ask`, which raises an error with advice if something is missing."""
    try:
        return Check(name, ask(), needed=needed)
    except (ByocLabError, ImportError) as error:
        return Check(name, None, str(error), needed)


def _byoc_lab() -> str:
    import byoc_lab

    return f"{byoc_lab.__version__}, {os.path.dirname(byoc_lab.__file__)}"


def _runs_here() -> str:
    """The parts of byoc_lab that this machine can run, according to the table "Where it runs" of
    the README."""
    from byoc_lab import backends
    from byoc_lab.run import tvm_runtime

    parts = ["language, passes, lint, explain, diff, view, build, validate, exercises"]
    for words, missing in (
        ("DNNL regions", backends.get("dnnl").stand_in()),
        ("the host part of programs", tvm_runtime.stand_in()),
    ):
        parts.append(words if missing is None else f"{words} {missing}")
    return f"{platform.system()} {platform.machine()}: {'; '.join(parts)}"


def _tvm() -> str:
    from byoc_lab.run.tvm_runtime import REQUIREMENT, import_tvm

    tvm = import_tvm()
    if not tvm.runtime.enabled("llvm"):
        raise NativeExtensionError(
            f"apache-tvm {tvm.__version__} has no LLVM; "
            f"install the wheel with: pip install '{REQUIREMENT}'"
        )
    return f"{tvm.__version__}, with LLVM"


def _extension() -> str:
    from byoc_lab.backends.dnnl import native

    return native.library()


def _instruction_set() -> str:
    from byoc_lab.backends.dnnl import native

    found = native.onednn().dnnl_get_effective_cpu_isa()
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA")
    limited = f" (ONEDNN_MAX_CPU_ISA={limit})" if limit else ""
    name = INSTRUCTION_SETS.get(found, f"unknown to byoc_lab ({found:#x})")
    lacks = [numbers for word, numbers in LACKING.items() if word not in name]
    without = f"; no instructions for {' and '.join(lacks)}: right, but slower than with them"
    return f"{name}{limited}" + (without if lacks else "")


def _threads() -> str:
    from byoc_lab.backends.dnnl import native

    used = native.get_num_threads()
    processors = len(os.sched_getaffinity(0))  # the extension exists only on Linux
    settings = ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in THREAD_VARIABLES)
    return f"DNNL uses {used} on {processors} processors; {settings}"


def _layout() -> str:
    from byoc_lab.lab.view.drawing.layout import find_dot

    found = find_dot()
    if found is None:
        raise MissingDependencyError("no layout program; pip install graphviz graphviz-pure")
    return f"{_version('graphviz-pure') or 'of the system'}, {found}"


def _containment() -> str:
    """The kind of container that `grade` uses for notebooks, and what limits their memory."""
    from byoc_lab.containment import containers, groups

    reason = groups.failure()
    counted = f"the grader, fifty times a second ({reason})" if reason else "a control group"
    return f"{containers.way()}; memory of notebooks is counted by {counted}"


def _notebooks() -> str:
    from byoc_lab.lessons.course_files import installed_course

    return f"{installed_course()}; `byoc-lab notebooks` copies and opens them"


def _version(name: str) -> str | None:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> str:
    from byoc_lab.backends.system_compiler import compiler_command

    named = compiler_command()
    if not named:
        raise MissingDependencyError(
            "none found. Exporting libraries and the back end ccompiler need one; install it "
            "(Debian, Ubuntu: sudo apt-get install gcc), or name it in the environment variable CC"
        )
    return shlex.join(named)
