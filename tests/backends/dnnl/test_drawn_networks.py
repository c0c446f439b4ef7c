"""Every partition of a drawn network for DNNL builds and runs: partitioning and code generation
agree on what is supported."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from byoc_lab import backends, relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native, operators
from byoc_lab.compat.integrations.dnnl import LegalizeQnn
from byoc_lab.errors import TypeInferenceError
from byoc_lab.passes import (
    AnnotateTarget,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
)
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Call, Expr, Var, bind
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import build, evaluate
from byoc_lab.run.shaped import shaped
from tests.backends.dnnl.drawn_networks import networks
from tests.sweeps import some

pytestmark = pytest.mark.native


def partitioned(network: Function, legalized: bool) -> IRModule:
    passes: list[Pass] = [
        InferType(),
        *([LegalizeQnn(), InferType()] if legalized else []),
        MergeComposite(dnnl.pattern_table()),
        AnnotateTarget("dnnl"),
        MergeCompilerRegions(),
        PartitionGraph(),
    ]
    with PassContext(opt_level=3):
        return Sequential(passes)(IRModule.from_expr(network))


def check(mod: IRModule) -> None:
    """Compiles and runs every region of a partitioned module."""
    for gv, function in mod.functions.items():
        if "Compiler" not in function.attrs:
            continue
        with native.using_threads(1):
            region = dnnl.compile_region(function, gv.name_hint)
        types = [p.checked_type for p in function.params]
        arrays = [np.ones(t.concrete_shape, native.numpy_dtype(t.dtype)) for t in types]
        outputs = region(*arrays)
        wanted = function.body.checked_type
        fields = wanted.fields if isinstance(function.body, relay.Tuple) else [wanted]
        found = [(array.shape, array.dtype.name) for array in outputs]
        assert found == [(field.concrete_shape, field.dtype) for field in fields]


@given(networks(), st.booleans())
@settings(max_examples=some(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_partitioned_random_network_builds_and_matches_the_reference(
    network: Function, legalized: bool
) -> None:
    check(partitioned(network, legalized))


@pytest.mark.slow
@given(networks(), st.booleans())
@settings(max_examples=some(4000), deadline=None, suppress_health_check=list(HealthCheck))
def test_partitioned_random_network_builds_and_matches_the_reference_widely(
    network: Function, legalized: bool
) -> None:
    check(partitioned(network, legalized))


def with_unknown_lengths(network: Function, first_axes: list[bool]) -> Function:
    """The network with the first dimensions of some parameters unknown."""
    params: list[Var] = []
    for p, unknown in zip(network.params, first_axes, strict=False):
        shape, dtype = p.type_annotation.shape, p.type_annotation.dtype
        lengths = (relay.Any(), *shape[1:]) if unknown and shape else shape
        params.append(Var(p.name_hint, relay.TensorType(lengths, dtype)))
    body = bind(network.body, dict(zip(network.params, params, strict=True)))
    found = infer_expr(Function(params, body))
    assert isinstance(found, Function)
    return found


def check_unknown(network: Function, first_axes: list[bool]) -> None:
    """A partition with unknown sizes builds and runs once the sizes are known."""
    try:
        unknown = with_unknown_lengths(network, first_axes)
    except TypeInferenceError:
        assume(False)  # an operator has no type without the sizes
    types = [p.type_annotation for p in network.params]
    assume(all(0 not in ty.shape for ty in types))  # the host computes empty tensors
    check(shaped(partitioned(unknown, False), types))


UNKNOWN = st.lists(st.sampled_from([True, True, False]), min_size=20, max_size=20)


@given(networks(), UNKNOWN)
@settings(max_examples=some(100), deadline=None, suppress_health_check=list(HealthCheck))
def test_network_with_unknown_dimensions_builds_and_runs(
    network: Function, first_axes: list[bool]
) -> None:
    check_unknown(network, first_axes)


@pytest.mark.slow
@given(networks(), UNKNOWN)
@settings(max_examples=some(2000), deadline=None, suppress_health_check=list(HealthCheck))
def test_network_with_unknown_dimensions_builds_and_runs_widely(
    network: Function, first_axes: list[bool]
) -> None:
    check_unknown(network, first_axes)


INF, NAN = math.inf, math.nan
DATA = relay.var("data", shape=(2, 3, 4, 4))
WEIGHT = relay.const(np.random.default_rng(0).standard_normal((5, 3, 1, 1)).astype(np.float32))
VECTORS = [relay.const(np.ones(3, np.float32)) for _ in range(4)]


@pytest.mark.parametrize("low", [0.0, -0.5, -INF, -1e39])
@pytest.mark.parametrize("high", [0.75, INF, 1e39])
def test_clip_with_infinite_bounds_runs_in_a_kernel(low: float, high: float) -> None:
    body = relay.clip(nn.conv2d(DATA, WEIGHT), a_min=low, a_max=high)
    mod = infer_module(IRModule.from_expr(body))
    program = build(dnnl.partition_for_dnnl(mod))
    array = np.random.default_rng(1).standard_normal((2, 3, 4, 4)).astype(np.float32)
    (result,) = program(array)
    program.assert_offloaded()
    assert program.host_operators == 0
    (wanted,) = evaluate(mod, [array]).outputs
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


TRANSPOSED = relay.var("weight", shape=(3, 2, 3, 3))
REFUSED: dict[str, tuple[Expr, str]] = {
    "clip of nothing": (relay.clip(DATA, a_min=1.0, a_max=0.0), "a_min must be at most a_max"),
    "clip by no number": (relay.clip(DATA, a_min=NAN, a_max=0.0), "found nan and 0.0"),
    "clip beyond float32": (relay.clip(DATA, a_min=1e39, a_max=INF), "both within float32"),
    "slope": (nn.leaky_relu(DATA, alpha=INF), "alpha must be finite in float32, found inf"),
    "large slope": (nn.leaky_relu(DATA, alpha=1e39), "alpha must be finite in float32"),
    "epsilon": (
        nn.batch_norm(DATA, *VECTORS, epsilon=-1.0)[0],
        "epsilon must be at least 0, found -1.0",
    ),
    "six axes": (
        nn.layer_norm(relay.var("data", shape=(1, 2, 1, 2, 1, 3)), VECTORS[0], VECTORS[1]),
        "normalise the last of 2 to 5 axes",
    ),
    "output padding": (
        nn.conv2d_transpose(DATA, TRANSPOSED, kernel_size=(3, 3), output_padding=(1, 0)),
        r"output_padding must be smaller than the strides \(1, 1\), found \(1, 0\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_the_runtime_refuses_are_refused_by_the_operator_table(case: str) -> None:
    expr, reason = REFUSED[case]
    typed = infer_expr(expr)
    call = typed if isinstance(typed, Call) else typed.parts()[0]
    assert isinstance(call, Call)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(operators.why_not(call))
    assert dnnl.why_not(call) == operators.why_not(call)


@pytest.mark.parametrize(
    "expr",
    [
        nn.relu(DATA),
        relay.subtract(DATA, DATA),  # computed if annotated by hand, never annotated by DNNL
        relay.erf(DATA),
        relay.clip(DATA, a_min=NAN, a_max=0.0),
    ],
)
def test_dnnl_and_its_back_end_give_the_same_reason(expr: Expr) -> None:
    call = infer_expr(expr)
    assert isinstance(call, Call)
    assert dnnl.why_not(call) == backends.get("dnnl").why_not(call)
