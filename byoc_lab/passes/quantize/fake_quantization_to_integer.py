"""FakeQuantizationToInteger: rewrites dequantize-to-quantize regions to integer arithmetic, all or
nothing."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import rewriting
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.pattern_rewrite import typed_function
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.passes.quantize.affine_types import AffineTypes
from byoc_lab.passes.quantize.fake_quantized_ops import RULES
from byoc_lab.relay.analysis.affine_type import AffineType, TensorAffineType, TupleAffineType
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.ir.visit import post_order, rebuild

QUANTIZE, DEQUANTIZE = "qnn.quantize", "qnn.dequantize"
GIVEN = "FTVMFakeQuantizationToInteger"
GIVEN_OPTIONAL = "FTVMOptionalFakeQuantizationToInteger"
"""The operator attribute with a registered rule."""

_log = logging.getLogger(__name__)


class FakeQuantizationToInteger(FunctionPass):
    """Rewrites each region from dequantize to quantize to integer arithmetic, all or nothing.

    qnn.quantize(nn.relu(nn.conv2d(qnn.dequantize(%x), qnn.dequantize(%w)))) ->
    qnn.requantize(maximum(qnn.conv2d(%x, %w), 0))

    A region consists of all nodes between dequantized tensors (and constants) and a quantize. It is
    replaced if each of its operators has a rule. A rule gets the affine types of the operands (the
    real numbers that their integers represent) and returns the affine type of the result. An
    operator's definition selects its rule (`fake_quantized`) in `fake_quantized_ops.py`.

    A function registered with `relay.op.register_fake_quantization_to_integer` has priority:
    `function(call, types)` returns the call in integers and its affine type. With `use_qat`, single
    operators whose operands are all dequantized are then rewritten, even without a quantize.

    hard_fail: raise PassError if an operator has no rule, or its rule fails; otherwise its region
    is not changed (logged at level DEBUG).
    use_qat: also rewrite single operators. optional_qnn_ops: names of operators, such as
    nn.softmax, whose rules are disabled by default.

    Source: src/relay/transforms/fake_quantization_to_integer.cc of TVM 0.16.
    """

    replaces = ("qnn.dequantize", "qnn.quantize")

    required = ("InferType", "DivToMul")

    def __init__(
        self,
        hard_fail: bool = False,
        use_qat: bool = False,
        optional_qnn_ops: Sequence[str] | None = None,
    ):
        self.hard_fail = hard_fail
        self.use_qat = use_qat
        self.optional_qnn_ops = frozenset(optional_qnn_ops or ())

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        reason = "all operators between dequantize and quantize compute in integers"
        memo: dict[Expr, Expr] = {}
        regions = _Regions(self, memo)
        func = rewrite(
            func, [RewriteRule("region to integers", reason, regions.replaced)], memo=memo
        )
        if not self.use_qat:
            return func
        func = typed_function(func, mod)
        with rewriting(func):
            reason = "all its operands are dequantized"
            return rewrite(
                func, [RewriteRule("operator to integers", reason, _Single(self).replaced)]
            )

    def rule_of(self, op: Expr) -> Callable[..., Any] | None:
        """The rule of an operator, if it has one."""
        if not isinstance(op, Op):
            return None
        asked = op.name in self.optional_qnn_ops
        found = op.get_attr(GIVEN) or (op.get_attr(GIVEN_OPTIONAL) if asked else None)
        kind = op.definition.fake_quantized
        if found is not None or kind is None:
            return found
        return RULES[kind] if asked or not kind.optional else None

    def attempt(self, what: Call, make: Callable[[], Expr]) -> Expr | None:
        """The result of `make`, or None if it fails."""
        try:
            return make()
        except Exception as error:
            # A user's rule may raise any exception; each means that it does not apply.
            self.failed(what, f"{type(error).__name__}: {error}", error)
            return None

    def failed(self, what: Call, why: str, cause: Exception | None = None) -> None:
        if self.hard_fail:
            raise PassError(f"{what.op_name} cannot be converted to integers: {why}") from cause
        _log.debug("%s was not converted to integers: %s", what.op_name, why)

    def in_integers(self, call: Call, types: AffineTypes) -> Expr:
        """The result of the rule for `call`, whose operands are already rewritten."""
        rule = self.rule_of(call.op)
        if rule is None:
            raise PassError(
                f"{call.op_name} has no rule; see register_fake_quantization_to_integer"
            )
        made = rule(call, types)
        if len(made) != 2 or not isinstance(made[0], Expr) or not isinstance(made[1], AffineType):
            raise PassError(
                f"the rule of {call.op_name} must give an expression and its affine type"
            )
        types[made[0]] = made[1]
        return made[0]


class _Regions:
    """The regions of one function; `memo` maps its nodes to their replacements."""

    def __init__(self, owner: FakeQuantizationToInteger, memo: dict[Expr, Expr]):
        self.owner, self.memo = owner, memo
        self.outside: set[Expr] = set()  # nodes that cannot belong to a region

    def replaced(self, pre: Expr, post: Expr) -> Expr | None:
        if not (isinstance(pre, Call) and pre.is_op(QUANTIZE)):
            return None
        region = _region(pre, self.outside)
        if region is None:
            return None
        calls = [node for node in region if isinstance(node, Call)]
        missing = {c.op_name for c in calls if self.owner.rule_of(c.op) is None}
        if missing:
            self.owner.failed(pre, f"there are no rules for {', '.join(sorted(missing))}")
            return None
        self.memo[pre] = post
        types = AffineTypes(root=post)
        for node in (*calls, pre):
            types.float_types[self.memo[node]] = node.checked_type
            if node.is_op(QUANTIZE) or node.is_op(DEQUANTIZE):
                types[self.memo[node]] = _affine_type(node)
        return self.owner.attempt(pre, lambda: self._rebuilt(post, types))

    def _rebuilt(self, quantize: Expr, types: AffineTypes) -> Expr:
        result = types[quantize]

        def step(pre: Expr, post: Expr) -> Expr:
            if isinstance(post, Call):
                if pre in types.float_types:
                    types.float_types[post] = types.float_types[pre]
                if not _is(post, DEQUANTIZE):
                    # For rules that cannot derive the type from their operands.
                    types[post] = result
                new = self.owner.in_integers(post, types)
                if pre in types.float_types:
                    types.float_types[new] = types.float_types[pre]
                return new
            _type_structure(post, types)
            return post

        return rebuild(quantize, step, enter=lambda node: not _is(node, DEQUANTIZE))


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in @main between dequantize and quantize. A call on the
    paths to several quantize calls counts once for each of them.

    Source: src/relay/analysis/extract_fake_quantized_ops.cc of TVM 0.16.
    """
    found: Counter[str] = Counter()
    outside: set[Expr] = set()
    for node in post_order(mod["main"]):
        if isinstance(node, Call) and node.is_op(QUANTIZE):
            calls = (n for n in _region(node, outside) or () if isinstance(n, Call))
            found.update(c.op_name for c in calls if c.op_name not in ("", DEQUANTIZE))
    return dict(found)


