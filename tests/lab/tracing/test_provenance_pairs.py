"""Provenance pairs each call of a network with its own image, among many that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.tracing import Trace
from byoc_lab.relay import Call, Constant, Function, IRModule
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation

# Networks
from tests.lab.tracing.test_provenance import _calls


def _dnnl(mod: IRModule) -> Trace:
    trace = byoc_lab.trace(mod, "dnnl")
    assert trace.error is None
    return trace


def _one_image(trace: Trace, call: Call) -> Call:
    """The call with the same operator that `call` becomes."""
    found = [
        n for n in trace.history(call).images if isinstance(n, Call) and n.op_name == call.op_name
    ]
    assert len(found) == 1, (call, found)
    return found[0]


def _check_pairs(trace: Trace, name: str) -> None:
    """Each operator of the input has one image, and each operator of the result is one."""
    before, after = _calls(trace.initial, name), _calls(trace.final, name)
    assert len(before) == len(after)
    pairs = {call: _one_image(trace, call) for call in before}
    assert set(pairs.values()) == set(after)
    for call, image in pairs.items():
        assert call in trace.history(image).origins


def test_every_pairing_in_squeezenet_is_right() -> None:
    mod, params = relay.testing.squeezenet.get_workload(image_shape=(3, 64, 64))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    trace = _dnnl(mod)
    for name in ("nn.conv2d", "nn.relu", "nn.max_pool2d", "concatenate", "nn.softmax"):
        _check_pairs(trace, name)
    for call in _calls(trace.initial, "nn.conv2d"):  # weights distinguish the convolutions
        (image, weight) = _one_image(trace, call), call.args[1]
        assert isinstance(weight, Constant) and isinstance(image.args[1], relay.Var)
        found = [n for n in trace.history(image.args[1]).origins if isinstance(n, Constant)]
        assert weight in found


def test_each_call_has_one_origin_if_host_calls_follow_the_region() -> None:
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.const([[[[0.5]]] * 4] * 4, "float32")
    block = relay.nn.relu(relay.nn.conv2d(x, w, kernel_size=(1, 1)))
    pooled = relay.nn.max_pool2d(relay.nn.max_pool2d(block, (2, 2)), (2, 2))
    trace = _dnnl(IRModule.from_expr(relay.nn.batch_flatten(pooled)))  # with "default" annotations
    stage = trace["PartitionGraph"]
    for call in _calls(stage.after, "nn.max_pool2d") + _calls(stage.after, "nn.conv2d"):
        (origin,) = stage.origins(call)
        assert isinstance(origin, Call) and origin.op_name == call.op_name
    _check_pairs(trace, "nn.max_pool2d")


def _branches(count: int) -> IRModule:
    """Identical branches on one input, distinguished only by their positions."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.const([[[[0.5]]] * 4] * 4, "float32")
    branches = [relay.nn.relu(relay.nn.conv2d(x, w, kernel_size=(1, 1))) for _ in range(count)]
    return IRModule.from_expr(relay.stack(branches, axis=1))


def test_every_pairing_of_four_identical_branches_is_right() -> None:
    trace = _dnnl(_branches(4))
    _check_branches(trace, 4, ("nn.relu", "nn.conv2d"))


def test_every_pairing_of_twelve_parallel_relus_is_right() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    mod = IRModule.from_expr(relay.stack([relay.nn.relu(x) for _ in range(12)], axis=1))
    _check_branches(_dnnl(mod), 12, ("nn.relu",))


def _check_branches(trace: Trace, count: int, names: Sequence[str]) -> None:
    """In each stage, field n of the tuple comes from field n, and so do its operands."""
    for stage in trace:
        assert stage.after is not None
        if any("Compiler" in f.attrs for f in stage.after.functions.values()):
            continue  # regions are checked below
        before, after = (_fields(m, names) for m in (stage.before, stage.after))
        assert len(before) == len(after) == count
        for olds, news in zip(before, after, strict=True):
            for old, new in zip(olds, news, strict=True):
                assert stage.origins(new)[0] is old
                assert stage.images(old)[0] is new
    chains = _fields(trace.initial, names)
    images = [[_one_image(trace, call) for call in chain] for chain in chains]
    assert len({image for chain in images for image in chain}) == count * len(names)
    for chain in images:
        for user, operand in pairwise(chain):
            assert user.args[0] is operand


def _fields(mod: IRModule, names: Sequence[str]) -> list[list[Call]]:
    """For each field of the stacked tuple, its calls of `names`, starting from the last."""
    (joined,) = _calls(mod, "stack")
    fields = joined.args[0]
    while is_annotation(fields, BEGIN) or is_annotation(fields, END):
        fields = fields.args[0]
    assert isinstance(fields, relay.Tuple)
    chains = []
    for field in fields.fields:
        chain: list[Call] = []
        while len(chain) < len(names):
            assert isinstance(field, Call)
            if field.op_name == names[len(chain)]:
                chain.append(field)
            # The composite's other operands are outside; one input is enough.
            field = field.op.body if isinstance(field.op, Function) else field.args[0]
        chains.append(chain)
    return chains
