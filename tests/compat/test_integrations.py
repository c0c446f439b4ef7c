"""TVM's integrations of vendor libraries: registration, reasons and partitioning.

golden/<name> compares their supported operators with TVM.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, decode, relay
from byoc_lab.compat import integrations
from byoc_lab.compat.overlay import Overlay
from byoc_lab.compat.overlay import module as tvm_module
from byoc_lab.errors import PredicateError, UnknownNameError
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.op.contrib import get_pattern_table
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate


def module(expr: relay.Expr) -> IRModule:
    return infer_module(IRModule.from_expr(expr))


def call(expr: relay.Expr) -> Call:
    body = module(expr)["main"].body
    assert isinstance(body, Call)
    return body


def var(*shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var("x", shape=shape, dtype=dtype)


def ones(*shape: int, dtype: str = "float32") -> relay.Constant:
    return relay.const(np.ones(shape, dtype))


def regions(mod: IRModule) -> list[str]:
    """The composite that each region begins with, or the operator if it is not in a composite."""
    found = []
    for gv, function in mod.functions.items():
        if gv.name_hint != "main":
            assert isinstance(function, relay.Function) and isinstance(function.body, Call)
            op = function.body.op
            found.append(op.attrs["Composite"] if isinstance(op, relay.Function) else op.name)
    return found


@pytest.mark.parametrize("name", integrations.MODULES)
def test_tvm_s_names_import_each_integration(name: str) -> None:
    contrib = tvm_module("tvm.relay.op.contrib")
    assert getattr(contrib, name) is integrations.MODULES[name] and name in backends.names()
    imported = tvm_module(f"tvm.relay.op.contrib.{name}")
    assert isinstance(imported, Overlay)
    assert imported.__sources__ == (integrations.MODULES[name].__name__,)
    assert not hasattr(relay.op.contrib, name), "byoc_lab itself has dnnl alone"
    table = get_pattern_table(name)
    assert table is not None and all(entry[0].startswith(f"{name}.") for entry in table)
    assert callable(getattr(imported, f"partition_for_{name}"))


def test_importing_byoc_lab_registers_no_integration() -> None:
    code = "import byoc_lab; print(*byoc_lab.backends.names())"
    code += "; import byoc_lab.compat; byoc_lab.compat.relay; print(*byoc_lab.backends.names())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = (line.split() for line in done.stdout.splitlines())
    assert before == ["ccompiler", "dnnl"]
    assert set(after) == {*before, *integrations.MODULES}


def last(groups: int = 1, **attrs: object) -> relay.Expr:
    """An NHWC convolution of 4 channels by a constant weight."""
    kernel, layout = ((3, 3, 4, 1), "HWOI") if groups == 4 else ((3, 3, 4 // groups, 4), "HWIO")
    options = {"data_layout": "NHWC", "kernel_layout": layout, "channels": 4, "groups": groups}
    data = var(1, 6, 6, 4)
    return nn.conv2d(data, ones(*kernel), kernel_size=(3, 3), **{**options, **attrs})


REFUSALS = {
    "cublas": {
        "the operands must have one dtype, found uint8 and int8": nn.dense(
            var(2, 4, dtype="uint8"), var(3, 4, dtype="int8"), out_dtype="int32"
        ),
        "the size of int8 rows must be a multiple of 4, found Tensor[(2, 6), int8]": nn.dense(
            var(2, 6, dtype="int8"), var(3, 6, dtype="int8"), out_dtype="int32"
        ),
        "cuBLAS has no product of float32 with results in float64": nn.dense(
            var(2, 4), var(3, 4), out_dtype="float64"
        ),
        "cublas has no counterpart of nn.relu": nn.relu(var(2, 4)),
    },
    "cudnn": {
        "opposite sides must have equal padding, found (0, 1, 1, 1)": nn.conv2d(
            var(1, 3, 8, 8), var(4, 3, 3, 3), padding=(0, 1, 1, 1)
        ),
        'data_layout must be "NCHW", found \'NHWC\'': last(),
        "the rank must be 2, found Tensor[(2, 3, 4), float32]": nn.log_softmax(var(2, 3, 4)),
        "axis must be 1 or -1, found 0": nn.log_softmax(var(2, 3), axis=0),
        'the dtype must be "float64", "float32" or "float16", found Tensor[(2, 3), int32]': (
            nn.softmax(var(2, 3, dtype="int32"))
        ),
    },
    "bnns": {
        "the weight must be a constant": nn.dense(var(2, 4), var(3, 4)),
        'layout must be "NCHW", found \'NHWC\'': nn.max_pool2d(var(1, 4, 4, 2), layout="NHWC"),
        "axis must be 1, found 2": nn.instance_norm(var(1, 2, 3, 4), ones(3), ones(3), axis=2),
    },
    "arm_compute_lib": {
        "groups must be 1, found 2": last(groups=2),
        "its strides must be (1, 1) or (2, 2), found (1, 2)": last(4, strides=(1, 2)),
        "concatenate is among the disabled operators": relay.concatenate((var(2), var(3)), 0),
        "dilation must be (1, 1), found (2, 2)": nn.avg_pool2d(
            var(1, 8, 8, 2), layout="NHWC", dilation=(2, 2)
        ),
    },
    "cutlass": {
        "a convolution must not be depthwise": nn.conv2d(
            var(1, 6, 6, 4), ones(4, 3, 3, 1), groups=4, channels=4, kernel_size=(3, 3),
            data_layout="NHWC", kernel_layout="OHWI",
        ),
        'kernel_layout must be "OHWI", found \'HWIO\'': last(),
        "transpose_b must be True, found False": nn.batch_matmul(
            var(2, 3, 4), var(2, 4, 5), transpose_b=False
        ),
        "the operands must both be float16, both float32 or both of 8 bits, found float64 and "
        "float64": nn.dense(var(2, 4, dtype="float64"), var(3, 4, dtype="float64")),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reason"), [(name, reason) for name, found in REFUSALS.items() for reason in found]
)
def test_refused_call_gives_the_reason(name: str, reason: str) -> None:
    expr = REFUSALS[name][reason]
    assert backends.get(name).why_not(call(expr)) == reason
    assert regions(backends.partition(module(expr), name)) == []


def test_supported_call_has_no_reason_for_refusal() -> None:
    assert backends.get("cudnn").why_not(call(nn.softmax(var(2, 3)))) is None
    assert backends.get("arm_compute_lib").why_not(call(last(groups=4))) is None


def test_product_as_second_operand_is_refused() -> None:
    """TVM's checks of CUTLASS, BNNS and ACL raise an AttributeError."""
    product = nn.dense(var(2, 4), ones(3, 4))
    for name in ("cutlass", "bnns"):
        table = get_pattern_table(name)
        assert table is not None
        check = next(check for found, _, check in table if found == f"{name}.dense_bias")
        answer = check(call(relay.add(ones(3), product)))
        assert answer.reason == "nn.dense must be the first operand of the addition"
        assert check(call(relay.add(product, ones(3))))


