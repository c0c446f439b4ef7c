"""Findings BYR001 to BYR013 in Relax modules."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.errors import UnknownNameError
from byoc_lab.relax import backends

from .networks import (
    SMALL,
    dataflow,
    dnnl_passes,
    relu_module,
    resnet,
    transform,
    transposed_matmul,
)

from tvm.relax import TupleGetItem, op  # isort: skip
from tvm.relax.dpl import is_const, is_op, wildcard  # isort: skip
from tvm.script import from_source  # isort: skip

CONV = is_op("relax.nn.conv2d")(wildcard(), wildcard())
TABLE: list[tuple[Any, ...]] = [
    ("mychip.conv_bias", is_op("relax.add")(CONV, wildcard())),
    ("mychip.conv_relu", is_op("relax.nn.relu")(CONV)),
    ("mychip.folded", is_op("relax.nn.conv2d")(wildcard(), is_const())),
]


def fuse(**options: Any) -> Any:
    return transform.FuseOpsByPattern(TABLE, **options)


def codes(found: Any) -> list[str]:
    return [f.code for f in found]


def test_composite_that_no_back_end_gets_is_reported() -> None:
    recorded = byoc_lab.trace(SMALL, [fuse()])
    (found,) = recorded.findings
    assert found.code == "BYR001" and found.name == "composite-on-host"
    assert "composite mychip.conv_bias" in found.message
    assert "relax.ext.mychip is not registered" in found.message
    assert found.function == "fused_relax_nn_conv2d_relax_add"
    assert found.node is recorded.final["fused_relax_nn_conv2d_relax_add"]
    assert codes(byoc_lab.lint(recorded.result)) == ["BYR001"]


def test_composite_on_host_is_not_reported_before_merging_has_run() -> None:
    recorded = byoc_lab.trace(SMALL, [fuse(), transform.MergeCompositeFunctions()])
    assert codes(recorded["FuseOpsByPattern"].findings_after) == []


def test_regions_that_are_no_longer_merged_are_reported() -> None:
    mod = dataflow(lambda emit, x: emit(op.nn.relu(emit(op.tanh(x)))))
    table = [(f"dnnl.{n}", is_op(f"relax.{n}")(wildcard())) for n in ("nn.relu", "tanh")]
    for annotate, regions in ((True, 2), (False, 1)):
        fuses = transform.FuseOpsByPattern(table, annotate_codegen=annotate)
        recorded = byoc_lab.trace(mod, [fuses, transform.MergeCompositeFunctions()])
        found = recorded["FuseOpsByPattern"].findings_after
        assert codes(found) == ["BYR011"] * annotate
        made = recorded.result.functions.values()
        assert sum("Codegen" in (f.attrs or {}) for f in made) == regions
    alone = byoc_lab.trace(mod, [transform.FuseOpsByPattern(table, annotate_codegen=True)])
    assert codes(alone.findings) == []


@pytest.mark.parametrize("training", [True, False])
def test_training_norms_are_reported_because_partitioning_changes_their_results(
    training: bool,
) -> None:
    def norm(emit: Any, x: Any, *vectors: Any) -> Any:
        made = emit(op.nn.batch_norm(x, *vectors, axis=1, training=training))
        return emit(TupleGetItem(made, 0))

    mod = dataflow(norm, (2, 3, 2, 2), (3,), (3,), (3,), (3,))
    rng = np.random.default_rng(0)
    given = [rng.random(shape, np.float32) + 1 for shape in ((2, 3, 2, 2), *[(3,)] * 4)]
    partitioned = byoc_lab.relax.partition_for_dnnl(mod)
    plain, changed = (byoc_lab.relax.build(m).run(given)[0] for m in (mod, partitioned))
    assert np.allclose(plain, changed, rtol=1e-4) == (not training)
    found = byoc_lab.lint(mod)
    assert codes(found) == ["BYR012"] * training
    assert not training or "nn.batch_norm %lv has training=True" in found[0].message
    assert codes(byoc_lab.lint(partitioned)) == []


@pytest.mark.parametrize("codegen", ["dnnl", None])
@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("y", "a", ["its input %a as it is"]),
        ("y", "R.const(1.0)", ["a constant"]),
        ("y", "y", ["one value twice"]),
        ("halves[1]", "halves[1]", ["one value twice"]),
        ("halves[0]", "halves[1]", []),
    ],
)
def test_results_that_an_external_function_does_not_compute_are_reported(
    first: str, second: str, told: list[str], codegen: str | None
) -> None:
    attributes = f'R.func_attr({{"Codegen": "{codegen}", "global_symbol": "region"}})'
    mod = from_source(f"""
