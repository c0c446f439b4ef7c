"""An external function as plain C: one loop per operator, one array per value.

The C is meant to be read: nothing is fused, and the index of a broadcast operand omits the
broadcast axes. `tensor_argument.h` beside this file checks the arguments; every generated file
includes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, Var, describe
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.symbols import c_text, checked_symbol

# C expressions for an element of the result; x and y are the elements of the operands, and {name}
# is an attribute. As in Relay, a NaN operand gives a NaN result.
ELEMENTWISE: Mapping[str, str] = {
    "abs": "fabsf(x)", "add": "x + y",
    "clip": "x < {a_min} ? fminf({a_min}, {a_max}) : x > {a_max} ? {a_max} : x", "divide": "x / y",
    "exp": "expf(x)", "log": "logf(x)", "maximum": "x > y || isnan(x) ? x : y",
    "minimum": "x < y || isnan(x) ? x : y", "multiply": "x * y", "negative": "-x",
    "nn.relu": "x < 0.0f ? 0.0f : x", "sigmoid": "1.0f / (1.0f + expf(-x))", "sqrt": "sqrtf(x)",
    "subtract": "x - y", "tanh": "tanhf(x)",
}  # fmt: skip
DENSE = "nn.dense"
OPERATORS = (*ELEMENTWISE, DENSE)


MAX_LITERALS = 16
"""The maximum number of elements of a constant that is written into the C text; larger constants
are separate data."""


@dataclass(frozen=True, eq=False)
class CSource:
    """The arguments of `c_library`: the text of a C file, and the arrays that it declares."""

    text: str
    data: Mapping[str, np.ndarray]


def c_source(function: Function, symbol: str, header: str = "") -> CSource:
    """A C file that defines `function` (typed, flat) for TVM-FFI under the name `symbol`.

    header: C code to put before the function. The function takes its inputs, then its outputs.
    Raises BuildError for operators that are not in OPERATORS, and for a symbol that is not a C
    identifier.
    """
    writer = _CWriter(function, checked_symbol(symbol), header)
    return CSource(writer.file(), writer.data)


class _CWriter:
    def __init__(self, function: Function, symbol: str, header: str):
        self.function = function
        self.symbol = symbol
        self.header = header
        self.name_of: dict[Expr, str] = {}
        self.constants: list[str] = []
        self.data: dict[str, np.ndarray] = {}
        self.arrays: dict[str, int] = {}  # temporary arrays and their numbers of elements
        self.loops: list[str] = []

    def file(self) -> str:
        body = self.function.body
        results = list(body.fields) if isinstance(body, Tuple) else [body]
        arguments = [
            *((f"in{n}", p) for n, p in enumerate(self.function.params)),
            *((f"out{n}", r) for n, r in enumerate(results)),
        ]
        self.name_of = {p: f"in{n}" for n, p in enumerate(self.function.params)}
        for node in post_order(body):
            self._visit(node)
        for n, result in enumerate(results):
            size = prod(_shape(result))
            self.loops.append(f"memcpy(out{n}, {self.name_of[result]}, {size} * sizeof(float));")
        read = [
            f"float* {name} = tensor_argument(args, {n}, {_array(_shape(e))}, {len(_shape(e))});"
            for n, (name, e) in enumerate(arguments)
        ]
        missing = " || ".join(f"!{name}" for name, _ in arguments)
        taken = [f"float* {name} = malloc({n} * sizeof(float));" for name, n in self.arrays.items()]
        failed = " || ".join(f"!{name}" for name in self.arrays) or "0"
        lines = [
            *read,
            f"if ({missing}) return -1;",
            *taken,
            f"int status = ({failed}) ? out_of_memory() : 0;",
            "if (status == 0) {",
            *(f"  {line}" for loop in self.loops for line in loop.splitlines()),
            "}",
            *(f"free({name});" for name in self.arrays),
            "return status;",
        ]
        return "\n".join(
            [
                '#include "tensor_argument.h"',
                *([self.header] if self.header else []),
                "",
                *self.constants,
                "",
                f"int __tvm_ffi_{self.symbol}(void* self, const TVMFFIAny* args, int32_t count, "
                "TVMFFIAny* result) {",
                f"  if (!argument_count(count, {len(arguments)})) return -1;",
                *(f"  {line}" for line in lines),
                "}",
                "",
            ]
        )

    def _visit(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self._constant(node)
        elif isinstance(node, Call) and isinstance(node.op, Op):
            name = self.name_of[node] = f"t{len(self.arrays)}"
            self.arrays[name] = prod(_shape(node))
            write = self._dense if node.op.name == DENSE else self._elementwise
            self.loops.append(f"// {c_text(node.op.name)}\n" + write(node, node.op.name, name))
        elif not isinstance(node, (Op, Tuple, Var)):
            raise self._refuse(node)

    def _refuse(self, node: Expr) -> BuildError:
        return BuildError(
            f"region @{self.symbol}: ccompiler has no C for {describe(node)}; it has it for "
            f"{', '.join(OPERATORS)}"
        )

    def _constant(self, node: Constant) -> None:
        name = self.name_of[node] = f"c{len(self.constants)}"
        array = node.numpy()
        if array.size > MAX_LITERALS:
            linked = f"{self.symbol}_{name}"
            self.data[linked] = array.astype(np.float32, copy=False)
            declared = f'extern const float {name}[{array.size}] __asm__("{linked}");'
        else:
            declared = f"static const float {name}[{max(1, array.size)}] = {{{c_literals(array)}}};"
        self.constants.append(declared)

    def _elementwise(self, call: Call, operator: str, name: str) -> str:
        if operator not in ELEMENTWISE:
            raise self._refuse(call)
        attrs = (
            {k: _number(call.attrs[k]) for k in ("a_min", "a_max")} if operator == "clip" else {}
        )
        value = ELEMENTWISE[operator].format(**attrs)
        shape = _shape(call)
        operands = [
            f"float {letter} = {self.name_of[arg]}[{_index(_shape(arg), shape)}];"
            for letter, arg in zip("xy", call.args, strict=False)
        ]
        inner = [*operands, f"{name}[{_index(shape, shape)}] = {value};"]
        return _nest(shape, inner)

    def _dense(self, call: Call, operator: str, name: str) -> str:
        data, weight = (self.name_of[arg] for arg in call.args)
        rows, depth = _shape(call.args[0])
        units = _shape(call)[1]
        return _nest(
            (rows, units),
            [
                "float sum = 0.0f;",
                f"for (int k = 0; k < {depth}; ++k)",
                f"  sum += {data}[i0 * {depth} + k] * {weight}[i1 * {depth} + k];",
                f"{name}[i0 * {units} + i1] = sum;",
            ],
        )


def _shape(expr: Expr) -> tuple[int, ...]:
    ty = expr.checked_type
    if not isinstance(ty, TensorType) or ty.dtype != "float32" or not ty.is_static:
        raise BuildError(f"ccompiler supports float32 tensors of known shape, found {ty}")
    return ty.concrete_shape


def _array(shape: Sequence[int]) -> str:
    return f"(int64_t[]){{{', '.join(map(str, shape)) or '0'}}}"


def c_literals(array: np.ndarray) -> str:
    """The numbers of an array as exact C literals: 20 characters each."""
    return ", ".join(map(_number, array.ravel()))


def _number(value: Any) -> str:
    """A float32 as an exact C literal."""
    number = np.float32(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{float(number).hex()}f"


def _index(shape: Sequence[int], within: Sequence[int]) -> str:
    """The index expression of an operand of `shape` for element i0, i1, ... of a result shaped
    `within`."""
    terms, stride = [], 1
    for n in range(len(shape)):
        axis, size = len(within) - 1 - n, shape[len(shape) - 1 - n]
        if size != 1:
            terms.append(f"i{axis} * {stride}" if stride != 1 else f"i{axis}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def _nest(shape: Sequence[int], inner: Sequence[str]) -> str:
    """Loops over i0, i1, ... around some lines."""
    heads = [f"for (int i{n} = 0; i{n} < {size}; ++i{n})" for n, size in enumerate(shape)]
    lines = [f"{'  ' * n}{head}" for n, head in enumerate(heads)]
    pad = "  " * len(heads)
    return "\n".join([*lines, f"{pad}{{", *(f"{pad}  {line}" for line in inner), f"{pad}}}"])