def test_partitioned_module_computes_the_same() -> None:
    x = nn.conv2d(var(1, 2, 6, 6), ones(3, 2, 3, 3))
    mod = module(nn.softmax(nn.relu(nn.bias_add(x, ones(3)))))
    data = [np.random.default_rng(0).random((1, 2, 6, 6), np.float32)]
    expected = evaluate(mod, data).outputs[0]
    for name, count in {"cudnn": 2, "bnns": 1, "cublas": 0}.items():
        cut = backends.partition(mod, name)
        assert len(regions(cut)) == count
        np.testing.assert_array_equal(evaluate(cut, data).outputs[0], expected)


def test_partition_function_binds_given_parameters_first() -> None:
    weight = relay.var("w", shape=(3, 4))
    mod = module(nn.dense(var(2, 4), weight))
    before = str(mod)
    assert regions(integrations.bnns.partition_for_bnns(mod)) == []
    bound = integrations.bnns.partition_for_bnns(mod, {"w": np.ones((3, 4), np.float32)})
    assert regions(bound) == ["nn.dense"] and str(mod) == before


def test_cutlass_folds_batch_norms_when_it_has_the_parameters() -> None:
    data = var(1, 6, 6, 4)
    weight = relay.var("w", shape=(4, 3, 3, 4))
    conv = nn.conv2d(
        data, weight, channels=4, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="OHWI"
    )
    numbers = [relay.var(name, shape=(4,)) for name in ("gamma", "beta", "mean", "var")]
    mod = module(nn.relu(nn.batch_norm(conv, *numbers, axis=3)[0]))
    params = {name: np.ones(4, np.float32) for name in ("gamma", "beta", "mean", "var")}
    partition = integrations.cutlass.partition_for_cutlass
    assert regions(partition(mod)) == ["cutlass.conv2d"]
    folded = partition(mod, {**params, "w": np.ones((4, 3, 3, 4), np.float32)})
    assert regions(folded) == ["cutlass.conv2d_bias_relu"]


