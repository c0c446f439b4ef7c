"""A region as C++ against oneDNN's public API: what the native runtime does, written out.

It is for reading and for taking elsewhere, so it is plain: every operation reorders what it needs
and allocates its result. The runtime does the same with everything prepared once (native/).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import cpp_words as words
from byoc_lab.backends.dnnl.graph import MAX_POST_OPS
from byoc_lab.errors import BuildError
from byoc_lab.relay.op.framework.layout import inverse

HEADER = Path(__file__).parent / "onednn_region.h"
QUANTIZED_HEADER = HEADER.with_name("onednn_quantized.h")
TYPES = {"float32": "f32", "bfloat16": "bf16", "uint8": "u8", "int8": "s8", "int32": "s32"}
PostOps = Sequence[dict[str, Any]]
ROUNDINGS = {"UPWARD": "up", "TONEAREST": "nearest", "TOZERO": "to_zero"}
FUSED = (
    "conv",
    "dense",
    "matmul",
)  # whose post-ops are in the primitive, as many as it has room for


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
    return Path(__file__).parents[2]


def cpp_source(graph: dict[str, Any]) -> str:
    """C++ that defines `void <symbol>(inputs, constants, outputs)`: arrays of row-major arrays, of
    the dtypes that the graph's tensors have.

    graph: as in native/README.md.
    """
    return _Writer(graph).file()


class _Writer:
    def __init__(self, graph: dict[str, Any]):
        self.graph = graph
        self.lines: list[str] = []

    def file(self) -> str:
        graph, symbol = self.graph, self.graph["symbol"]
        for role in ("inputs", "constants"):
            for n, tensor in enumerate(graph[role]):
                array = f"{self.dims(tensor)}, {role}[{n}]{self.type(tensor)}"
                self.lines.append(f"memory t{tensor} = given({array});")
        for op in graph["ops"]:
            self.lines += [f"// {op['name']}", *self._op(op)]
        for n, tensor in enumerate(graph["outputs"]):
            to = f"given({self.dims(tensor)}, outputs[{n}]{self.type(tensor)})"
            self.lines.append(f"copy(as(t{tensor}, {self.plain(tensor)}), {to});")
        body = "\n".join(f"  {line}" for line in self.lines)
        kinds = {op["kind"] for op in graph["ops"]}
        header = QUANTIZED_HEADER if kinds & set(QUANTIZED) else HEADER
        command = shlex.join(compile_command(f"{symbol}.cc", f"{symbol}.so"))
        return (
            f"// Compile with:\n// {command}\n"
            f'#include "{header.name}"\n\n'
            f'extern "C" void {symbol}(const void* const* inputs, const void* const* constants,\n'
            f"{' ' * (17 + len(symbol))}void* const* outputs) {{\n{body}\n}}\n"
        )

    def shape(self, tensor: int) -> list[int]:
        """oneDNN has no rank 0: a scalar is a vector of one element."""
        return self.graph["tensors"][tensor]["shape"] or [1]

    def dims(self, tensor: int) -> str:
        return words.dims(self.shape(tensor))

    def type(self, tensor: int) -> str:
        """The argument that gives a tensor's type, where that is not float32."""
        dtype = self.graph["tensors"][tensor]["dtype"]
        return "" if dtype == "float32" else f", Type::{TYPES[dtype]}"

    def plain(self, tensor: int, shape: Sequence[int] | None = None) -> str:
        """The tensor row-major, as it is or in another shape."""
        dims = self.dims(tensor) if shape is None else words.dims(shape)
        return f"plain({dims}{self.type(tensor)})"

    def any(self, tensor: int, shape: Sequence[int] | None = None) -> str:
        return f"any{self.plain(tensor, shape).removeprefix('plain')}"

    def _op(self, op: dict[str, Any]) -> list[str]:
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

    def _post_ops(self, op: dict[str, Any], fused: PostOps, operands: list[str]) -> list[str]:
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

    def _separate(self, op: dict[str, Any], post_ops: PostOps) -> list[str]:
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

    # One writer for each family of operations

    def _conv(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        attrs, inputs, out = op["attrs"], op["inputs"], op["output"]
        transposed = op["kind"].endswith("_transpose")
        axes = int(op["kind"][4])
        strides, gaps, before, after = words.window(attrs, axes)
        if transposed:
            extra = attrs.get("output_padding", [0] * axes)
            after = [a - e for a, e in zip(after, extra, strict=True)]
        groups = attrs.get("groups", 1)
        first, *rest = self.shape(inputs[1])
        weights = [first, *rest] if groups == 1 else [groups, first // groups, *rest]
        shapes = f"{words.dims(strides)}, {words.dims(gaps)}"
        sides = f"{words.dims(before)}, {words.dims(after)}"
        taps = self.any(inputs[1], weights)
        if transposed:
            return self._deconvolution(op, taps, shapes, sides)
        bias = self.plain(inputs[2], [first]) if len(inputs) == 3 else "Desc()"
        return [
            "convolution_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::convolution_auto, {self.any(inputs[0])}, {taps},",
            f"    {bias}, {self.any(out)}, {shapes},",
            f"    {sides}, {words.attributes(op)});",
            *self._keep_off_faults(op),
            *self._run_weighted(op, operands),
        ]

    def _deconvolution(
        self, op: dict[str, Any], weights: str, shapes: str, sides: str
    ) -> list[str]:
        """The bias is added in float32 by a primitive of its own."""
        (data, weight, *bias), out = op["inputs"], op["output"]
        result = f"any({self.dims(out)})" if bias else self.any(out)
        lines = [
            "deconvolution_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::deconvolution_direct, {self.any(data)}, {weights},",
            f"    {result}, {shapes},",
            f"    {sides}, with(ops));",
            *self._run_weighted({**op, "inputs": [data, weight]}, []),
        ]
        if bias:
            channels = words.dims([1, self.shape(out)[1], *[1] * (len(self.shape(out)) - 2)])
            added = f"as(t{bias[0]}, plain({channels}))"
            dims = self.dims(out)
            lines.append(
                f"t{out} = as(apply(t{out}, {added}, algorithm::binary_add, {dims}, {channels}, "
                f"{dims}), {self.plain(out)});"
            )
        return lines

    def _keep_off_faults(self, op: dict[str, Any]) -> list[str]:
        data, weight, *_ = op["inputs"]
        strides, gaps, before, after = words.window(op["attrs"], int(op["kind"][4]))
        if not self.type(data) or not any([*before, *after]):
            return []
        return [
            f"if (onednn_faults::CoversPaddingAlone({self.dims(data)}, {self.dims(weight)},",
            f"    {self.dims(op['output'])}, {words.dims(strides)}, {words.dims(gaps)},",
            f"    {words.dims(before)})) onednn_faults::KeepOffAmx(&desc);",
        ]

    def _run_weighted(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        data, weight, *bias = op["inputs"]
        given = [
            f"{{DNNL_ARG_SRC, as(t{data}, desc.src_desc())}}",
            f"{{DNNL_ARG_WEIGHTS, as(t{weight}, desc.weights_desc())}}",
            *(f"{{DNNL_ARG_BIAS, as(t{b}, desc.bias_desc())}}" for b in bias),
            *words.zero_point(op),
            *operands,
        ]
        return [f"t{op['output']} = run(desc, {{{', '.join(given)}}});"]

    def _dense(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        inputs, out = op["inputs"], op["output"]
        if self.graph["tensors"][out]["dtype"] == "int32":
            return self._integer_dense(op)
        bias = self.plain(inputs[2], [self.shape(out)[1]]) if len(inputs) == 3 else "Desc()"
        return [
            "inner_product_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    {self.any(inputs[0])}, {self.any(inputs[1])}, {bias},",
            f"    {self.any(out)}, with(ops));",
            *self._run_weighted(op, operands),
        ]

    def _integer_dense(self, op: dict[str, Any]) -> list[str]:
        """Only a matmul knows zero points; it has the weight the other way round."""
        (data, weight), out = op["inputs"], op["output"]
        given = [
            f"{{DNNL_ARG_SRC, as(t{data}, {self.plain(data)})}}",
            "{DNNL_ARG_WEIGHTS, memory(turned, cpu(), rows.get_data_handle())}",
            *words.zero_point(op),
        ]
        return [
            f"memory rows = as(t{weight}, {self.plain(weight)});",
            "const Desc turned = rows.get_desc().permute_axes({1, 0});",
            f"matmul::primitive_desc desc(cpu(), {self.plain(data)}, turned,",
            f"    {self.plain(out)}, {words.attributes(op)});",
            f"t{out} = run(desc, {{{', '.join(given)}}});",
        ]

    def _matmul(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        inputs, out = op["inputs"], op["output"]
        rank, lines, seen = len(self.shape(out)), [], []
        for name, side, tensor in zip("ab", ("transpose_a", "transpose_b"), inputs, strict=False):
            desc = self.plain(tensor, words.padded(self.shape(tensor), rank))
            lines.append(f"memory {name} = as(t{tensor}, {desc});")
            if op["attrs"].get(side):
                order = [*range(rank - 2), rank - 1, rank - 2]
                lines.append(f"{name} = transposed({name}, {words.dims(order)});")
            seen.append(f"{name}.get_desc()")
        bias = "Desc()"
        given = ["{DNNL_ARG_SRC, a}", "{DNNL_ARG_WEIGHTS, b}"]
        if len(inputs) == 3:
            bias = self.plain(inputs[2], words.padded([self.shape(out)[-1]], rank))
            given.append(f"{{DNNL_ARG_BIAS, as(t{inputs[2]}, {bias})}}")
        return [
            *lines,
            f"matmul::primitive_desc desc(cpu(), {', '.join(seen)}, {bias},",
            f"    {self.plain(out)}, with(ops));",
            f"t{out} = run(desc, {{{', '.join([*given, *operands])}}});",
        ]

    def _pool(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        kind, attrs, (data,), out = op["kind"], op["attrs"], op["inputs"], op["output"]
        axes = int(kind[-2])
        window = attrs.get("pool_size", self.shape(data)[2:])
        strides, gaps, before, after = words.window(attrs, axes)
        counted = attrs.get("count_include_pad") or not any([*before, *after])
        algorithm = f"avg_{'include' if counted else 'exclude'}_padding"
        algorithm = "max" if "max" in kind else algorithm
        return [
            "pooling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::pooling_{algorithm}, {self.plain(data)},",
            f"    {self.plain(out)}, {words.dims(strides)}, {words.dims(window)},",
            f"    {words.dims(gaps)}, {words.dims(before)}, {words.dims(after)});",
            self._run_plain(op, "SRC"),
        ]

    def _run_plain(self, op: dict[str, Any], *roles: str) -> str:
        given = [
            f"{{DNNL_ARG_{role}, as(t{t}, "
            f"{f'plain({self.dims(t)})' if role in STATISTICS else self.plain(t)})}}"
            for role, t in zip(roles, op["inputs"], strict=True)
        ]
        return f"t{op['output']} = run(desc, {{{', '.join(given)}}});"

    def _softmax(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        algorithm = "softmax_log" if op["kind"] == "log_softmax" else "softmax_accurate"
        desc = self.plain(op["output"])
        axis = op["attrs"].get("axis", -1) % len(self.shape(op["output"]))
        return [
            "softmax_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::{algorithm}, {desc}, {desc}, {axis});",
            self._run_plain(op, "SRC"),
        ]

    def _batch_norm(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        desc, epsilon = self.plain(op["output"]), words.number(op["attrs"].get("epsilon", 1e-5))
        return [
            "using F = normalization_flags;",
            "batch_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    {desc}, {desc}, {epsilon},",
            "    F::use_global_stats | F::use_scale | F::use_shift);",
            self._run_plain(op, "SRC", "SCALE", "SHIFT", "MEAN", "VARIANCE"),
        ]

    def _layer_norm(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        desc, epsilon = self.plain(op["output"]), words.number(op["attrs"].get("epsilon", 1e-5))
        return [
            "using F = normalization_flags;",
            "layer_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    {desc}, {desc}, {epsilon}, F::use_scale | F::use_shift);",
            self._run_plain(op, "SRC", "SCALE", "SHIFT"),
        ]

    def _eltwise(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        return [f"t{op['output']} = eltwise(t{op['inputs'][0]}, {words.eltwise(op['attrs'])});"]

    def _binary(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        (a, b), out = op["inputs"], op["output"]
        rank = len(self.shape(out))
        sides = ", ".join(words.dims(words.padded(self.shape(t), rank)) for t in (a, b))
        return [
            f"t{out} = apply(t{a}, t{b}, {words.binary(op['attrs'])}, {sides}, {self.dims(out)});"
        ]

    def _sum(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        first, *rest = op["inputs"]
        out, dims = op["output"], self.dims(op["output"])
        lines = [f"t{out} = as(t{first}, {self.plain(out)});"]
        return [
            *lines,
            *(
                f"t{out} = apply(t{out}, t{t}, algorithm::binary_add, {dims}, {dims}, {dims});"
                for t in rest
            ),
        ]

    def _concat(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        axis = op["attrs"].get("axis", 0) % len(self.shape(op["output"]))
        descs = ", ".join(map(self.plain, op["inputs"]))
        roles = [f"MULTIPLE_SRC + {n}" for n in range(len(op["inputs"]))]
        return [
            f"const std::vector<Desc> parts = {{{descs}}};",
            f"concat::primitive_desc desc(cpu(), {self.plain(op['output'])}, {axis}, parts);",
            self._run_plain(op, *roles),
        ]

    def _reduce(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        if self.shape(op["inputs"][0]) == self.shape(op["output"]):
            # Along an axis of one element each of them gives that element: for oneDNN no reduction.
            return [f"t{op['output']} = as(t{op['inputs'][0]}, {self.plain(op['output'])});"]
        alg = {"prod": "mul"}.get(op["attrs"]["alg"], op["attrs"]["alg"])
        return [
            f"reduction::primitive_desc desc(cpu(), algorithm::reduction_{alg},",
            f"    {self.plain(op['inputs'][0])}, {self.plain(op['output'])},",
            "    /*p=*/0.f, /*eps=*/0.f);",
            self._run_plain(op, "SRC"),
        ]

    def _resample(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        alg = op["attrs"].get("alg", "linear")
        return [
            "resampling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
            f"    algorithm::resampling_{alg}, {self.plain(op['inputs'][0])},",
            f"    {self.plain(op['output'])});",
            self._run_plain(op, "SRC"),
        ]

    def _reshape(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        return [f"t{op['output']} = as(t{op['inputs'][0]}, {self.plain(op['output'])});"]

    def _transpose(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        # A scalar has an axis here.
        (data,), positions = op["inputs"], inverse(tuple(op["attrs"]["axes"] or [0]))
        rows = f"as(t{data}, {self.plain(data)})"
        return [f"t{op['output']} = transposed({rows}, {words.dims(positions)});"]

    def _quantized(self, op: dict[str, Any], operands: list[str]) -> list[str]:
        """By the words of the header of quantized numbers: no primitive rounds as Relay does."""
        kind, attrs, out = op["kind"], op["attrs"], op["output"]
        given = [f"t{t}" for t in op["inputs"]]
        if kind == "requantize" and len(given) == 5:
            given.append("memory()")
        if kind != "qadd":
            given.append(str(attrs.get("axis", -1) % len(self.shape(op["inputs"][0]))))
        dtype = self.graph["tensors"][out]["dtype"]
        if kind != "dequantize":
            limits = np.iinfo(dtype)
            low = max(attrs.get("low", limits.min), limits.min)
            high = min(attrs.get("high", limits.max), limits.max)
            rounding = ROUNDINGS[attrs.get("rounding", QUANTIZED[kind])]
            given += [f"Rounding::{rounding}", f"{low}.", f"{high}.", f"Type::{TYPES[dtype]}"]
        return [f"t{out} = {kind}({', '.join(given)});"]


STATISTICS = ("SCALE", "SHIFT", "MEAN", "VARIANCE")  # of norms: float32 whatever the data is
# Operations on quantized numbers, and how they round when the graph does not say.
QUANTIZED = {
    "quantize": "TONEAREST", "dequantize": "", "requantize": "UPWARD", "qadd": "UPWARD",
}  # fmt: skip
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
    **dict.fromkeys(QUANTIZED, _Writer._quantized),
}