@I.ir_module
class M:
    @R.function
    def region(a: R.Tensor((4, 6), "float32")):
        {attributes if codegen else ""}
        with R.dataflow():
            y = R.nn.relu(a)
            halves = R.split(y, 2, axis=1)
            first = {first}
            second = {second}
            made = (first, second)
            R.output(made)
        return made

    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        made = M.region(x)
        return made
""")
    found = byoc_lab.lint(mod, rules=["uncomputed-result"])
    wanted = [f"@region has Codegen='dnnl', and returns {t}" for t in told if codegen]
    assert [f.message for f in found] == wanted
    data = np.linspace(-1, 1, 24, dtype="float32").reshape(4, 6)
    y = np.maximum(data, 0)
    values = {"a": data, "y": y, "R.const(1.0)": np.float32(1)}
    values |= {f"halves[{n}]": y[:, 3 * n : 3 * n + 3] for n in (0, 1)}
    results = byoc_lab.relax.build(mod).run([data])  # byoc_lab's DNNL copies the value
    for got, name in zip(results, (first, second), strict=True):
        np.testing.assert_array_equal(got, values[name])


def test_region_without_a_code_generator_is_reported() -> None:
    recorded = byoc_lab.trace(SMALL, [fuse(annotate_codegen=True), transform.RunCodegen()])
    assert recorded.error is not None
    (found,) = recorded["FuseOpsByPattern"].findings_after
    assert found.code == "BYR002" and str(found.severity) == "error"
    assert "relax.ext.mychip" in found.message and "RunCodegen fails" in found.message
    assert codes(byoc_lab.trace(resnet(1), dnnl_passes()).findings) == []


def test_patterns_that_never_match_are_reported() -> None:
    recorded = byoc_lab.trace(SMALL, [fuse(), transform.MergeCompositeFunctions()], patterns=TABLE)
    relu, folded = recorded["FuseOpsByPattern"].findings_after
    assert relu.code == "BYR003" and "pattern mychip.conv_relu" in relu.message
    assert "operand .args[0] must be a call of nn.conv2d, found a call of add" in relu.message
    assert folded.code == "BYR004" and folded.name == "unbound-constant"
    assert "operand .args[1] must be a constant, found the parameter %w" in folded.message
    assert codes(recorded.findings) == ["BYR003", "BYR004", "BYR002"]
    assert codes(pickle.loads(pickle.dumps(recorded)).findings) == codes(recorded.findings)
    assert "BYR004 warning" in str(recorded)


def test_table_whose_entries_all_match_has_no_finding() -> None:
    recorded = byoc_lab.trace(SMALL, [transform.FuseOpsByPattern(TABLE[:1])], patterns=TABLE[:1])
    assert codes(recorded.findings) == ["BYR001"]


@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("merge", [False, True])
def test_composites_inside_regions_count_as_composites(annotate: bool, merge: bool) -> None:
    passes = [transform.FuseOpsByPattern(TABLE[:1], annotate_codegen=annotate)]
    passes += [transform.MergeCompositeFunctions()] if merge and not annotate else []
    recorded = byoc_lab.trace(SMALL, passes, patterns=TABLE[:1])
    assert not {"BYR003", "BYR004"} & set(codes(recorded.findings))


def test_entries_without_operators_in_the_module_have_no_finding() -> None:
    """TVM's tables have an entry for each operator that a back end supports."""
    others = [
        (f"mychip.{name}", is_op(f"relax.{name}")(wildcard()))
        for name in ("exp", "nn.gelu", "sqrt", "tanh")
    ]
    shadowed = ("mychip.conv", CONV)
    table = [TABLE[0], shadowed, *others]
    recorded = byoc_lab.trace(SMALL, [transform.FuseOpsByPattern(table)], patterns=table)
    assert codes(recorded.findings) == ["BYR001"]


