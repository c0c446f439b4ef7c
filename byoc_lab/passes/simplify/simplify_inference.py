"""SimplifyInference: operators that only training needs become plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.tensor.shape import reshaped_to


class SimplifyInference(FunctionPass):
    """Operators that only training needs become plain arithmetic.

    `nn.batch_norm(x, ...).0` -> `x * scale + shift`; `nn.dropout(x).0` -> `x`; layer, instance and
    group norm and l2 normalisation -> the arithmetic that defines them. For batch norm and dropout
    only the projection `.0` is replaced: if `.1` or the whole tuple is also used, the call remains.

    Raises PassError if epsilon cannot be represented in the dtype of the data (such as integers).

    Source: src/relay/transforms/simplify_inference.cc of TVM 0.16 (with the same order of
    operations, because patterns of back ends expect it).
    """

    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, RULES)


Expand = Callable[[Call, Sequence[Expr]], Expr]
"""(call, args) -> the expression that replaces the call. call: the operator, typed; args: its
operands, rewritten."""


def _replaces(op: str, reason: str, field: int | None = None) -> Callable[[Expand], RewriteRule]:
    """A decorator for the rule of one operator. field: the index of the projection that is
    replaced; None: the call itself."""

    def make(expand: Expand) -> RewriteRule:
        def apply(pre: Expr, post: Expr) -> Expr | None:
            if field is not None:
                if not isinstance(pre, TupleGetItem) or pre.index != field:
                    return None
                assert isinstance(post, TupleGetItem)
                pre, post = pre.tuple_value, post.tuple_value
            if not (isinstance(pre, Call) and isinstance(post, Call) and pre.is_op(op)):
                return None
            new = expand(pre, post.args)
            if not isinstance(new, Call) or new in post.args:
                return new
            return Call(new.op, new.args, new.attrs, span=pre.span)

        return RewriteRule(op.removeprefix("nn."), reason, apply)

    return make


def _epsilon(value: float, like: TensorType) -> Expr:
    """The epsilon of a norm, in the dtype of its data. Raises PassError if the dtype cannot
    represent it."""
    try:
        return relay.const(value, like.dtype)
    except (OverflowError, ValueError) as error:
        raise PassError(
            f"SimplifyInference cannot write the epsilon {value} of a norm of {like.dtype} data as "
            f"a number of {like.dtype}: use a smaller, finite epsilon, or cast the data to float32"
        ) from error


def _along(vector: Expr, axis: int, rank: int) -> Expr:
    """A vector shaped so that it broadcasts along `axis` of a tensor of `rank` dimensions."""
    trailing = rank - axis % rank - 1
    return relay.expand_dims(vector, axis=1, num_newaxis=trailing) if trailing else vector


def _normalized(data: Expr, axes: list[int], epsilon: float, ty: TensorType) -> Expr:
    """(data - mean) / sqrt(variance + epsilon) over `axes`."""
    mean = relay.mean(data, axis=axes, keepdims=True, exclude=False)
    variance = relay.variance(data, axis=axes, keepdims=True, exclude=False, with_mean=mean)
    deviation = relay.sqrt(relay.add(variance, _epsilon(epsilon, ty)))
    return relay.divide(relay.subtract(data, mean), deviation)


def _scale_and_center(out: Expr, call: Call, gamma: Expr, beta: Expr, axis: int, rank: int) -> Expr:
    if call.attrs.scale:
        out = relay.multiply(out, _along(gamma, axis, rank))
    if call.attrs.center:
        out = relay.add(out, _along(beta, axis, rank))
    return out


@_replaces("nn.batch_norm", "at inference, batch norm is a scale and a shift per channel", field=0)
def batch_norm(call: Call, args: Sequence[Expr]) -> Expr:
    data, gamma, beta, mean, variance = args
    attrs, ty = call.attrs, call.args[0].checked_type
    deviation = relay.sqrt(relay.add(variance, _epsilon(attrs.epsilon, ty)))
    scale = relay.divide(relay.const(1.0, ty.dtype), deviation)
    if attrs.scale:
        scale = relay.multiply(scale, gamma)
    shift = relay.multiply(relay.negative(mean), scale)
    if attrs.center:
        shift = relay.add(shift, beta)
    rank = len(ty.shape)
    scaled = relay.multiply(data, _along(scale, attrs.axis, rank))
    return relay.add(scaled, _along(shift, attrs.axis, rank))


@_replaces("nn.dropout", "at inference, dropout returns its input", field=0)
def dropout(call: Call, args: Sequence[Expr]) -> Expr:
    return args[0]


@_replaces("nn.layer_norm", "layer norm is arithmetic over one axis")
def layer_norm(call: Call, args: Sequence[Expr]) -> Expr:
    data, gamma, beta = args
    ty, axis = call.args[0].checked_type, call.attrs.axis
    out = _normalized(data, [axis], call.attrs.epsilon, ty)
    return _scale_and_center(out, call, gamma, beta, axis, len(ty.shape))


@_replaces("nn.instance_norm", "instance norm is arithmetic over all axes but batch and channel")
def instance_norm(call: Call, args: Sequence[Expr]) -> Expr:
    data, gamma, beta = args
    ty = call.args[0].checked_type
    rank = len(ty.shape)
    axis = call.attrs.axis % rank
    axes = [a for a in range(1, rank) if a != axis]
    out = _normalized(data, axes, call.attrs.epsilon, ty)
    return _scale_and_center(out, call, gamma, beta, axis, rank)


@_replaces("nn.group_norm", "group norm is arithmetic over each group of channels")
def group_norm(call: Call, args: Sequence[Expr]) -> Expr:
    data, gamma, beta = args
    ty, groups = call.args[0].checked_type, call.attrs.num_groups
    rank = len(ty.shape)
    axis = call.attrs.axis % rank
    split = [*ty.shape[:axis], groups, ty.shape[axis] // groups, *ty.shape[axis + 1 :]]
    axes = list(range(axis + 1, rank + 1))
    out = _normalized(reshaped_to(data, split), axes, call.attrs.epsilon, ty)
    out = reshaped_to(out, ty.shape)
    return _scale_and_center(out, call, gamma, beta, axis, rank)


@_replaces("nn.l2_normalize", "l2 normalization divides by the root of the sum of squares")
def l2_normalize(call: Call, args: Sequence[Expr]) -> Expr:
    (data,) = args
    total = relay.sum(
        relay.multiply(data, data), axis=call.attrs.axis, keepdims=True, exclude=False
    )
    # In TVM, this epsilon is float32 for data of any dtype.
    bounded = relay.maximum(total, relay.const(call.attrs.eps, "float32"))
    return relay.divide(data, relay.sqrt(bounded))


RULES = (batch_norm, dropout, layer_norm, instance_norm, group_norm, l2_normalize)
SimplifyInference.replaces = tuple(f"nn.{rule.name}" for rule in RULES)