def _region(quantize: Call, outside: set[Expr]) -> list[Expr] | None:
    """The nodes of the region that ends at a quantize; None if other kinds of nodes lead to it.

    outside: nodes that cannot belong to a region; shared between calls of this function.
    """
    found: dict[Expr, None] = {}
    todo = [quantize.args[0]]
    while todo:
        node = todo.pop()
        if node in outside or not _is_data_flow(node):
            outside.add(quantize)
            return None
        if node not in found:
            found[node] = None
            todo += [] if _is(node, DEQUANTIZE) else _operands(node)
    return list(found) if any(isinstance(node, Call) for node in found) else None


class _Single:
    """Rewrites single operators whose operands are dequantized (`use_qat`)."""

    def __init__(self, owner: FakeQuantizationToInteger):
        self.owner = owner
        self.types = AffineTypes()

    def replaced(self, pre: Expr, post: Expr) -> Expr | None:
        if isinstance(pre, Call):
            self.types.float_types[post] = pre.checked_type
            if _is(post, DEQUANTIZE) and post not in self.types:
                self.types[post] = _affine_type(pre)
        if not (isinstance(post, Call) and isinstance(post.op, Op) and post.op.definition.qat):
            return None
        calls = self._operands(post)
        if not calls:
            return None
        if not all(_is(call, DEQUANTIZE) for call in calls):
            self.owner.failed(post, "not all its operands are dequantized")
            return None
        return self.owner.attempt(post, lambda: self._dequantized(post))

    def _operands(self, call: Call) -> list[Call] | None:
        """The calls among the arguments, also inside tuples; None if an argument is neither a call
        nor a constant."""
        found, todo = [], list(call.args)
        while todo:
            node = todo.pop()
            if isinstance(node, Call):
                found.append(node)
            elif isinstance(node, (Tuple, TupleGetItem)):
                todo += node.parts()
            elif not isinstance(node, Constant):
                return None
        return found

    def _dequantized(self, call: Call) -> Expr:
        def step(pre: Expr, post: Expr) -> Expr:
            if isinstance(post, Call):
                return self.owner.in_integers(post, types)
            _type_structure(post, types)
            return post

        types = self.types
        made = rebuild(call, step, enter=lambda node: not _is(node, DEQUANTIZE))
        found = types[made]
        if not isinstance(found, TensorAffineType):
            raise PassError(f"{call.op_name} gives a tuple, which cannot be dequantized as one")
        result = relay.qnn.op.dequantize(made, found.scale, found.zero_point, axis=found.axis)
        self.types[result] = found
        return result


def _is(node: Expr, name: str) -> bool:
    return isinstance(node, Call) and node.is_op(name)


def _is_data_flow(node: Expr) -> bool:
    if isinstance(node, Call):
        return isinstance(node.op, Op)
    return isinstance(node, (Tuple, TupleGetItem, Constant))


def _operands(node: Expr) -> Iterable[Expr]:
    if isinstance(node, Call):
        return node.args[:1] if node.is_op(QUANTIZE) else node.args
    return node.parts()


def _affine_type(call: Call) -> TensorAffineType:
    """The affine type of a quantize's result, or of a dequantize's operand."""
    ty: Type = (call if call.is_op(QUANTIZE) else call.args[0]).checked_type
    assert isinstance(ty, TensorType)
    return TensorAffineType(call.args[1], call.args[2], ty.dtype, call.attrs.axis)


def _type_structure(node: Expr, types: AffineTypes) -> None:
    """Infer the affine types of tuples and their fields."""
    if isinstance(node, Tuple):
        types[node] = TupleAffineType([types[field] for field in node.fields])  # type: ignore
    elif isinstance(node, TupleGetItem):
        whole = types[node.tuple_value]
        assert isinstance(whole, TupleAffineType)
        types[node] = whole.types[node.index]
