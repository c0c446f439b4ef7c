"""SimplifyInference: operators that only training needs become plain arithmetic."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite, rule
from byoc_lab.relay.ir.expr import Call, Expr, Function, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import TensorType


class SimplifyInference(FunctionPass):
    """Operators that only training needs become plain arithmetic.

    `nn.batch_norm(x, ...).0` -> `x * scale + shift`; `nn.dropout(x).0` -> `x`; layer, instance and
    group norm and l2 normalisation -> the arithmetic that defines them. The first two are looked
    for through their projection: when `.1`, or the whole tuple, is used too, the call stays beside
    it.

    Raises PassError where the data are integers and epsilon is none that their dtype has.

    Source: src/relay/transforms/simplify_inference.cc of TVM 0.16 (the order of operations is kept,
    as back ends look for it).
    """

    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, RULES)


def _first_result_of(pre: Expr, post: Expr, op: str) -> tuple[Call, Call] | None:
    """The call behind `op(...).0`, before and after its operands were rewritten."""
    if not (isinstance(pre, TupleGetItem) and isinstance(post, TupleGetItem) and pre.index == 0):
        return None
    before, after = pre.tuple_value, post.tuple_value
    if isinstance(before, Call) and isinstance(after, Call) and before.is_op(op):
        return before, after
    return None


def _placed(call: Call, span: Span | None) -> Call:
    """`call`, from the place in the text of what it replaces."""
    return Call(call.op, call.args, call.attrs, span=span)


def _epsilon(value: float, like: TensorType) -> Expr:
    """The epsilon of a norm, in the dtype of its data. Raises PassError where it has none."""
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


@rule("batch_norm", "at inference, batch norm is a scale and a shift for each channel")
def batch_norm(pre: Expr, post: Expr) -> Expr | None:
    found = _first_result_of(pre, post, "nn.batch_norm")
    if found is None:
        return None
    before, after = found
    data, gamma, beta, mean, variance = after.args
    attrs, ty = before.attrs, before.args[0].checked_type
    deviation = relay.sqrt(relay.add(variance, _epsilon(attrs.epsilon, ty)))
    scale = relay.divide(relay.const(1.0, ty.dtype), deviation)
    if attrs.scale:
        scale = relay.multiply(scale, gamma)
    shift = relay.multiply(relay.negative(mean), scale)
    if attrs.center:
        shift = relay.add(shift, beta)
    rank = len(ty.shape)
    scaled = relay.multiply(data, _along(scale, attrs.axis, rank))
    return _placed(relay.add(scaled, _along(shift, attrs.axis, rank)), before.span)


@rule("dropout", "at inference, dropout lets everything through")
def dropout(pre: Expr, post: Expr) -> Expr | None:
    found = _first_result_of(pre, post, "nn.dropout")
    return found[1].args[0] if found else None


def _normalised(data: Expr, axes: list[int], epsilon: float, ty: TensorType) -> Call:
    """(data - mean) / sqrt(variance + epsilon) over `axes`."""
    mean = relay.mean(data, axis=axes, keepdims=True, exclude=False)
    variance = relay.variance(data, axis=axes, keepdims=True, exclude=False, with_mean=mean)
    deviation = relay.sqrt(relay.add(variance, _epsilon(epsilon, ty)))
    return relay.divide(relay.subtract(data, mean), deviation)


def _scale_and_center(out: Call, call: Call, gamma: Expr, beta: Expr, axis: int, rank: int) -> Call:
    if call.attrs.scale:
        out = relay.multiply(out, _along(gamma, axis, rank))
    if call.attrs.center:
        out = relay.add(out, _along(beta, axis, rank))
    return out


@rule("layer_norm", "layer norm is arithmetic over one axis")
def layer_norm(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(pre, Call) and isinstance(post, Call) and pre.is_op("nn.layer_norm")):
        return None
    data, gamma, beta = post.args
    ty, axis = pre.args[0].checked_type, pre.attrs.axis
    out = _normalised(data, [axis], pre.attrs.epsilon, ty)
    out = _scale_and_center(out, pre, gamma, beta, axis, len(ty.shape))
    return _placed(out, pre.span)


@rule("instance_norm", "instance norm is arithmetic over all axes but batch and channel")
def instance_norm(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(pre, Call) and isinstance(post, Call) and pre.is_op("nn.instance_norm")):
        return None
    data, gamma, beta = post.args
    ty = pre.args[0].checked_type
    rank = len(ty.shape)
    axis = pre.attrs.axis % rank
    axes = [a for a in range(1, rank) if a != axis]
    out = _normalised(data, axes, pre.attrs.epsilon, ty)
    out = _scale_and_center(out, pre, gamma, beta, axis, rank)
    return _placed(out, pre.span)


@rule("group_norm", "group norm is arithmetic over each group of channels")
def group_norm(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(pre, Call) and isinstance(post, Call) and pre.is_op("nn.group_norm")):
        return None
    data, gamma, beta = post.args
    ty, groups = pre.args[0].checked_type, pre.attrs.num_groups
    rank = len(ty.shape)
    axis = pre.attrs.axis % rank
    split = [*ty.shape[:axis], groups, ty.shape[axis] // groups, *ty.shape[axis + 1 :]]
    axes = list(range(axis + 1, rank + 1))
    out = _normalised(relay.reshape(data, split), axes, pre.attrs.epsilon, ty)
    out = relay.reshape(out, list(ty.shape))
    out = _scale_and_center(out, pre, gamma, beta, axis, rank)
    return _placed(out, pre.span)


@rule("l2_normalize", "l2 normalisation is a division by the root of the sum of squares")
def l2_normalize(pre: Expr, post: Expr) -> Expr | None:
    if not (isinstance(pre, Call) and isinstance(post, Call) and pre.is_op("nn.l2_normalize")):
        return None
    data = post.args[0]
    total = relay.sum(relay.multiply(data, data), axis=pre.attrs.axis, keepdims=True, exclude=False)
    # TVM's epsilon is float32 whatever the dtype of data.
    bounded = relay.maximum(total, relay.const(pre.attrs.eps, "float32"))
    return _placed(relay.divide(data, relay.sqrt(bounded)), pre.span)


RULES: tuple[RewriteRule, ...] = (
    batch_norm,
    dropout,
    layer_norm,
    instance_norm,
    group_norm,
    l2_normalize,
)
