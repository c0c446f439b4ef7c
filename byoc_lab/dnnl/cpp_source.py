"""A region as C++ against oneDNN's public API: what the native runtime does, written out.

It is for reading and for taking elsewhere, so it is plain: every operation reorders what it needs
and allocates its result. The runtime does the same with everything prepared once (native/).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.dnnl.layouts import inverse
from byoc_lab.errors import BuildError

HEADER = Path(__file__).parent / "onednn_region.h"
ELTWISE = {"sigmoid": "logistic", "gelu": "gelu_erf", "softplus": "soft_relu",
           "hard_swish": "hardswish", "hard_sigmoid": "hardsigmoid"}  # fmt: skip
FUSED = ("conv", "dense", "matmul")  # whose post-ops are in the primitive


def compile_command(source: str, library: str, folder: Path | None = None) -> list[str]:
    """The line that compiles a source into a shared library, against the oneDNN that comes along.

    Raises BuildError when that has no headers.
    """
    package = folder or _package()
    include, libraries = package / "_include", package / "_libs"
    if not (include / "dnnl.hpp").exists():
        raise BuildError(f"oneDNN's headers are not in {include}: install the package again")
    return [
        "g++", "-std=c++17", "-O2", "-shared", "-fPIC", source, "-o", library,
        f"-I{HEADER.parent}", f"-I{include}", f"-L{libraries}", "-l:libdnnl.so.3",
        f"-Wl,-rpath,{libraries}",
    ]  # fmt: skip


def _package() -> Path:
    """Where the compiled parts of this package are (elsewhere than its Python when editable)."""
    from importlib.metadata import files

    for file in files("byoc-lab") or ():
        if file.name == "libdnnl.so.3":
            return Path(str(file.locate())).resolve().parent.parent
    return Path(__file__).parent.parent


def cpp_source(graph: dict[str, Any]) -> str:
    """C++ that defines `void <symbol>(inputs, constants, outputs)`: arrays of row-major arrays.

    graph: as in native/README.md. Raises BuildError for one that is not float32 throughout.
    """
    for tensor in graph["tensors"]:
        if tensor["dtype"] != "float32":
            raise BuildError(
                f"no C++ is written for graphs with tensors of {tensor['dtype']} (here "
                f"'{tensor['name']}'); Region.graph shows this one as data"
            )
    return _Writer(graph).file()


class _Writer:
    def __init__(self, graph: dict[str, Any]):
        self.graph = graph
        self.lines: list[str] = []

    def file(self) -> str:
        graph, symbol = self.graph, self.graph["symbol"]
        for role in ("inputs", "constants"):
            for n, tensor in enumerate(graph[role]):
                self.lines.append(f"memory t{tensor} = given({self.dims(tensor)}, {role}[{n}]);")
        for op in graph["ops"]:
            self.lines += [f"// {op['name']}", *self._op(op)]
        for n, tensor in enumerate(graph["outputs"]):
            dims = self.dims(tensor)
            self.lines.append(f"copy(as(t{tensor}, plain({dims})), given({dims}, outputs[{n}]));")
        body = "\n".join(f"  {line}" for line in self.lines)
        command = shlex.join(compile_command(f"{symbol}.cc", f"{symbol}.so"))
        return (
            f"// Compile with:\n// {command}\n"
            f'#include "{HEADER.name}"\n\n'
            f'extern "C" void {symbol}(const float* const* inputs, const float* const* constants,\n'
            f"{' ' * (17 + len(symbol))}float* const* outputs) {{\n{body}\n}}\n"
        )

    def shape(self, tensor: int) -> list[int]:
        """oneDNN has no rank 0: a scalar is a vector of one element."""
        return self.graph["tensors"][tensor]["shape"] or [1]

    def dims(self, tensor: int) -> str:
        return _dims(self.shape(tensor))

    def _op(self, op: dict[str, Any]) -> list[str]:
        kind, output = op["kind"], op["output"]
        write = WRITERS[_family(kind)]
        fused = kind.startswith(FUSED)
        operands: list[str] = []
        chain = self._post_ops(op, operands) if fused else []
        made = [*chain, *write(self, op, operands)]
        lines = [f"memory t{output};", "{", *(f"  {line}" for line in made), "}"]
        return lines if fused else [*lines, *self._separate(op)]

    def _post_ops(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        lines = ["post_ops ops;"]
        rank = len(self.shape(op["output"]))
        for n, post_op in enumerate(op["post_ops"]):
            if post_op["kind"] == "eltwise":
                lines.append(f"ops.append_eltwise({_eltwise(post_op)});")
                continue
            dims = _dims(_padded(self.shape(post_op["input"]), rank))
            lines.append(f"ops.append_binary({_binary(post_op)}, plain({dims}));")
            operands.append(
                f"{{DNNL_ARG_ATTR_MULTIPLE_POST_OP({n}) | DNNL_ARG_SRC_1, "
                f"as(t{post_op['input']}, plain({dims}))}}"
            )
        return lines

    def _separate(self, op: dict[str, Any]) -> list[str]:
        name, dims, lines = f"t{op['output']}", self.dims(op["output"]), []
        rank = len(self.shape(op["output"]))
        for post_op in op["post_ops"]:
            if post_op["kind"] == "eltwise":
                lines.append(f"{name} = eltwise({name}, {_eltwise(post_op)});")
                continue
            other = _dims(_padded(self.shape(post_op["input"]), rank))
            lines.append(
                f"{name} = apply({name}, t{post_op['input']}, {_binary(post_op)}, {dims}, {other}, "
                f"{dims});"
            )
        return lines

    # One writer for each family of operations

    def _conv(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        attrs, inputs, out = op["attrs"], op["inputs"], op["output"]
        transposed = op["kind"].endswith("_transpose")
        axes = int(op["kind"][4])
        strides, gaps, before, after = _window(attrs, axes)
        if transposed:
            extra = attrs.get("output_padding", [0] * axes)
            after = [a - e for a, e in zip(after, extra, strict=True)]
        groups = attrs.get("groups", 1)
        first, *rest = self.shape(inputs[1])
        weights = [first, *rest] if groups == 1 else [groups, first // groups, *rest]
        bias = f"plain({_dims([first])})" if len(inputs) == 3 else "Desc()"
        kind = "deconvolution" if transposed else "convolution"
        algorithm = "deconvolution_direct" if transposed else "convolution_auto"
        return [
            f"{kind}_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::{algorithm}, any({self.dims(inputs[0])}), any({_dims(weights)}),",
            f"    {bias}, any({self.dims(out)}), {_dims(strides)}, {_dims(gaps)},",
            f"    {_dims(before)}, {_dims(after)}, with(ops));",
            *self._run_weighted(op, operands),
        ]

    def _run_weighted(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        data, weight, *bias = op["inputs"]
        given = [
            f"{{DNNL_ARG_SRC, as(t{data}, desc.src_desc())}}",
            f"{{DNNL_ARG_WEIGHTS, as(t{weight}, desc.weights_desc())}}",
            *(f"{{DNNL_ARG_BIAS, as(t{b}, desc.bias_desc())}}" for b in bias),
            *operands,
        ]
        return [f"t{op['output']} = run(desc, {{{', '.join(given)}}});"]

    def _dense(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        inputs, out = op["inputs"], op["output"]
        bias = f"plain({_dims([self.shape(out)[1]])})" if len(inputs) == 3 else "Desc()"
        return [
            "inner_product_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    any({self.dims(inputs[0])}), any({self.dims(inputs[1])}), {bias},",
            f"    any({self.dims(out)}), with(ops));",
            *self._run_weighted(op, operands),
        ]

    def _matmul(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        inputs, out = op["inputs"], op["output"]
        rank, lines, seen = len(self.shape(out)), [], []
        for name, side, tensor in zip("ab", ("transpose_a", "transpose_b"), inputs, strict=False):
            lines.append(
                f"memory {name} = as(t{tensor}, plain({_dims(_padded(self.shape(tensor), rank))}));"
            )
            if op["attrs"].get(side):
                order = [*range(rank - 2), rank - 1, rank - 2]
                lines.append(f"{name} = transposed({name}, {_dims(order)});")
            seen.append(f"{name}.get_desc()")
        bias = "Desc()"
        given = ["{DNNL_ARG_SRC, a}", "{DNNL_ARG_WEIGHTS, b}"]
        if len(inputs) == 3:
            bias = f"plain({_dims(_padded([self.shape(out)[-1]], rank))})"
            given.append(f"{{DNNL_ARG_BIAS, as(t{inputs[2]}, {bias})}}")
        return [
            *lines,
            f"matmul::primitive_desc desc(cpu(), {', '.join(seen)}, {bias},",
            f"    plain({self.dims(out)}), with(ops));",
            f"t{out} = run(desc, {{{', '.join([*given, *operands])}}});",
        ]

    def _pool(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        kind, attrs, (data,), out = op["kind"], op["attrs"], op["inputs"], op["output"]
        axes = int(kind[-2])
        window = attrs.get("pool_size", self.shape(data)[2:])
        strides, gaps, before, after = _window(attrs, axes)
        counted = attrs.get("count_include_pad") or not any([*before, *after])
        algorithm = f"avg_{'include' if counted else 'exclude'}_padding"
        algorithm = "max" if "max" in kind else algorithm
        return [
            "pooling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::pooling_{algorithm}, plain({self.dims(data)}),",
            f"    plain({self.dims(out)}), {_dims(strides)}, {_dims(window)}, {_dims(gaps)},",
            f"    {_dims(before)}, {_dims(after)});",
            self._run_plain(op, "SRC"),
        ]

    def _run_plain(self, op: dict[str, Any], *roles: str) -> str:
        given = [
            f"{{DNNL_ARG_{role}, as(t{t}, plain({self.dims(t)}))}}"
            for role, t in zip(roles, op["inputs"], strict=True)
        ]
        return f"t{op['output']} = run(desc, {{{', '.join(given)}}});"

    def _softmax(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        algorithm = "softmax_log" if op["kind"] == "log_softmax" else "softmax_accurate"
        dims = self.dims(op["output"])
        axis = op["attrs"].get("axis", -1) % len(self.shape(op["output"]))
        return [
            "softmax_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::{algorithm}, plain({dims}), plain({dims}), {axis});",
            self._run_plain(op, "SRC"),
        ]

    def _batch_norm(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        dims, epsilon = self.dims(op["output"]), _number(op["attrs"].get("epsilon", 1e-5))
        return [
            "using F = normalization_flags;",
            "batch_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    plain({dims}), plain({dims}), {epsilon},",
            "    F::use_global_stats | F::use_scale | F::use_shift);",
            self._run_plain(op, "SRC", "SCALE", "SHIFT", "MEAN", "VARIANCE"),
        ]

    def _layer_norm(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        dims, epsilon = self.dims(op["output"]), _number(op["attrs"].get("epsilon", 1e-5))
        return [
            "using F = normalization_flags;",
            "layer_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    plain({dims}), plain({dims}), {epsilon}, F::use_scale | F::use_shift);",
            self._run_plain(op, "SRC", "SCALE", "SHIFT"),
        ]

    def _eltwise(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        return [f"t{op['output']} = eltwise(t{op['inputs'][0]}, {_eltwise(op['attrs'])});"]

    def _binary(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        (a, b), out = op["inputs"], op["output"]
        rank = len(self.shape(out))
        sides = ", ".join(_dims(_padded(self.shape(t), rank)) for t in (a, b))
        return [f"t{out} = apply(t{a}, t{b}, {_binary(op['attrs'])}, {sides}, {self.dims(out)});"]

    def _sum(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        first, *rest = op["inputs"]
        out, dims = op["output"], self.dims(op["output"])
        lines = [f"t{out} = as(t{first}, plain({dims}));"]
        return [
            *lines,
            *(
                f"t{out} = apply(t{out}, t{t}, algorithm::binary_add, {dims}, {dims}, {dims});"
                for t in rest
            ),
        ]

    def _concat(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        axis = op["attrs"].get("axis", 0) % len(self.shape(op["output"]))
        descs = ", ".join(f"plain({self.dims(t)})" for t in op["inputs"])
        roles = [f"MULTIPLE_SRC + {n}" for n in range(len(op["inputs"]))]
        return [
            f"const std::vector<Desc> parts = {{{descs}}};",
            f"concat::primitive_desc desc(cpu(), plain({self.dims(op['output'])}), {axis}, parts);",
            self._run_plain(op, *roles),
        ]

    def _reduce(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        alg = {"prod": "mul"}.get(op["attrs"]["alg"], op["attrs"]["alg"])
        return [
            f"reduction::primitive_desc desc(cpu(), algorithm::reduction_{alg},",
            f"    plain({self.dims(op['inputs'][0])}), plain({self.dims(op['output'])}),",
            "    /*p=*/0.f, /*eps=*/0.f);",
            self._run_plain(op, "SRC"),
        ]

    def _resample(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        alg = op["attrs"].get("alg", "linear")
        return [
            "resampling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::resampling_{alg}, plain({self.dims(op['inputs'][0])}),",
            f"    plain({self.dims(op['output'])}));",
            self._run_plain(op, "SRC"),
        ]

    def _reshape(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        return [f"t{op['output']} = as(t{op['inputs'][0]}, plain({self.dims(op['output'])}));"]

    def _transpose(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        (data,), positions = op["inputs"], inverse(tuple(op["attrs"]["axes"]))
        rows = f"as(t{data}, plain({self.dims(data)}))"
        return [f"t{op['output']} = transposed({rows}, {_dims(positions)});"]


WRITERS: dict[str, Callable[[_Writer, dict[str, Any], list[str]], list[str]]] = {
    "conv": _Writer._conv,
    "dense": _Writer._dense,
    "matmul": _Writer._matmul,
    "pool": _Writer._pool,
    "softmax": _Writer._softmax,
    "log_softmax": _Writer._softmax,
    "batch_norm": _Writer._batch_norm,
    "layer_norm": _Writer._layer_norm,
    "eltwise": _Writer._eltwise,
    "binary": _Writer._binary,
    "sum": _Writer._sum,
    "concat": _Writer._concat,
    "reduce": _Writer._reduce,
    "resample": _Writer._resample,
    "reshape": _Writer._reshape,
    "transpose": _Writer._transpose,
}


def _family(kind: str) -> str:
    """What kinds that are written alike have in common: "conv", "pool", "resample"."""
    if kind.startswith("conv"):
        return "conv"
    if "_pool" in kind:
        return "pool"
    return "resample" if kind.startswith("resample") else kind


def _dims(values: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _padded(shape: Sequence[int], rank: int) -> list[int]:
    return [*[1] * (rank - len(shape)), *shape]


def _number(value: float) -> str:
    text = repr(float(value))
    return f"{text}f"


def _eltwise(entry: dict[str, Any]) -> str:
    alg = ELTWISE.get(entry["alg"], entry["alg"])
    parameters = ", ".join(_number(entry.get(name, 0.0)) for name in ("alpha", "beta"))
    return f"algorithm::eltwise_{alg}, {parameters}"


def _binary(entry: dict[str, Any]) -> str:
    if entry.get("kind") == "sum" and entry.get("scale", 1.0) != 1.0:
        raise BuildError("no C++ is written for a sum post-op with a scale of its own")
    return f"algorithm::binary_{entry.get('alg', 'add')}"


def _window(attrs: dict[str, Any], axes: int) -> tuple[list[int], ...]:
    """strides, gaps between taps, padding before and behind."""
    pads = attrs.get("padding", [0] * 2 * axes)
    gaps = [d - 1 for d in attrs.get("dilation", [1] * axes)]
    return attrs.get("strides", [1] * axes), gaps, pads[:axes], pads[axes:]