@pytest.mark.parametrize("annotate", [False, True])
def test_table_of_tvm_s_tutorial_has_no_finding(annotate: bool) -> None:
    """The 19 entries of TVM's example NPU, on a network of three operators: entries without a
    composite lack an operator, or refuse a call that another entry takes."""
    mod = dataflow(
        lambda emit, x, w, y: op.add(emit(op.nn.relu(emit(op.nn.conv2d(x, w)))), y),
        (1, 8, 10, 10), (16, 8, 3, 3), (1, 16, 8, 8),
    )  # fmt: skip
    table = backends.get("example_npu").table()
    assert len(table) == 19
    passes = [transform.FuseOpsByPattern(table, annotate_codegen=annotate)]
    passes += [] if annotate else [transform.MergeCompositeFunctions()]
    recorded = byoc_lab.trace(mod, passes, patterns=table)
    assert str(recorded.result).count('"Composite"') == 2
    assert set(codes(recorded.findings)) == {"BYR002"}


def test_entry_whose_refused_calls_stay_on_the_host_is_reported() -> None:
    table = [("mychip.conv", CONV, {}, lambda context: False)]
    recorded = byoc_lab.trace(SMALL, [transform.FuseOpsByPattern(table)], patterns=table)
    assert codes(recorded.findings) == ["BYR003"]


def test_rules_are_selected_and_ignored() -> None:
    mod = byoc_lab.trace(SMALL, [fuse()]).final
    assert codes(byoc_lab.lint(mod, rules=["BYR002"])) == []
    assert codes(byoc_lab.lint(mod, rules=["composite-on-host"])) == ["BYR001"]
    left = byoc_lab.lint(mod, ignore=["BYR001"])
    assert codes(left) == [] and left.suppressed == 1
    assert codes(byoc_lab.lint(mod, ignore=mod["fused_relax_nn_conv2d_relax_add"])) == []
    with pytest.raises(UnknownNameError, match=r"did you mean .*'BYR001'"):
        byoc_lab.lint(mod, rules=["BYRR001"])


def test_missing_code_generator_error_is_decoded() -> None:
    recorded = byoc_lab.trace(SMALL, [fuse(annotate_codegen=True), transform.RunCodegen()])
    for mod in (recorded.final, recorded.final.source):
        (meaning,) = byoc_lab.decode(str(recorded.error), mod)
        assert meaning.rule == "BYR002" and "relax.ext.mychip" in meaning.what_to_do
        assert [f.code for f in meaning.findings] == ["BYR002"]


def test_composite_without_a_back_end_in_its_name_is_reported() -> None:
    fused = transform.FuseOpsByPattern([("relu", is_op("relax.nn.relu")(wildcard()))])(
        relu_module()
    )
    (found,) = byoc_lab.lint(fused)
    assert found.code == "BYR007" and 'name the pattern "<back end>.relu"' in found.what_to_do
    with pytest.raises(Exception, match="should start with a compiler name") as info:
        transform.MergeCompositeFunctions()(fused)
    assert byoc_lab.decode(info.value).rule == "BYR007"
    # The composite is never called, so no pass fails because of it.
    unused = transform.FuseTransposeMatmul()(transposed_matmul())
    assert codes(byoc_lab.lint(unused)) == []


DNNL_RELU = [("dnnl.relu", is_op("relax.nn.relu")(wildcard()))]


def test_compiled_code_in_a_region_is_reported() -> None:
    passes = [
        transform.FuseOpsByPattern(DNNL_RELU),
        transform.LegalizeOps(),
        transform.MergeCompositeFunctions(),
    ]
    recorded = byoc_lab.trace(relu_module(), passes, patterns=DNNL_RELU)
    (found,) = byoc_lab.lint(recorded.result)
    assert found.code == "BYR008" and "call_tir" in found.message