def test_arm_compute_lib_supports_disabled_operators_on_request() -> None:
    mod = module(relay.concatenate((var(2, 3), var(2, 4)), axis=1))
    partition = integrations.arm_compute_lib.partition_for_arm_compute_lib
    assert regions(partition(mod)) == []
    assert regions(partition(mod, disabled_ops=())) == ["arm_compute_lib.concatenate"]
    assert not integrations.arm_compute_lib.is_arm_compute_runtime_enabled()


def test_arm_compute_lib_gets_weights_in_its_layout() -> None:
    conv = relay.op.get("nn.conv2d")
    before = conv.get_attr("FTVMConvertOpLayout")
    cut = backends.partition(module(nn.relu(last())), "arm_compute_lib")
    assert 'kernel_layout="OHWI"' in str(cut)
    assert conv.get_attr("FTVMConvertOpLayout") is before


def test_build_without_a_code_generator_raises_unknown_name_error() -> None:
    cut = backends.partition(module(nn.softmax(var(2, 3))), "cudnn")
    with pytest.raises(UnknownNameError, match=r"no code generator .* the compiler 'cud"):
        byoc_lab.build(cut)


def _biased_conv(data: relay.Expr) -> relay.Expr:
    conv = nn.conv2d(
        data, ones(4, 3, 3, 4), channels=4, kernel_size=(3, 3), padding=(1, 1),
        data_layout="NHWC", kernel_layout="OHWI",
    )  # fmt: skip
    return nn.bias_add(conv, ones(4), axis=3)


@pytest.mark.parametrize(
    ("raises", "net"),
    [
        # whether TVM 0.16's partition_for_cutlass raises for the network
        (False, lambda h: relay.add(_biased_conv(h), h)),
        (False, lambda h: nn.relu(relay.multiply(_biased_conv(h), h))),
        (True, lambda h: relay.add(a := nn.relu(relay.add(_biased_conv(h), h)), _biased_conv(a))),
        (True, lambda h: relay.add(_biased_conv(a := relay.add(_biased_conv(h), h)), a)),
        (True, lambda h: relay.add(_biased_conv(h), relay.zeros((1, 6, 6, 4), "float32"))),
    ],
)
def test_residual_block_of_cutlass_raises_as_in_tvm(
    raises: bool, net: Callable[[relay.Expr], relay.Expr]
) -> None:
    """TVM's check reads the operator name of each callee along the first operands, even if it is
    a composite."""
    mod = module(net(nn.relu(_biased_conv(var(1, 6, 6, 4)))))
    partition = integrations.cutlass.partition_for_cutlass
    if not raises:
        assert any("residual" in name for name in regions(partition(mod)))
        return
    with pytest.raises(PredicateError) as caught:
        partition(mod)
    assert decode(caught.value)[0].name in ("own-check-met-composite", "own-predicate-raised")
