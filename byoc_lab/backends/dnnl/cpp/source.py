"""A region as C++ code that uses oneDNN's public API and computes the same as the native runtime.

The code is meant to be read and copied, so it is plain: every operation reorders its operands and
allocates its result. The runtime (native/) prepares all of this once.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from byoc_lab.backends.dnnl.cpp import words
from byoc_lab.backends.dnnl.cpp.operations import QUANTIZED, WRITERS
from byoc_lab.backends.dnnl.cpp.tensors import Operation, Tensors, check_graph
from byoc_lab.backends.dnnl.graph import MAX_POST_OPS
from byoc_lab.errors import BuildError
from byoc_lab.run.symbols import c_text

HEADER = Path(__file__).parent / "onednn_region.h"
QUANTIZED_HEADER = HEADER.with_name("onednn_quantized.h")
PostOps = Sequence[dict[str, Any]]
# Kinds whose primitive includes post-ops, up to oneDNN's limit.
FUSED = ("conv", "dense", "matmul")
SOURCE, LIBRARY = "region.cc", "region.so"  # file names in the command that compiles a source


def compile_command(source: str, library: str, folder: Path | None = None) -> list[str]:
    """The command that compiles a source into a shared library, with the oneDNN that the extension
    was built with.

    Raises BuildError if oneDNN's headers are missing.
    """
    package = folder or _package()
    include, libraries = package / "_include", package / "_libs"
    if (elsewhere := libraries / "directory").exists():  # oneDNN is installed elsewhere
        libraries = Path(elsewhere.read_text(encoding="utf-8"))
    if not (include / "dnnl.hpp").exists():
        raise BuildError(f"oneDNN's headers are not in {include}: install the package again")
    return [
        "g++", "-std=c++17", "-O2", "-shared", "-fPIC", source, "-o", library,
        f"-I{HEADER.parent}", f"-I{include}", f"-L{libraries}", "-l:libdnnl.so.3",
        f"-Wl,-rpath,{libraries}",
    ]  # fmt: skip


def _package() -> Path:
    """The folder of this package's compiled files. In an editable installation, it is not the
    folder of the Python files."""
    from importlib.metadata import files

    for file in files("byoc-lab") or ():
        if file.name == "libbyoc_lab_dnnl.so":
            return Path(str(file.locate())).resolve().parent
    return Path(__file__).parents[3]


def cpp_source(graph: dict[str, Any]) -> str:
    """C++ that defines `void <symbol>(inputs, constants, outputs)`. Each parameter is an array of
    row-major arrays with the dtypes of the graph's tensors.

    graph: as in native/README.md. Raises BuildError for a malformed graph.
    """
    try:
        check_graph(graph)
        return _CppWriter(graph).file()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise BuildError(
            f"no C++ can be written for a malformed graph: {type(error).__name__}: {error}; "
            f"native/README.md documents graphs"
        ) from error


class _CppWriter(Tensors):
    def __init__(self, graph: dict[str, Any]):
        super().__init__(graph)
        self.lines: list[str] = []

    def file(self) -> str:
        graph, symbol = self.graph, self.graph["symbol"]
        for role in ("inputs", "constants"):
            for n, tensor in enumerate(graph[role]):
                array = f"{self.dims(tensor)}, {role}[{n}]{self.type(tensor)}"
                self.lines.append(f"memory t{tensor} = given({array});")
        for op in graph["ops"]:
            self.lines += [f"// {c_text(op['name'])}", *self._op(op)]
        for n, tensor in enumerate(graph["outputs"]):
            to = f"array({self.dims(tensor)}, outputs[{n}]{self.type(tensor)})"
            self.lines.append(f"copy(as(t{tensor}, {self.plain(tensor)}), {to});")
        body = "\n".join(f"  {line}" for line in self.lines)
        kinds = {op["kind"] for op in graph["ops"]}
        header = QUANTIZED_HEADER if kinds & set(QUANTIZED) else HEADER
        command = shlex.join(compile_command(SOURCE, LIBRARY))
        return (
            f"// Compile with:\n// {c_text(command)}\n"
            f'#include "{header.name}"\n\n'
            f'extern "C" void {symbol}(const void* const* inputs, const void* const* constants,\n'
            f"{' ' * (17 + len(symbol))}void* const* outputs) {{\n{body}\n}}\n"
        )

    def _op(self, op: Operation) -> list[str]:
        kind, output = op["kind"], op["output"]
        write = WRITERS[words.family(kind)]
        # A transposed convolution fuses nothing: `kDeconvolutionFuses` in onednn_faults.h.
        fuses = kind.startswith(FUSED) and not kind.endswith("_transpose")
        fused = op["post_ops"][: MAX_POST_OPS if fuses else 0]
        operands: list[str] = []
        chain = self._post_ops(op, fused, operands) if kind.startswith(FUSED) else []
        made = [*chain, *write(self, op, operands)]
        lines = [f"memory t{output};", "{", *(f"  {line}" for line in made), "}"]
        return [*lines, *self._separate(op, op["post_ops"][len(fused) :])]

    def _post_ops(self, op: Operation, fused: PostOps, operands: list[str]) -> list[str]:
        lines = ["post_ops ops;"]
        rank = len(self.shape(op["output"]))
        for n, post_op in enumerate(fused):
            if post_op["kind"] == "eltwise":
                lines.append(f"ops.append_eltwise({words.eltwise(post_op)});")
                continue
            other = post_op["input"]
            desc = self.plain(other, words.padded(self.shape(other), rank))
            lines.append(f"ops.append_binary({words.binary(post_op)}, {desc});")
            operands.append(
                f"{{DNNL_ARG_ATTR_MULTIPLE_POST_OP({n}) | DNNL_ARG_SRC_1, as(t{other}, {desc})}}"
            )
        return lines

    def _separate(self, op: Operation, post_ops: PostOps) -> list[str]:
        name, dims, lines = f"t{op['output']}", self.dims(op["output"]), []
        rank = len(self.shape(op["output"]))
        for post_op in post_ops:
            if post_op["kind"] == "eltwise":
                lines.append(f"{name} = eltwise({name}, {words.eltwise(post_op)});")
                continue
            other = words.dims(words.padded(self.shape(post_op["input"]), rank))
            lines.append(
                f"{name} = apply({name}, t{post_op['input']}, {words.binary(post_op)}, "
                f"{dims}, {other}, {dims});"
            )
        return lines
