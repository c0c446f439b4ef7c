"""Planted misses: modules with one call that is not offloaded, and the expected cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab import backends, relay
from byoc_lab.backends.dnnl import pattern_table
from byoc_lab.backends.dnnl.pruning import PruneSubgraphs
from byoc_lab.passes import (
    FoldConstant,
    InferType,
    PartitionGraph,
    SimplifyInference,
)
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import (
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    wildcard,
)
from tests.lab.explaining.pieces import (
    CONV,
    CONV_ADD,
    CONV_ADD_RELU,
    CONV_RELU,
    NPU,
    OTHER,
    Any_,
    around_a_let_of_the_host,
    batch_norm,
    bound_by_let,
    conv,
    entry,
    gated,
    has_constant_weight,
    heavy_around_the_host,
    left_is_conv,
    overlapping,
    refuse_wide,
    residual,
    small_bias,
    steps,
    two_users,
    unused_let,
    weight,
    x,
)


@dataclass(frozen=True)
class Planted:
    """One miss. `operator`: the operator of the explained call.

    change: words of the expected change; None if no tried change offloads the call. table,
    supports: of the back end `NPU`; without them the target is DNNL. passes: the pipeline, if not
    the default one.
    """

    name: str
    cause: str
    operator: str
    build: Callable[[], relay.Expr]
    change: str | None = None
    table: Sequence[tuple[Any, ...]] | None = None
    supports: Mapping[str, Any] | Sequence[str] = ()
    passes: Callable[[], list[Pass]] | None = None
    expected: str = ""
    found: str = ""
    nearest: str = ""
    level: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return "dnnl" if self.table is None else NPU

    def module(self) -> IRModule:
        body = self.build()
        return InferType()(body if isinstance(body, IRModule) else IRModule.from_expr(body))

    def register(self) -> None:
        if self.table is not None:
            backends.register(NPU, patterns=list(self.table), supports=self.supports)


DNNL = [
    Planted(
        "a layer norm that is decomposed", "no-pattern", "nn.layer_norm",
        lambda: nn.layer_norm(x(2, 4), weight(4), weight(4)), "leave SimplifyInference out",
        found="mean (from nn.layer_norm, result of @main)",
    ),
    Planted(
        "a norm that nothing computes", "no-pattern", "nn.l2_normalize",
        lambda: nn.l2_normalize(x(1, 4, 8, 8), 1e-5, [1]), found="sum",
    ),
    Planted(
        "a pattern for float16", "sub-pattern", "nn.dense",
        lambda: nn.dense(x(2, 4), weight(4, 4)),
        "run ToMixedPrecision('float16') before MergeComposite", [],
        passes=lambda: steps(
            table=[(f"{NPU}.dense", is_op("nn.dense")(wildcard().has_dtype("float16"), wildcard()))]
        )(),
    ),
    Planted("float16", "predicate", "tanh", lambda: relay.tanh(x(2, dtype="float16")), "float32"),
    Planted(
        "a gelu that is multiplied in another order", "sub-pattern", "erf",
        lambda: _gelu(reordered=True), expected="nn.dense", found="multiply (%3)",
        nearest="dnnl.dense_gelu (5 of 7",
    ),
    Planted(
        "a gelu with another constant", "check", "erf", lambda: _gelu(root_of_two=1.4),
        nearest="gelu",
    ),
    Planted("an operator that it does not have", "no-pattern", "sin", lambda: relay.sin(x())),
    Planted(
        "values that a pass joins in a region", "needs-pass", "stack",
        lambda: relay.stack([nn.relu(x()), nn.relu(x(name="y"))], 1), "OffloadDataMovement",
    ),
    Planted(
        "an image size that is an input", "no-pattern", "dyn.image.resize2d",
        lambda: relay.tanh(relay.image.resize2d(nn.relu(x(1, 4, 8, 8)), _size())),
        "bind %size with bind_params_by_name(mod['main'], params); tried with ones as values; and "
        "run DynamicToStatic before MergeComposite",
    ),
    Planted(
        "a result whose size is an input", "predicate", "nn.relu",
        lambda: nn.relu(relay.image.resize2d(x(1, 4, 8, 8), _size())),
        "bind %size with bind_params_by_name",
    ),
    Planted(
        "no operand", "no-operand", "zeros",
        lambda: relay.add(relay.exp(x(2)), relay.zeros((2,), "float32")), table=[],
        supports=["zeros", "add"],
    ),
    Planted(
        "a composite of constants alone", "no-operand", "zeros",
        lambda: relay.add(x(2), relay.zeros((2,), "float32")),
        table=[entry("zeros", is_op("zeros")())],
    ),
    Planted(
        "an optional part fits and the end is missing", "sub-pattern", "nn.bias_add",
        lambda: nn.bias_add(conv(), weight(4)), "make nn.relu optional",
        table=[entry("conv", is_op("nn.relu")(
            is_op("nn.conv2d")(Any_(), Any_()).optional(
                lambda inner: is_op("nn.bias_add")(inner, Any_())
            )
        ))], nearest="2 of 3 parts",
    ),
    Planted("a comparison", "no-pattern", "greater", lambda: relay.greater(x(), weight(1))),
    Planted(
        "a pool with ceil_mode", "predicate", "nn.max_pool2d",
        lambda: nn.max_pool2d(x(), (3, 3), (2, 2), ceil_mode=True), "ceil_mode=False",
    ),
    Planted(
        "float64", "predicate", "nn.relu", lambda: nn.relu(x(2, 3, dtype="float64")), "float32"
    ),
    Planted(
        "int64", "predicate", "add", lambda: relay.add(x(2, dtype="int64"), x(2, dtype="int64")),
        "float32",
    ),
    Planted(
        "a rank that is too large", "predicate", "tanh", lambda: relay.tanh(x(1, 1, 1, 1, 1, 1, 2))
    ),
    Planted(
        "a softmax over a batch norm axis", "predicate", "nn.batch_norm",
        lambda: nn.batch_norm(x(1, 8, 8, 4), *[x(4, name=n) for n in "abcd"], axis=3)[0],
        passes=lambda: steps(target="dnnl", table=pattern_table())(),
    ),
    Planted(
        "a gelu whose inner value is used outside", "outside-user", "erf",
        lambda: _gelu(leak=True), "second time",
    ),
    Planted("a gelu without its dense", "sub-pattern", "erf", lambda: _gelu(root=False)),
    Planted(
        "a gelu across a let", "let", "erf", lambda: _gelu(let=True), "ToGraphNormalForm",
    ),
    Planted(
        "a batch norm with parameters that are not bound", "unbound-constant", "nn.batch_norm",
        lambda: nn.relu(batch_norm(conv(), constant=False)), "bind_params_by_name",
    ),
    Planted(
        "a region that is pruned", "pruned", "nn.softmax",
        lambda: nn.softmax(relay.erf(nn.dense(x(2, 4), weight(4, 4)))), "PruneSubgraphs",
        passes=lambda: [*steps(target="dnnl", table=pattern_table())(), PruneSubgraphs()],
    ),
    Planted(
        "a region that is pruned as it cannot be merged", "merge", "add",
        heavy_around_the_host, "PruneSubgraphs",
        passes=lambda: [*steps(target="dnnl", table=pattern_table())(), PruneSubgraphs()],
    ),
    Planted(
        "a misspelt target", "name", "nn.relu", lambda: nn.relu(x()), "AnnotateTarget('dnnl')",
        passes=lambda: steps(target="dnlll")(),
    ),
    Planted(
        "a pipeline without AnnotateTarget", "needs-pass", "nn.relu", lambda: nn.relu(x()),
        "AnnotateTarget", passes=lambda: [InferType(), PartitionGraph()],
    ),
    Planted(
        "a pipeline without PartitionGraph", "needs-pass", "nn.conv2d", lambda: nn.relu(conv()),
        "PartitionGraph",
        passes=lambda: steps(target="dnnl", table=pattern_table())()[:-1],
    ),
    Planted(
        "a batch norm that was decomposed without folding", "needs-pass", "nn.batch_norm",
        lambda: nn.relu(batch_norm(conv())), "FoldConstant",
        passes=lambda: steps(SimplifyInference(), target="dnnl", table=pattern_table())(),
    ),
]  # fmt: skip


def _size() -> relay.Var:
    return relay.var("size", shape=(2,), dtype="int64")


def _gelu(
    leak: bool = False,
    root: bool = True,
    let: bool = False,
    reordered: bool = False,
    root_of_two: float = 1.41421356,
) -> relay.Expr:
    data = nn.dense(x(2, 4), weight(4, 4)) if root else relay.transpose(x(2, 4))
    erf = relay.erf(relay.divide(data, relay.const(root_of_two, "float32")))
    variable = relay.var("e")
    value: relay.Expr = variable if let else erf
    plus = relay.add(value, relay.const(1.0, "float32"))
    half = relay.const(0.5, "float32")
    out = relay.multiply(relay.multiply(data, plus), half)
    if reordered:
        out = relay.multiply(relay.multiply(data, half), plus)
    if let:
        return relay.Let(variable, erf, out)
    return relay.Tuple([out, relay.sin(erf)]) if leak else out


TABLES = [
    Planted(
        "no bias", "sub-pattern", "nn.conv2d", lambda: nn.relu(conv()), "make add optional",
        [entry("conv_bias_relu", CONV_ADD_RELU)], expected="add", nearest="conv_bias_relu",
    ),
    Planted(
        "another activation", "sub-pattern", "nn.conv2d", lambda: nn.leaky_relu(conv(), 0.1),
        "make nn.relu optional", [entry("conv_relu", CONV_RELU)], expected="nn.relu",
    ),
    Planted(
        "a cast between", "sub-pattern", "nn.relu",
        lambda: nn.relu(relay.copy(conv())), "copy", [entry("conv_relu", CONV_RELU)],
        expected="nn.conv2d",
    ),
    Planted(
        "operands of a subtraction in the other order", "sub-pattern", "subtract",
        lambda: relay.subtract(weight(4), x(2, 4)), None,
        [entry("sub", is_op("subtract")(is_op("exp")(Any_()), Any_()))], expected="exp",
    ),
    Planted(
        "operands of a maximum in the other order", "sub-pattern", "maximum",
        lambda: relay.maximum(weight(1), conv()), "swap the operands of maximum",
        [entry("conv_max", is_op("maximum")(CONV, Any_()))], expected="nn.conv2d",
    ),
    Planted(
        "an attribute", "sub-pattern", "nn.softmax", lambda: nn.softmax(x(2, 4), axis=0),
        "do not ask for axis=-1",
        [entry("softmax", is_op("nn.softmax")(Any_()).has_attr({"axis": -1}))],
        expected="nn.softmax with axis=-1",
    ),
    Planted(
        "a data type", "sub-pattern", "exp", lambda: relay.exp(x(2, 4, dtype="float64")),
        "do not ask for dtype float32",
        [entry("exp", is_op("exp")(Any_()).has_dtype("float32"))], expected="of dtype float32",
    ),
    Planted(
        "a shape", "sub-pattern", "exp", lambda: relay.exp(x(2, 4)), "do not ask for shape",
        [entry("exp", is_op("exp")(Any_()).has_shape((4, 4)))], expected="of shape",
    ),
    Planted(
        "another field of a tuple", "sub-pattern", "split",
        lambda: relay.split(x(2, 4), 2, axis=1)[1], None,
        [entry("half", is_tuple_get_item(is_op("split")(Any_()), 0))], expected="field 0",
        found="field 1 of split (result of @main)",
    ),
    Planted(
        "a longer tuple", "sub-pattern", "concatenate",
        lambda: relay.concatenate([x(2, 4), x(2, 4, name="y"), x(2, 4, name="z")], 0), None,
        [entry("pair", is_op("concatenate")(is_tuple([Any_(), Any_()])))], expected="a tuple of 2",
    ),
    Planted(
        "a weight that is not bound", "unbound-constant", "nn.dense",
        lambda: nn.dense(x(2, 4), x(4, 4, name="w")), "bind %w",
        [entry("dense", is_op("nn.dense")(Any_(), is_constant()))], expected="a constant",
    ),
    Planted(
        "a weight that is computed", "needs-pass", "nn.dense",
        lambda: nn.dense(x(2, 4), relay.transpose(weight(4, 4))), "FoldConstant",
        [entry("dense", is_op("nn.dense")(Any_(), is_constant()))],
    ),
    Planted(
        "a convolution with one operand", "sub-pattern", "nn.conv2d", lambda: nn.relu(conv()),
        None, [entry("conv_relu", is_op("nn.relu")(is_op("nn.conv2d")(Any_())))],
        expected="nn.conv2d with 1 operand (not 2)",
    ),
    Planted(
        "a batch norm in the place of a bias", "needs-pass", "nn.conv2d",
        lambda: nn.relu(batch_norm(conv())), "SimplifyInference",
        [entry("conv_bias_relu", CONV_ADD_RELU)],
    ),
    Planted(
        "a bias_add in the place of an add", "needs-pass", "nn.bias_add",
        lambda: nn.relu(nn.bias_add(conv(), weight(4))), "CanonicalizeOps",
        [entry("conv_bias_relu", CONV_ADD_RELU)],
    ),
    Planted(
        "a dropout between", "needs-pass", "nn.conv2d",
        lambda: nn.relu(nn.dropout(conv(), 0.5)), "SimplifyInference",
        [entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "a check that gives its reason", "check", "nn.dense",
        lambda: nn.dense(x(2, 4), x(4, 4, name="w")), "bind %w",
        [entry("dense", is_op("nn.dense")(Any_(), Any_()), has_constant_weight)],
    ),
    Planted(
        "a check that looks at one operand", "check", "nn.conv2d",
        lambda: nn.relu(relay.add(weight(4, 1, 1), conv())), "swap the operands of add",
        [entry("conv_bias", CONV_ADD, left_is_conv)],
    ),
    Planted(
        "a residual taken for a bias", "check", "nn.conv2d", residual, None,
        [entry("conv_bias", CONV_ADD, small_bias)],
    ),
    Planted(
        "a predicate about an axis", "predicate", "nn.softmax",
        lambda: nn.softmax(x(2, 4), axis=1), "axis=-1", [], {"nn.softmax": refuse_wide},
    ),
    Planted(
        "a predicate about another axis", "predicate", "nn.softmax",
        lambda: nn.softmax(x(2, 4), axis=0), "other numbers", [], {"nn.softmax": refuse_wide},
    ),
    Planted(
        "a predicate without a reason", "predicate", "exp", lambda: relay.exp(x(2, 4)), None, [],
        {"exp": lambda call: False},
    ),
    Planted(
        "a short pattern before a long one", "order", "nn.relu", lambda: nn.relu(conv()),
        "move npu_of_tests.conv_relu before npu_of_tests.conv",
        [entry("conv", CONV), entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "another target before", "order", "exp", lambda: relay.exp(x(2, 4)),
        f"AnnotateTarget(['{NPU}', '{OTHER}'])", [], ["exp"],
        passes=lambda: steps(target=[OTHER, NPU])(),
    ),
    Planted(
        "an inner value that is used outside", "outside-user", "nn.conv2d", two_users,
        "second time", [entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "an inner value that is returned", "outside-user", "nn.conv2d",
        lambda: relay.Tuple([(c := conv()), nn.relu(c)]), "second time",
        [entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "a value that flows back into the match", "computed-twice", "nn.conv2d", gated,
        f"move {NPU}.gate to the end of the pattern table",
        [
            entry("gate", is_op("multiply")(CONV_ADD, Any_())),
            entry("silu", is_op("multiply")(CONV_ADD, is_op("sigmoid")(CONV_ADD))),
        ],
        expected="add (%1) used inside the match alone", found="also used by sigmoid (%2)",
    ),
    Planted(
        "a match that overlaps with another", "order", "add", overlapping, None,
        [entry("sums", is_op("add")(is_op("add")(Any_(), Any_()), Any_()))],
        expected="overlaps with no later match", found="the match that ends in add",
    ),
    Planted(
        "a let", "let", "nn.conv2d", bound_by_let, "ToGraphNormalForm",
        [entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "the user of a let", "let", "nn.relu", bound_by_let, "ToGraphNormalForm",
        [entry("conv_relu", CONV_RELU)],
    ),
    Planted(
        "a let whose variable nobody uses", "unused", "nn.conv2d", unused_let, "ToGraphNormalForm",
        [entry("conv_relu", CONV_RELU)], expected="nn.relu", found="nothing that uses it",
    ),
    Planted(
        "a region that reads a let that depends on it", "malformed", "exp",
        around_a_let_of_the_host, "ToGraphNormalForm", [], ["exp", "tanh", "add"],
    ),
    Planted(
        "a composite without a dot", "name", "nn.conv2d", lambda: nn.relu(conv()),
        f"call the pattern '{NPU}.conv_relu'", [],
        passes=lambda: steps(table=[("conv_relu", CONV_RELU)])(),
    ),
    Planted(
        "a composite of another name", "name", "nn.relu", lambda: nn.relu(conv()),
        f"call the pattern '{NPU}.conv_relu'", [],
        passes=lambda: steps(table=[("nqu.conv_relu", CONV_RELU)])(),
    ),
    Planted(
        "a pass above the level", "skipped-pass", "nn.dense",
        lambda: nn.dense(x(2, 4), relay.transpose(weight(4, 4))), "opt_level=2",
        [entry("dense", is_op("nn.dense")(Any_(), is_constant()))],
        passes=lambda: steps(
            FoldConstant(),
            table=[entry("dense", is_op("nn.dense")(Any_(), is_constant()))],
        )(),
        level=1,
    ),
    Planted(
        "a disabled pass", "skipped-pass", "nn.dense",
        lambda: nn.dense(x(2, 4), relay.transpose(weight(4, 4))), "do not disable FoldConstant",
        [entry("dense", is_op("nn.dense")(Any_(), is_constant()))],
        passes=lambda: steps(
            FoldConstant(),
            table=[entry("dense", is_op("nn.dense")(Any_(), is_constant()))],
        )(),
        options={"disabled_pass": ["FoldConstant"], "opt_level": 3},
    ),
    Planted(
        "a pattern of attributes", "sub-pattern", "nn.conv2d",
        lambda: conv(groups=1, dilation=(2, 2)), "do not ask for",
        [entry("conv", CONV.has_attr({"dilation": (1, 1)}))],
    ),
]  # fmt: skip

ALL = [*DNNL, *TABLES]

__all__ = ["ALL", "NPU", "OTHER", "Planted"]