def test_operator_that_dnnl_does_not_compile_is_reported() -> None:
    table = [("dnnl.cumsum", is_op("relax.cumsum")(wildcard()))]
    passes = [transform.FuseOpsByPattern(table), transform.MergeCompositeFunctions()]
    recorded = byoc_lab.trace(relu_module("cumsum"), passes, patterns=table)
    (found,) = byoc_lab.lint(recorded.result)
    assert found.code == "BYR009" and "DNNL has no counterpart of relax.cumsum" in found.message
    with pytest.raises(Exception, match=r"no counterpart of relax\.cumsum"):
        transform.RunCodegen()(recorded.result)


def test_pass_that_removes_operators_of_a_pattern_is_reported() -> None:
    fuse, lower = transform.FuseOpsByPattern(DNNL_RELU), transform.LegalizeOps()
    (found,) = byoc_lab.trace(relu_module(), [lower, fuse], patterns=DNNL_RELU).findings
    assert found.code == "BYR010"
    assert found.message == (
        "FuseOpsByPattern makes no composite of dnnl.relu: LegalizeOps replaced operators that "
        "the patterns match. On the module before LegalizeOps, FuseOpsByPattern creates them"
    )
    # Without the pass nothing was removed, and no pass is named.
    gelu = [("dnnl.gelu", is_op("relax.nn.gelu")(wildcard()))]
    passes = [lower, transform.FuseOpsByPattern(gelu)]
    assert codes(byoc_lab.trace(relu_module(), passes, patterns=gelu).findings) == []


def test_lowering_before_a_partitioning_without_a_known_table_is_reported() -> None:
    fuse = transform.FuseOpsByPattern(DNNL_RELU)
    for partitions in (fuse, "dnnl", byoc_lab.relax.partition_for_dnnl):
        recorded = byoc_lab.trace(relu_module(), [transform.LegalizeOps(), partitions])
        (found,) = recorded.findings
        assert found.code == "BYR010"
        assert "replaced operators that the patterns match" in found.message
        assert "before LegalizeOps; run LegalizeOps after RunCodegen" in found.what_to_do
        assert codes(byoc_lab.lint(relu_module(), [transform.LegalizeOps(), partitions])) == [
            "BYR010"
        ]
        assert codes(byoc_lab.trace(relu_module(), [partitions, "LegalizeOps"]).findings) != [
            "BYR010"
        ]
    (stage, *_) = [s for s in recorded.stages if s.findings_after]
    assert codes(stage.findings_after) == ["BYR010"]


def test_module_lowered_earlier_is_recognized_by_the_names_of_its_code() -> None:
    lowered = transform.LegalizeOps()(relu_module())
    (found,) = byoc_lab.lint(lowered, backend="dnnl")
    assert found.code == "BYR010"
    assert found.message == (
        "FuseOpsByPattern makes no composite of dnnl.relu: the module has no call of nn.relu, and "
        "calls @relu by call_tir. By the names, LegalizeOps has likely generated that code from "
        "the "
        "operators"
    )
    assert codes(byoc_lab.trace(lowered, "dnnl").findings) == ["BYR010"]
    fuse = transform.FuseOpsByPattern(DNNL_RELU)
    assert codes(byoc_lab.trace(lowered, fuse, patterns=DNNL_RELU).findings) == ["BYR010"]
    # No table is known here, or no pattern has the lowered operators.
    gelu = [("dnnl.gelu", is_op("relax.nn.gelu")(wildcard()))]
    assert (
        codes(byoc_lab.trace(lowered, transform.FuseOpsByPattern(gelu), patterns=gelu).findings)
        == []
    )
    assert codes(byoc_lab.trace(lowered, fuse).findings) == []
    assert codes(byoc_lab.lint(lowered)) == []
    assert codes(byoc_lab.lint(relu_module(), backend="dnnl")) == []


def test_lowering_of_operators_in_no_pattern_has_no_finding() -> None:
    gelu = transform.FuseOpsByPattern([("dnnl.gelu", is_op("relax.nn.gelu")(wildcard()))])
    assert codes(byoc_lab.trace(relu_module(), [transform.LegalizeOps(), gelu]).findings) == []
