"""`explain` on problems that TVM users reported: dominators, constants in patterns, missing
passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from byoc_lab import backends, lint, relay, trace, transform
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.explaining import Explanation, Explanations, explain, explain_patterns
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import (
    DFPattern,
    is_constant,
    is_expr,
    is_op,
    is_tuple_get_item,
    wildcard,
)
from tests.lab.explaining.pieces import CONV, NPU, Any_, conv, entry, the, weight, x

PATH = (is_op("nn.relu") | is_op("sigmoid"))(Any_())
JOINED = is_op("add")(Any_(), Any_()).dominates(CONV, PATH)


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)  # replaces the registration: no patterns


def told(pattern: DFPattern, body: relay.Expr, *passes: Pass | str, level: int = 3) -> Explanations:
    table = [entry("it", pattern)]
    backends.register(NPU, patterns=table)
    merge = [transform.MergeComposite(table), transform.AnnotateTarget(NPU), "PartitionGraph"]
    with transform.PassContext(opt_level=level):
        return explain(IRModule.from_expr(body), NPU, pipeline=[*passes, *merge])


def change(found: Explanations, operator: str) -> str:
    made = the(found, operator).change
    assert made is not None
    return made.what


# Dominators: apache/tvm#15473 ---------------------------------------------------------------------


def test_operand_that_does_not_come_from_the_dominator_s_parent_is_named() -> None:
    value = conv()
    z = relay.var("z", relay.TensorType(value_shape(value)))
    found = the(told(JOINED, relay.add(nn.relu(value), z)), "add")
    assert found.expected == "nn.relu, sigmoid or nn.conv2d"
    assert "as an operand of add (result of @main), found variable %z" in found.reason


def value_shape(value: relay.Expr) -> tuple[int, ...]:
    return relay.transform.InferTypeLocal(value).concrete_shape


def test_value_of_the_dominator_path_used_elsewhere_is_named() -> None:
    value = conv()
    inner = nn.relu(value)
    joined = relay.add(inner, relay.sigmoid(value))
    found = told(JOINED, relay.Tuple([joined, inner]))
    assert the(found, "add").expected == (
        "add whose operands all come from one nn.conv2d over nn.relu or sigmoid alone (used "
        "nowhere else)"
    )
    assert "nn.relu (%1) of type" in the(found, "add").found
    assert "also used outside: by a tuple of 2 (result of @main)" in the(found, "add").found
    assert str(change(found, "add")).startswith("compute nn.relu (%1) a second time")


def test_two_equal_parents_suggest_to_compute_equal_values_once() -> None:
    data, kernel = x(), weight(4, 4, 3, 3)
    twice = [nn.conv2d(data, kernel) for _ in range(2)]
    found = told(JOINED, relay.add(nn.relu(twice[0]), relay.sigmoid(twice[1])))
    assert change(found, "add") == "compute equal values once"


# Patterns with a value: apache/tvm#4919, #5552
# ---------------------------------------------------


def test_constant_with_another_value_is_reported_with_both_values() -> None:
    pattern = is_op("add")(Any_(), is_expr(relay.const(3.0)))
    (found,) = told(pattern, relay.add(x(), relay.const(2.5)))
    assert found.expected == "constant 3 of dtype float32" and found.found == "constant 2.5"


def test_constant_tensor_with_other_values_is_reported() -> None:
    wanted, given = (relay.const(np.full(4, v, "float32")) for v in (3, 2))
    (found,) = told(is_op("nn.bias_add")(Any_(), is_expr(wanted)), nn.bias_add(x(), given))
    assert found.expected == "constant Tensor[(4), float32] with the values in the pattern"


def test_found_attributes_are_shown() -> None:
    pattern = is_op("clip")(Any_()).has_attr({"a_min": 0.0, "a_max": 6.0})
    (found,) = told(pattern, relay.clip(x(), -1.0, 6.0))
    assert found.found.endswith("with a_min=-1.0, a_max=6.0")
    module = IRModule.from_expr(relay.clip(x(), -1.0, 6.0))
    assert "with a_min=-1.0, a_max=6.0; see" in str(
        explain_patterns([entry("it", pattern)], module)
    )


def test_pattern_used_twice_on_equal_values_suggests_to_compute_them_once() -> None:
    relu = is_op("nn.relu")(wildcard())
    data = x()
    body = relay.multiply(relay.clip(nn.relu(data), 0.0, 6.0), nn.relu(data))
    found = told(is_op("multiply")(is_op("clip")(relu), relu), body)
    assert change(found, "multiply") == "compute equal values once"


# Missing passes: apache/tvm#9164, #8848, discuss 7378
# --------------------------------------------


def test_weights_quantized_in_the_graph_suggest_fold_constant() -> None:
    q = relay.qnn.op
    one, zero = relay.const(1.0), relay.const(0)
    kernel = q.quantize(weight(4, 4, 3, 3), one, zero, out_dtype="int8")
    data = relay.var("data", shape=(1, 4, 8, 8), dtype="uint8")
    body = q.conv2d(data, kernel, zero, zero, one, one, kernel_size=(3, 3), channels=4)
    pattern = is_op("qnn.conv2d")(Any_(), is_constant(), Any_(), Any_(), Any_(), Any_())
    found = told(pattern, body, "FoldConstant")
    assert change(found, "qnn.conv2d") == "run FoldConstant(fold_qnn=True) before MergeComposite"


def test_two_additions_of_constants_suggest_simplify_expr() -> None:
    pattern = is_op("nn.relu")(is_op("add")(CONV, is_constant()))
    added = relay.add(relay.add(conv(), weight(4, 1, 1)), weight(4, 1, 1))
    found = told(pattern, nn.relu(added), "FoldConstant")
    for operator in ("nn.conv2d", "nn.relu"):
        assert change(found, operator) == "run SimplifyExpr and FoldConstant before MergeComposite"


def test_pool_in_another_layout_suggests_convert_layout() -> None:
    backends.register(NPU, supports={"nn.max_pool2d": lambda call: call.attrs.layout == "NHWC"})
    found = explain(IRModule.from_expr(nn.max_pool2d(x(), pool_size=(2, 2))), NPU)
    assert change(found, "nn.max_pool2d").startswith(
        "run ConvertLayout({'nn.max_pool2d': ['NHWC']})"
    )


@pytest.mark.parametrize("name", ["FoldConstant", "SimplifyInference"])
def test_leaving_out_the_pass_that_removes_an_operator_of_a_pattern_is_suggested(name: str) -> None:
    """discuss.tvm.apache.org/t/14299: a pattern matches before the passes, but not after them."""
    norm = is_op("nn.batch_norm")(*(Any_() for _ in range(5)))
    reshaped = is_op("add")(is_op("reshape")(Any_()), CONV)
    pattern = {"FoldConstant": reshaped, "SimplifyInference": is_tuple_get_item(norm, 0)}[name]
    body = relay.add(relay.reshape(weight(4), (4, 1, 1)), conv())
    if name == "SimplifyInference":
        pattern = is_op("nn.relu")(pattern)
        body = nn.relu(nn.batch_norm(conv(), *(weight(4) for _ in range(4)))[0])
    found = told(pattern, body, name)
    (root,) = [e for e in found if e.name in ("add", "nn.relu")]
    assert change(found, root.name) == f"leave {name} out of the pipeline"


# Modules with regions -----------------------------------------------------------------------------


def test_calls_in_regions_of_another_back_end_are_not_explained() -> None:
    backends.register("first", supports=["nn.relu"])
    backends.register(NPU, supports=["exp"])
    try:
        data: Any = relay.var("data", shape=(4,))
        body = relay.exp(nn.relu(relay.exp(data)))
        done = trace(IRModule.from_expr(body), "first").result
        assert [(e.name, e.offloaded) for e in explain(done, NPU)] == [("exp", True)] * 2
        with pytest.raises(ArgumentError, match="is in a region of first already"):
            explain(done, NPU, "nn.relu")
    finally:
        backends.unregister("first")


def test_call_that_a_pass_created_from_constants_is_distinguished_from_its_origin() -> None:
    """FakeQuantizationToInteger moves the quantize after the addition to the bias."""

    def quantized(e: relay.Expr) -> relay.Expr:
        return relay.qnn.op.quantize(e, relay.const(0.5), relay.const(0), out_dtype="int8")

    def real(e: relay.Expr) -> relay.Expr:
        return relay.qnn.op.dequantize(e, relay.const(0.5), relay.const(0))

    kernel = real(relay.const(np.ones((4, 4, 1, 1), "int8")))
    convolved = nn.conv2d(real(quantized(x(1, 4, 8, 8))), kernel, kernel_size=(1, 1), channels=4)
    added = quantized(nn.bias_add(convolved, weight(4)))
    found = the(told(CONV, real(added), "FakeQuantizationToInteger"), "qnn.quantize")
    assert found.reason.startswith("qnn.quantize that passes made from qnn.quantize (%5)")


def fake_quantised() -> tuple[DFPattern, relay.Expr]:
    """A convolution between fake quantizations, and the pattern of its integer form."""
    one, zero = relay.const(0.5), relay.const(0)

    def real(e: relay.Expr) -> relay.Expr:
        return relay.qnn.op.dequantize(e, one, zero)

    def quantized(e: relay.Expr) -> relay.Expr:
        return relay.qnn.op.quantize(e, one, zero, out_dtype="int8")

    kernel = real(relay.const(np.ones((4, 4, 1, 1), "int8")))
    body = nn.conv2d(real(quantized(x(1, 4, 8, 8))), kernel, kernel_size=(1, 1), channels=4)
    convolved = is_op("qnn.conv2d")(*[Any_() for _ in range(6)])
    return is_op("qnn.requantize")(convolved, *[Any_() for _ in range(4)]), real(quantized(body))


def test_float_convolution_between_fake_quantizations_suggests_the_integer_pass() -> None:
    found = told(*fake_quantised())
    expected = "run FakeQuantizationToInteger before MergeComposite"
    assert change(found, "nn.conv2d") == expected
    assert the(found, "nn.conv2d").cause == "needs-pass"


@pytest.mark.parametrize(
    ("then", "missing", "expected"),
    [
        (
            ["FakeQuantizationToInteger"],
            "the pipeline runs FoldConstant(fold_qnn=True) before FakeQuantizationToInteger",
            "move FoldConstant(fold_qnn=True) after FakeQuantizationToInteger",
        ),
        (
            [],
            "the pipeline does not run FakeQuantizationToInteger before "
            "FoldConstant(fold_qnn=True)",
            "run FakeQuantizationToInteger before FoldConstant(fold_qnn=True)",
        ),
    ],
)
def test_quantized_constants_folded_too_early_suggest_another_order(
    then: list[str], missing: str, expected: str
) -> None:
    """FakeQuantizationToInteger needs the dequantize that FoldConstant computed."""
    found = told(*fake_quantised(), transform.FoldConstant(fold_qnn=True), *then)
    for name in ("nn.conv2d", "qnn.quantize"):
        assert change(found, name) == expected
        assert the(found, name).cause == "needs-pass"
        assert the(found, name).reason.startswith(f"{missing}; ")


@pytest.mark.parametrize("opt_level", [2, 3])
def test_layout_pass_after_annotation_is_suggested_to_be_moved(opt_level: int) -> None:
    backends.register(NPU, supports={"nn.conv2d": lambda c: c.attrs.data_layout == "NHWC"})
    convert = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
    pipeline = [transform.AnnotateTarget(NPU), convert, "PartitionGraph"]
    with transform.PassContext(opt_level=opt_level):
        (found,) = explain(IRModule.from_expr(conv(x(1, 4, 8, 8))), NPU, pipeline=pipeline)
    assert found.cause == "needs-pass" and found.change is not None
    assert found.reason.startswith("the pipeline runs ConvertLayout after AnnotateTarget; ")
    level = ", under PassContext(opt_level=3)" if opt_level == 2 else ""
    assert found.change.what == f"move ConvertLayout before AnnotateTarget{level}"


def test_target_with_a_dot_is_the_cause_because_no_composite_matches_it() -> None:
    """AnnotateTarget compares only the part before the first dot: "acc", never "acc.a"."""
    table = [("acc.a.relu", is_op("nn.relu")(Any_()))]
    steps = [transform.MergeComposite(table), transform.AnnotateTarget("acc.a"), "PartitionGraph"]
    mod = IRModule.from_expr(nn.relu(x(2, 3)))
    found = the(explain(mod, "acc.a", pipeline=steps), "nn.relu")
    assert found.cause == "name" and found.expected.startswith("a target without a dot")
    (misnamed,) = lint(mod, steps).by_code("BYL018")
    assert misnamed.what_to_do.startswith("use a target without a dot")


@pytest.mark.parametrize("first", ["the input", "a bias"])
def test_input_of_the_network_is_not_a_parameter_to_bind(first: str) -> None:
    """Binding it would leave a network without inputs; a sum may have its bias first."""
    data, bias = relay.var("x", shape=(1, 4)), relay.var("b", shape=(1, 4))
    sub = is_op("subtract")(Any_(), is_constant())
    add = is_op("add")(is_op("exp")(Any_()), is_constant())
    if first == "a bias":
        found = the(told(add, relay.add(bias, relay.exp(data))), "add")
        assert found.cause == "unbound-constant" and "bind %b" in str(found.change)
    else:
        both = relay.Tuple([relay.exp(data), relay.subtract(relay.const(1.0), data)])
        found = the(told(sub, both), "subtract")
        assert found.cause == "sub-pattern" and "accept any value" in str(found.change)


# Sequences in pipelines ---------------------------------------------------------------------------


def of_sequence(
    sequence: transform.Sequential, *rest: Pass | str, level: int = 2, off: Sequence[str] = ()
) -> Explanation:
    """The explanation of the batch norm; only the operators that it decomposes into are
    supported."""
    backends.register(NPU, supports=["add", "multiply"])
    ones = [weight(4) for _ in range(4)]
    mod = IRModule.from_expr(nn.batch_norm(x(1, 4, 8, 8), *ones)[0])
    with transform.PassContext(opt_level=level, disabled_pass=off):
        return the(explain(mod, NPU, pipeline=[sequence, *rest]), "nn.batch_norm")


@pytest.mark.parametrize(
    ("level", "off", "missing"),
    [
        (2, [], "the PassContext has opt_level 2 and skips sequential, which needs 3"),
        (3, ["sequential"], "the PassContext disables sequential"),
    ],
)
def test_skipped_sequence_does_not_run_its_passes(level: int, off: list[str], missing: str) -> None:
    members = [transform.SimplifyInference(), transform.FoldConstant()]
    norm = transform.Sequential(members, opt_level=3)
    found = of_sequence(norm, transform.AnnotateTarget(NPU), "PartitionGraph", level=level, off=off)
    assert found.cause == "skipped-pass" and found.reason.startswith(f"{missing}; ")
    assert of_sequence(norm, transform.AnnotateTarget(NPU), "PartitionGraph", level=3).offloaded


def test_table_in_a_named_sequence_is_used() -> None:
    table = [entry("biased", is_op("nn.relu")(is_op("nn.bias_add")(CONV, Any_())))]
    backends.register(NPU, patterns=table)
    partition = transform.Sequential(
        [
            transform.MergeComposite(table),
            transform.AnnotateTarget(NPU),
            transform.PartitionGraph(),
        ],
        name="partition",
    )
    mod = IRModule.from_expr(nn.relu(conv()))
    found = the(explain(mod, NPU, pipeline=["InferType", partition]), "nn.conv2d")
    assert found.cause == "sub-pattern" and found.expected == "nn.bias_add"


RIGHT_TABLE = [entry("relu", is_op("nn.relu")(CONV))]


@pytest.mark.parametrize(
    ("kinds", "missing", "expected"),
    [
        (
            "AnnotateTarget PartitionGraph",
            "the pipeline does not run MergeComposite",
            "run MergeComposite",
        ),
        (
            "PartitionGraph",
            "the pipeline does not run MergeComposite and AnnotateTarget",
            "run MergeComposite and AnnotateTarget",
        ),
        (
            "AnnotateTarget MergeComposite PartitionGraph",
            "the pipeline runs AnnotateTarget before MergeComposite",
            "run MergeComposite before AnnotateTarget",
        ),
        (
            "MergeComposite PartitionGraph AnnotateTarget",
            "the pipeline runs PartitionGraph before AnnotateTarget",
            "run AnnotateTarget before PartitionGraph",
        ),
        (
            "PartitionGraph AnnotateTarget",
            "the pipeline does not run MergeComposite, and runs PartitionGraph before "
            "AnnotateTarget",
            "run MergeComposite, and AnnotateTarget before PartitionGraph",
        ),
    ],
)
def test_missing_or_misordered_partitioning_passes_are_the_cause(
    kinds: str, missing: str, expected: str
) -> None:
    made: dict[str, Pass] = {
        "MergeComposite": transform.MergeComposite(RIGHT_TABLE),
        "AnnotateTarget": transform.AnnotateTarget(NPU),
        "PartitionGraph": transform.PartitionGraph(),
    }
    backends.register(NPU, patterns=RIGHT_TABLE)
    pipeline = [made[kind] for kind in kinds.split()]
    for one in explain(IRModule.from_expr(nn.relu(conv())), NPU, pipeline=pipeline):
        assert one.cause == "needs-pass" and one.reason == missing
        assert not one.expected and not one.found
        assert one.change is not None and one.change.what == expected


def test_registered_pattern_that_the_pipeline_does_not_match_is_named() -> None:
    """The reason must not say that the back end has no pattern with the operator."""
    backends.register(NPU, patterns=RIGHT_TABLE)
    other = [entry("exp", is_op("exp")(wildcard()))]
    passes = [transform.MergeComposite(other), transform.AnnotateTarget(NPU)]
    mod = IRModule.from_expr(nn.relu(conv()))
    (found,) = explain(mod, NPU, "nn.relu", [*passes, transform.PartitionGraph()])
    assert found.cause == "no-pattern" and f"such as {NPU}.relu" in found.reason


SECOND = [entry("sigmoid", is_op("sigmoid")(is_op("exp")(wildcard())))]


@pytest.mark.parametrize("typed", [False, True])
def test_tables_of_consecutive_merge_composite_passes_are_combined(typed: bool) -> None:
    merges = [transform.MergeComposite(RIGHT_TABLE), transform.MergeComposite(SECOND)]
    last = [transform.AnnotateTarget(NPU), transform.PartitionGraph()]
    steps = [merges[0], *[transform.InferType()][: int(typed)], merges[1], *last]
    backends.register(NPU)
    both = IRModule.from_expr(relay.sigmoid(relay.exp(nn.relu(conv()))))
    found = explain(both, NPU, pipeline=steps)
    assert all(e.offloaded for e in found)
    regions = {g.name_hint for g in trace(both, steps).result} - {"main"}
    assert {e.region for e in found} == regions
    one = IRModule.from_expr(relay.sigmoid(nn.relu(conv())))
    alone = the(explain(one, NPU, pipeline=steps), "sigmoid")
    assert alone.reason.startswith(f"{NPU}.sigmoid expects exp as an operand of sigmoid")


def test_table_of_a_later_merge_composite_is_named() -> None:
    first, second = transform.MergeComposite(RIGHT_TABLE), transform.MergeComposite(SECOND)
    partition = [transform.AnnotateTarget(NPU), transform.PartitionGraph()]
    backends.register(NPU)
    mod = IRModule.from_expr(relay.sigmoid(nn.relu(conv())))
    found = the(explain(mod, NPU, pipeline=[first, *partition, second]), "sigmoid")
    assert f"and {NPU}.sigmoid, which a later one has, made no composite of it" in found.reason


def test_match_with_merge_composite_disabled_is_reported_as_a_match() -> None:
    backends.register(NPU, patterns=RIGHT_TABLE)
    with transform.PassContext(opt_level=3, disabled_pass=["MergeComposite"]):
        found = the(explain(IRModule.from_expr(nn.relu(conv())), NPU), "nn.conv2d")
    assert found.reason == (
        f"the PassContext disables MergeComposite; {NPU}.relu matches, and the passes put it into "
        f"no region of {NPU}"
    )
