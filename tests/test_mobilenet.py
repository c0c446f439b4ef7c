"""MobileNet v1 on DNNL: partitioned, compiled, run; results are right and every block is
offloaded."""

from __future__ import annotations

import doctest
import re
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from byoc_lab.backends import dnnl
from byoc_lab.demo import run_demo
from byoc_lab.lab.checking.tolerances import Bounded, bounded
from byoc_lab.lab.checking.validation import Report, compare, validate
from byoc_lab.lessons import mobilenet
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Expr, TupleGetItem, Var
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.run import Executable, build, evaluate
from byoc_lab.run.inline import inlined
from byoc_lab.run.inputs import bind_inputs
from tools.docs.examples import DOCS

pytestmark = pytest.mark.native

IMAGE = mobilenet.image()
DEMO = re.compile(r"^\$ byoc-lab demo\n```\n\n```output\n(.*?)^```$", re.M | re.S)


@pytest.fixture(scope="module")
def before() -> IRModule:
    return mobilenet.module()


@pytest.fixture(scope="module")
def exe(before: IRModule) -> Executable:
    return build(dnnl.partition_for_dnnl(before))


@pytest.fixture(scope="module")
def report(before: IRModule, exe: Executable) -> Report:
    return validate(before, exe, [IMAGE])


def test_random_weights_give_varied_scores(before: IRModule) -> None:
    (scores,) = evaluate(before, [IMAGE]).outputs
    assert scores.shape == (1, 1000)
    assert 1 < np.log(scores).std() < 4  # of the logits: neither uniform nor a single peak
    assert scores.min() > 1e-9 and scores.max() < 0.5
    again, params = mobilenet.workload()
    assert len(params) == 27 * 5 + 2  # weight and four vectors for each block, fc_weight, fc_bias
    statistics = [v.numpy() for name, v in params.items() if "bn" in name]
    assert len(statistics) == 27 * 4 and all(v.std() > 0 for v in statistics)
    assert again["main"].ret_type == before["main"].ret_type


def test_weights_and_image_are_equal_on_every_machine() -> None:
    _, params = mobilenet.workload()
    found = zlib.crc32(IMAGE.tobytes())
    for name in sorted(params):
        found = zlib.crc32(params[name].numpy().tobytes(), found)
    assert found == 0xD2721B27


def test_every_block_is_one_kernel_and_no_region_falls_back(
    exe: Executable, report: Report
) -> None:
    assert report.ok
    exe.assert_offloaded()
    (card,) = exe.cards()
    kernels = [op.name.rpartition("_")[0] for op in card.ops]
    classifier = ["nn.global_avg_pool2d", "nn.batch_flatten", "nn.dense", "nn.softmax"]
    assert kernels == ["nn.conv2d"] * 27 + classifier
    assert all(op.fused == ("relu",) and not op.separate for op in card.ops[:27])
    assert not [op.impl for op in card.ops if "ref" in str(op.impl)]
    assert exe.host_operators == 0


def test_regions_and_output_are_within_tolerance(report: Report) -> None:
    assert [c.name for c in report.regions] == ["@tvmgen_default_dnnl_main_0"]
    for comparison in (*report.regions, *report.outputs):
        assert 0 < comparison.error < comparison.tolerance / 2
        assert comparison.tolerance < 1e-4 * comparison.scale


@pytest.mark.slow
def test_mobilenet_agrees_with_onnxruntime(before: IRModule, exe: Executable) -> None:
    """An independent implementation with the same weights and the same tolerance."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'byoc-lab[test]'")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(onnx_model(), options, providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {"data": IMAGE})
    wanted = float64(before)
    ours = exe(IMAGE)[0]
    assert compare("ONNX Runtime", theirs, wanted.outputs[0], wanted.tolerances[0]).ok
    assert compare("DNNL", ours, wanted.outputs[0], wanted.tolerances[0]).ok


@cache
def float64(mod: IRModule) -> Bounded:
    return bounded(inlined(mod["main"], mod), bind_inputs(mod["main"], [IMAGE]))


def onnx_model() -> bytes:
    """The network in ONNX, operator by operator, with its parameters as initializers."""
    from onnx import TensorProto, checker, helper, numpy_helper

    mod, params = mobilenet.workload()
    names: dict[object, str] = {}
    nodes = []
    for call in post_order(mod["main"].body):
        if isinstance(call, Var):
            names[call] = call.name_hint
        elif isinstance(call, TupleGetItem):
            names[call] = names[call.tuple_value]
        elif isinstance(call, Call):
            inputs = [names[a] for a in call.args]
            names[call] = f"t{len(nodes)}"
            kind, attributes = onnx_operator(call)
            nodes.append(helper.make_node(kind, inputs, [names[call]], **attributes))
    graph = helper.make_graph(
        nodes,
        "mobilenet",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, mobilenet.IMAGE_SHAPE)],
        [helper.make_tensor_value_info(names[mod["main"].body], TensorProto.FLOAT, (1, 1000))],
        [numpy_helper.from_array(v.numpy(), name) for name, v in params.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model.SerializeToString()


def onnx_operator(call: Call) -> tuple[str, dict[str, object]]:
    a = call.attrs
    name = call.op.name  # type: ignore[attr-defined]
    if name == "nn.conv2d":
        assert a is not None
        return "Conv", {
            "strides": a.strides,
            "pads": a.padding,
            "dilations": a.dilation,
            "group": a.groups,
            "kernel_shape": a.kernel_size,
        }
    if name == "nn.batch_norm":
        assert a is not None
        return "BatchNormalization", {"epsilon": a.epsilon}
    return {
        "nn.relu": ("Relu", {}),
        "nn.global_avg_pool2d": ("GlobalAveragePool", {}),
        "nn.batch_flatten": ("Flatten", {"axis": 1}),
        "nn.dense": ("Gemm", {"transB": 1}),
        "nn.bias_add": ("Add", {}),
        "nn.softmax": ("Softmax", {"axis": -1}),
    }[name]


@pytest.mark.slow
def test_wrong_epsilon_in_one_of_27_batch_norms_is_found(before: IRModule) -> None:
    seen = 0

    def wrong(pre: Expr, post: Expr) -> Expr:
        nonlocal seen
        if isinstance(post, Call) and post.is_op("nn.batch_norm"):
            seen += 1
            if seen == 14:
                assert post.attrs is not None
                return Call(post.op, post.args, post.attrs.replace(epsilon=1e-3))
        return post

    after = before.copy()
    after["main"] = rebuild(before["main"], wrong)
    (found,) = evaluate(after, [IMAGE], dtype="float64").outputs
    wanted = float64(before)
    assert seen == 27
    assert not compare("output", found, wanted.outputs[0], wanted.tolerances[0]).ok


@pytest.mark.slow
def test_demo_prints_what_its_page_shows_and_writes_a_report(tmp_path: Path) -> None:
    """On a small image and with few repetitions."""
    lines: list[str] = []
    page = tmp_path / "demo.html"
    assert run_demo(page, lines.append, image_size=32, repeat=2)
    stored = DEMO.search((DOCS / "reference" / "commands.md").read_text(encoding="utf-8"))
    same = doctest.OutputChecker().check_output(
        stored[1], "\n".join(lines) + "\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert same, "\n".join(lines)
    assert page.stat().st_size > 10_000
