"""Code generation: an external function of Relay becomes one graph of the native runtime.

The walk is general. An operation of `operators.py` becomes a native operation; an element-wise one
whose operand was made by the operation before it, for it alone, is fused into that as a post-op
(or as its bias). So conv2d + bias + relu is one kernel whether or not MergeComposite gave it a
name, and so is every other chain oneDNN takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.dnnl import native
from byoc_lab.dnnl.activations import SPELLINGS, Reading
from byoc_lab.dnnl.operators import DTYPE, OPERATORS, Operator, eltwise, why_not
from byoc_lab.errors import BuildError
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.infer import infer_expr
from byoc_lab.relay.types import TensorType
from byoc_lab.relay.visit import post_order
from byoc_lab.run.inline import inlined

BIASED = ("conv2d", "dense")  # native operations with a bias operand
MAX_POST_OPS = 32  # of one primitive in oneDNN
COMMUTATIVE = ("add", "mul", "max", "min")  # native algorithms


@dataclass(frozen=True)
class RegionGraph:
    """One region: the graph of native/README.md as a dict, and its constants in order (float32)."""

    graph: dict[str, Any]
    constants: list[np.ndarray]


def compile_region(function: Function, symbol: str) -> native.Region:
    """The compiled form of an external function: DNNL's entry in `run.backends`.

    Raises BuildError, naming the operator and what to do, for what DNNL cannot compute.
    """
    made = region_graph(function, symbol)
    try:
        return native.Region(made.graph, made.constants)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BuildError(
            f"DNNL refuses region @{symbol}: {error}. Annotate that operator for another compiler "
            f"or leave it to the host"
        ) from error


def region_graph(function: Function, symbol: str) -> RegionGraph:
    """The graph of an external function; its functions (composites) are opened.

    Inputs are the parameters in order; outputs the result, or the fields of a tuple. Raises
    BuildError for what DNNL cannot compute.
    """
    typed = function if function.is_typed else infer_expr(function)
    assert isinstance(typed, Function)
    return _Builder(inlined(typed), symbol).build()


def is_bias_shape(operand: Sequence[Any], result: Sequence[Any]) -> bool:
    """Whether adding a tensor shaped `operand` adds one number for each channel (axis 1)."""
    along_channels = (result[1], *[1] * (len(result) - 2))
    return tuple(operand) in (along_channels, (1, *along_channels))


class _Builder:
    def __init__(self, function: Function, symbol: str):
        self.function = function
        self.symbol = symbol
        self.tensors: list[dict[str, Any]] = []
        self.constants: dict[int, np.ndarray] = {}  # by tensor id
        self.ops: list[dict[str, Any]] = []
        self.id_of: dict[Expr, int] = {}
        self.made_by: dict[int, int] = {}  # tensor id -> index of the operation that makes it
        self.defined_at: dict[int, int] = {}  # tensor id -> number of operations before it exists
        self.uses: Counter[Expr] = Counter()
        self.spelled: dict[Expr, Reading] = {}  # by the call it ends with
        self.inside: set[Expr] = set()  # what only spelled activations are made of

    def build(self) -> RegionGraph:
        nodes = list(post_order(self.function.body))
        self.uses = Counter(part for node in nodes for part in node.parts())
        self._find_spelled(nodes)
        inputs = [self._input(p) for p in self.function.params]
        for node in nodes:
            if node in self.spelled:
                self._activation(node, self.spelled[node])
            elif node not in self.inside:
                self._visit(node)
        body = self.function.body
        results = list(body.fields) if isinstance(body, Tuple) else [body]
        outputs = self._outputs(results)
        graph = {
            "format": "byoc_lab.dnnl.graph",
            "version": 1,
            "symbol": self.symbol,
            "tensors": self.tensors,
            "inputs": inputs,
            "constants": list(self.constants),
            "outputs": outputs,
            "ops": self.ops,
        }
        return RegionGraph(graph, list(self.constants.values()))

    def _refuse(self, node: Expr, reason: str, advice: str = "") -> BuildError:
        place = f"{node.span}: " if node.span else ""
        advice = advice or (
            f"Leave {describe(node)} out of the region (AnnotateTarget('dnnl') does), or give its "
            f"operator an entry in byoc_lab.dnnl.operators.OPERATORS"
        )
        return BuildError(f"{place}region @{self.symbol}: {reason}. {advice}")

    # Activations of several operators

    def _find_spelled(self, nodes: list[Expr]) -> None:
        """Activations whose parts nobody else uses; the longest ones, which end last, first."""
        for node in reversed(nodes):
            if node in self.inside or not isinstance(node, Call):
                continue
            for spelling in SPELLINGS.values():
                reading = spelling.read(node)
                if reading is not None and not reading.why_not() and self._is_closed(reading):
                    self.spelled[node] = reading
                    self.inside.update(reading.calls[1:])
                    self._forget_numbers(reading)
                    break

    def _is_closed(self, reading: Reading) -> bool:
        within = reading.uses()
        return all(self.uses[call] == within[call] for call in reading.calls[1:])

    def _forget_numbers(self, reading: Reading) -> None:
        within = reading.uses()
        for number in {number for _, number in reading.numbers}:
            self.uses[number] -= within[number]
            if not self.uses[number]:
                self.inside.add(number)

    def _activation(self, node: Expr, reading: Reading) -> None:
        spelling, operand = reading.spelling, reading.operand
        assert isinstance(node, Call) and operand is not None
        # Its parts read the operand several times; the native operation does it once.
        self.uses[operand] -= reading.uses()[operand] - 1
        operator = eltwise(spelling.alg)
        attrs = {"alg": spelling.alg, **spelling.parameters}
        inputs = [self.id_of[operand]]
        if not self._fuse(operator, node, inputs, attrs, [operand]):
            self.id_of[node] = self._emit(operator, node, inputs, attrs)

    # Tensors

    def _tensor(self, name: str, node: Expr, ty: Any) -> int:
        if not isinstance(ty, TensorType) or ty.dtype != DTYPE or not ty.is_static:
            raise self._refuse(
                node,
                f"{describe(node)} must be a {DTYPE} tensor of known shape, found {ty}",
                "DNNL computes with nothing else: cast before the region, or leave it to the host",
            )
        shape = list(ty.concrete_shape)
        self.tensors.append({"name": name, "shape": shape, "dtype": DTYPE})
        self.defined_at[len(self.tensors) - 1] = len(self.ops)
        return len(self.tensors) - 1

    def _input(self, param: Var) -> int:
        self.id_of[param] = self._tensor(param.name_hint, param, param.checked_type)
        return self.id_of[param]

    def _constant(self, node: Expr, value: np.ndarray) -> int:
        ty = TensorType(value.shape, value.dtype.name)
        made = self._tensor(f"{self.symbol}_const_{len(self.constants)}", node, ty)
        self.defined_at[made] = 0
        self.constants[made] = value
        return made

    def _outputs(self, results: list[Expr]) -> list[int]:
        found: list[int] = []
        for result in results:
            tensor = self.id_of[result]
            if tensor in found or tensor not in self.made_by:
                # An output is memory of its own: an input, or another output, is copied into it.
                tensor = self._emit(Operator("reshape"), result, [tensor], {})
            found.append(tensor)
        return found

    # Nodes

    def _visit(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self.id_of[node] = self._constant(node, node.numpy())
        elif isinstance(node, Call) and isinstance(node.op, Op):
            reason = why_not(node)
            if reason:
                raise self._refuse(node, reason)
            self._call(node)
        elif isinstance(node, TupleGetItem):
            self.id_of[node] = self._projection(node)
        elif isinstance(node, Var):
            if node not in self.id_of:
                raise self._refuse(node, f"%{node.name_hint} is no parameter of the function")
        elif isinstance(node, Tuple):
            if node is not self.function.body:
                raise self._refuse(node, "DNNL has no tuples but the result")
        elif not isinstance(node, Op):
            raise self._refuse(node, f"DNNL has no counterpart of {describe(node)}")

    def _projection(self, node: TupleGetItem) -> int:
        call = node.tuple_value
        if not (isinstance(call, Call) and call.is_op("nn.batch_norm")):
            raise self._refuse(node, "DNNL has no tuples but the results of nn.batch_norm")
        # For inference, the new moving mean and variance are the old ones.
        return self.id_of[(call, call.args[3], call.args[4])[node.index]]

    def _call(self, call: Call) -> None:
        assert isinstance(call.op, Op)
        operator = OPERATORS[call.op.name]
        schema = call.op.definition.attrs
        relay_attrs = call.attrs if call.attrs is not None else (schema.make() if schema else None)
        attrs = dict(operator.attrs(relay_attrs))
        inputs = [self.id_of[a] for a in call.args]
        if call.is_op("nn.batch_norm"):
            inputs = self._with_scale_and_shift(call, inputs)
        if call.is_op("nn.bias_add"):
            if self._takes_bias(call, call.args[0], inputs):
                self._op_of(inputs[0])["inputs"].append(inputs[1])
                self.id_of[call] = inputs[0]
                return
            inputs[1] = self._along_channels(call, inputs[1])
        if not (operator.post_op and self._fuse(operator, call, inputs, attrs, call.args)):
            self.id_of[call] = self._emit(operator, call, inputs, attrs)

    def _emit(
        self, operator: Operator, node: Expr, inputs: list[int], attrs: dict[str, Any]
    ) -> int:
        ty = node.checked_type
        ty = ty if isinstance(ty, TensorType) else ty.fields[0]  # type: ignore[attr-defined]
        name = node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else "copy"
        output = self._tensor(f"{name}_{len(self.ops)}", node, ty)
        self._append(operator.kind, name, inputs, output, attrs)
        return output

    def _append(
        self, kind: str, name: str, inputs: list[int], output: int, attrs: dict[str, Any]
    ) -> None:
        self.made_by[output] = len(self.ops)
        self.ops.append(
            {
                "name": f"{name}_{len(self.ops)}",
                "kind": kind,
                "inputs": inputs,
                "output": output,
                "attrs": attrs,
                "post_ops": [],
            }
        )
        self.defined_at[output] = len(self.ops)

    def _with_scale_and_shift(self, call: Call, inputs: list[int]) -> list[int]:
        """oneDNN always scales and shifts: by 1 and 0 where the attributes say not to."""
        assert call.attrs is not None
        data, gamma, beta, *statistics = inputs
        shape = self.tensors[gamma]["shape"]
        if not call.attrs.scale:
            gamma = self._constant(call, np.ones(shape, np.float32))
        if not call.attrs.center:
            beta = self._constant(call, np.zeros(shape, np.float32))
        return [data, gamma, beta, *statistics]

    def _along_channels(self, call: Call, vector: int) -> int:
        """A vector (C,) as (C, 1, 1), which broadcasts along the channels of (N, C, H, W)."""
        rank = len(call.checked_type.shape)  # type: ignore[attr-defined]
        shape = [*self.tensors[vector]["shape"], *[1] * (rank - 2)]
        if vector in self.constants:
            return self._constant(call, self.constants[vector].reshape(shape))
        laid = self._tensor(f"bias_{len(self.ops)}", call, TensorType(shape, DTYPE))
        self._append("reshape", "bias", [vector], laid, {})
        return laid

    # Fusion

    def _op_of(self, tensor: int) -> dict[str, Any]:
        return self.ops[self.made_by[tensor]]

    def _fuse(
        self,
        operator: Operator,
        call: Call,
        inputs: list[int],
        attrs: dict[str, Any],
        operands: Sequence[Expr],
    ) -> bool:
        """Make `call` part of what made one of its operands; whether that was possible."""
        order = list(range(len(inputs)))
        if len(inputs) == 2 and attrs["alg"] not in COMMUTATIVE:
            order = [0]
        # The later operand first: what made it can read the other one.
        for n in sorted(order, key=lambda n: -self.defined_at[inputs[n]]):
            tensor, others = inputs[n], inputs[:n] + inputs[n + 1 :]
            if not self._may_fuse(call, operands[n], tensor, others):
                continue
            op = self._op_of(tensor)
            if operator.kind == "eltwise":
                op["post_ops"].append({"kind": "eltwise", **attrs})
            elif attrs["alg"] == "add" and self._is_bias(tensor, others[0]):
                op["inputs"].append(others[0])
            else:
                op["post_ops"].append({"kind": "binary", "input": others[0], **attrs})
            self.id_of[call] = tensor
            return True
        return False

    def _may_fuse(self, call: Call, operand: Expr, tensor: int, others: list[int]) -> bool:
        maker = self.made_by.get(tensor)
        return (
            maker is not None
            and self.ops[maker]["kind"] != "reshape"
            and len(self.ops[maker]["post_ops"]) < MAX_POST_OPS
            and self._used_once(operand)
            and call.checked_type.shape == tuple(self.tensors[tensor]["shape"])  # type: ignore[attr-defined]
            and all(self.defined_at[o] <= maker for o in others)
        )

    def _takes_bias(self, call: Call, operand: Expr, inputs: list[int]) -> bool:
        return self._may_fuse(call, operand, inputs[0], inputs[1:]) and self._is_unbiased(inputs[0])

    def _is_unbiased(self, tensor: int) -> bool:
        op = self._op_of(tensor)
        return op["kind"] in BIASED and len(op["inputs"]) == 2 and not op["post_ops"]

    def _is_bias(self, tensor: int, other: int) -> bool:
        shapes = self.tensors[other]["shape"], self.tensors[tensor]["shape"]
        return self._is_unbiased(tensor) and is_bias_shape(*shapes)

    def _used_once(self, node: Expr) -> bool:
        """Whether `node` has a single user; a projection is used with what it projects from."""
        if isinstance(node, TupleGetItem) and self.uses[node.tuple_value] != 1:
            return False
        return self.uses[node] == 1
