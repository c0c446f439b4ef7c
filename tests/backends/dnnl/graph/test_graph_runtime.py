"""Whole regions: post-ops, layouts kept between operations, threads, saving and loading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.native import DnnlRegion
from byoc_lab.run.threads import OF_LIBRARIES
from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.graph.net import RELU, Net, residual_net
from tests.backends.dnnl.reference import assert_close, exact

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


# ---- what regions compute


def test_residual_network_fuses_its_sum_and_counts_calls() -> None:
    net, output = residual_net()
    stats = net.check(output).stats()
    assert [op["kind"] for op in stats["ops"]] == [op["kind"] for op in net.graph["ops"]]
    assert stats["ops"][1]["post_ops_fused"] == ["sum", "relu"]
    assert stats["ops"][1]["post_ops_separate"] == []
    assert stats["calls"] == 2


def test_layouts_are_kept_between_convolutions() -> None:
    """One reorder at each edge of the region, none inside, none for weights."""
    net = Net()
    tensor = net.input(1, 32, 14, 14)
    for _ in range(4):
        tensor = net.op("conv2d", [tensor, net.const(32, 32, 3, 3)], [RELU], padding=[1, 1, 1, 1])
    ops = net.check(tensor).stats()["ops"]
    assert [op["reorders"] for op in ops][1:3] == [0, 0]
    assert sum(op["reorders"] for op in ops) <= 2
    assert all(op["dst_layout"] == ops[0]["dst_layout"] for op in ops)
    assert not any(op["impl"].startswith("ref") for op in ops)


def test_temporaries_share_memory() -> None:
    net = Net()
    tensor = net.input(1, 16, 32, 32)
    for _ in range(10):
        tensor = net.op("eltwise", [tensor], alg="tanh")
    stats = net.check(tensor).stats()
    assert stats["arena_bytes"] <= 2 * 16 * 32 * 32 * 4


def test_weights_given_at_run_time_are_used() -> None:
    net = Net()
    operands = [net.input(1, 8, 9, 9), net.input(4, 4, 3, 3), net.input(4)]
    net.check(net.op("conv2d", operands, [RELU], groups=2, strides=[2, 2]))


def test_inputs_constants_repeated_tensors_and_views_may_be_outputs() -> None:
    """An input, a constant, one tensor twice and a view, all as outputs."""
    net = Net()
    data, constant = net.input(2, 6), net.const(3)
    view = net.op("reshape", [data], shape=(3, 4))
    result = net.op("eltwise", [view], alg="relu")
    other = net.op("reshape", [result], shape=(12,))
    net.check(data, constant, view, result, result, other)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [((), ()), ((2,), (2,)), ((2, 3), (3,)), ((), (2,))])
def test_batched_matmul_equals_numpy(transpose_a, transpose_b, batch) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((*batch[0], 4, 5)).astype(np.float32)
    b = rng.standard_normal((*batch[1], 5, 3)).astype(np.float32)
    expected = ref.matmul(exact(a), exact(b))
    a = np.ascontiguousarray(np.swapaxes(a, -1, -2)) if transpose_a else a
    b = np.ascontiguousarray(np.swapaxes(b, -1, -2)) if transpose_b else b
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    shapes = [a.shape, b.shape, expected.value.shape]
    graph = {
        **Net().graph,
        "tensors": [
            {"name": name, "shape": list(shape), "dtype": "float32"}
            for name, shape in zip("abc", shapes, strict=True)
        ],
        "inputs": [0],
        "constants": [1],
        "outputs": [2],
        "ops": [{"name": "m", "kind": "matmul", "inputs": [0, 1], "output": 2, "attrs": attrs}],
    }
    assert_close(DnnlRegion(graph, [b])(a)[0], expected)


# ---- running


def test_stats_report_operations_layouts_and_times() -> None:
    net, output = residual_net()
    region = net.check(output)
    assert all(op["time_us"] is None for op in region.stats()["ops"])
    region.set_profiling(True)
    region(*net.arrays["inputs"])
    stats = region.stats()
    conv = stats["ops"][0]
    assert stats["symbol"] == "dnnl_0"
    assert stats["initialized"] is True
    assert 1 <= stats["threads"] <= native.get_num_threads()
    assert set(conv["input_layouts"]) == {"data", "weight", "bias"}
    assert conv["impl"]
    assert conv["time_us"] > 0
    assert conv["bytes"] >= 4 * (3 * 16 * 16 + 20 * 3 * 3 * 3 + 20 * 16 * 16)


def test_wrong_arguments_of_a_call_are_named_in_the_error() -> None:
    net, output = residual_net()
    region = net.check(output)
    (data,) = net.arrays["inputs"]
    with pytest.raises(ValueError, match=r"dnnl_0.*input_1.*expected shape \(1, 3, 16, 16\)"):
        region(data[:, :2])
    with pytest.raises(TypeError, match=r"input_1.*expected dtype float32, found float64"):
        region(data.astype("f8"))
    with pytest.raises(TypeError, match="expected 1 input"):
        region(data, data)
    run = region.module["dnnl_0"]
    with pytest.raises(TypeError, match="expected 2 tensors"):
        run(data)
    with pytest.raises(TypeError, match=r"output 'softmax_6': expected a tensor, found null"):
        run(data, None)
    with pytest.raises(ValueError, match=r"output 'softmax_6': expected shape \(1, 10\)"):
        run(data, np.empty((1, 9), np.float32))
    with pytest.raises(ValueError, match="shares memory with input 'input_1'"):
        run(data, data.reshape(-1)[:10].reshape(1, 10))


def test_many_threads_may_call_one_region() -> None:
    net, output = residual_net()
    region = net.check(output)
    (data,) = net.arrays["inputs"]
    expected = region(data)[0]
    wrong = []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(region(data)[0], expected):
                wrong.append(threading.get_ident())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert region.stats()["calls"] == 2 + 1 + 4 * 20


@pytest.fixture
def no_number_stated() -> Iterator[None]:
    """A context as if nothing in this thread had called `set_num_threads`."""
    before, stated = native.get_num_threads(), native.function("threads_stated")()
    restore = native.function("restore_num_threads")
    restore(before, False)
    yield
    restore(before, stated)


def conv_net(batch: int) -> Net:
    net = Net()
    conv = net.op("conv2d", [net.input(batch, 8, 14, 14), net.const(8, 8, 3, 3)])
    net.graph["outputs"] = [conv]
    return net


@pytest.mark.usefixtures("no_number_stated")
def test_region_gets_as_many_threads_as_its_work_needs() -> None:
    few, many = conv_net(1), conv_net(512)
    small, large = (DnnlRegion(n.graph, n.arrays["constants"]) for n in (few, many))
    every = native.get_num_threads()
    assert (small.stats()["threads"], large.stats()["threads"]) == (1, every)
    small(*many.arrays["inputs"])
    assert small.stats()["threads"] == every  # for the batch that it computed last
    small(*few.arrays["inputs"])
    assert small.stats()["threads"] == 1
    with native.using_threads(3):
        exactly = DnnlRegion(few.graph, few.arrays["constants"])
        exactly(*few.arrays["inputs"])
        assert exactly.stats()["threads"] == 3
    assert DnnlRegion(few.graph, few.arrays["constants"]).stats()["threads"] == 1


@pytest.mark.usefixtures("no_number_stated")
@pytest.mark.parametrize("kind", ["dense", "matmul", "eltwise"])
def test_products_use_all_threads_for_fewer_elements_than_elementwise_operations(kind: str) -> None:
    net = Net()
    data = net.input(1, 64, 512)
    if kind == "dense":
        flat = net.op("reshape", [data], shape=(64, 512))
        result = net.op("dense", [flat, net.const(512, 512)])
    elif kind == "matmul":
        result = net.op("matmul", [data, net.const(1, 512, 512)])
    else:
        result = net.op("eltwise", [data], alg="tanh")
    net.graph["outputs"] = [result]
    found = DnnlRegion(net.graph, net.arrays["constants"]).stats()["threads"]
    assert found == (1 if kind == "eltwise" else native.get_num_threads())


FORKED = """
import os, sys, numpy as np
from byoc_lab.backends.dnnl import kernels, native
data, weight = np.ones((1, 16, 32, 32), np.float32), np.ones((16, 16, 3, 3), np.float32)
native.set_num_threads(int(sys.argv[1]))
kernels.conv2d(data, weight)
child = os.fork()
if child == 0:
    try:
        kernels.conv2d(data, weight)
    except RuntimeError as error:
        assert "this process was forked" in str(error) and "spawn" in str(error)
        native.set_num_threads(1)
        kernels.conv2d(data, weight)  # one thread needs none of those that are gone
        os._exit(3)
    os._exit(4)
_, status = os.waitpid(child, 0)
kernels.conv2d(data, weight)  # the parent goes on as before
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "exit_code"), [(2, 3), (1, 4)])
def test_forked_process_gets_an_error_and_never_hangs(threads, exit_code) -> None:
    # tvm_ffi imports PyTorch if it is installed, and PyTorch sets a forked process's threads by
    # these.
    environment = {k: v for k, v in os.environ.items() if k not in OF_LIBRARIES}
    done = subprocess.run([sys.executable, "-c", FORKED, str(threads)], env=environment, timeout=60)
    assert done.returncode == exit_code


# ---- constants delivered later, saving and loading


def create(net: Net, *constants: np.ndarray):
    return native.function("create_graph")(json.dumps(net.graph), list(constants), False, "fixed")


def run(module, net: Net) -> np.ndarray:
    out = np.empty(net.values[net.graph["outputs"][0]].value.shape, np.float32)
    module[module["get_symbol"]()](*net.arrays["inputs"], out)
    return out


def test_constants_delivered_by_init_are_used() -> None:
    net, output = residual_net()
    net.graph["outputs"] = [output]
    module = create(net)
    assert module["get_symbol"]() == "dnnl_0"
    assert list(module["get_const_vars"]()) == [f"constant_{i + 1}" for i in range(6)]
    with pytest.raises(RuntimeError, match="constants have not been delivered"):
        run(module, net)
    with pytest.raises(ValueError, match="expected 6 constants, found 1"):
        module["__init_dnnl_0"](net.arrays["constants"][:1])
    assert module["__init_dnnl_0"](net.arrays["constants"]) == 0
    assert_close(run(module, net), net.values[output])
    with pytest.raises(ValueError, match="expected 6 constants, found 0"):
        DnnlRegion(net.graph)


def test_saved_region_runs_in_a_new_process(tmp_path) -> None:
    net, output = residual_net()
    net.graph["outputs"] = [output]
    module = create(net, *net.arrays["constants"])
    (tmp_path / "region.bin").write_bytes(save(module))
    np.save(tmp_path / "data.npy", net.arrays["inputs"][0])
    script = """
import numpy as np, sys, tvm_ffi
from byoc_lab.backends.dnnl import native
native.load()
load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")
module = load(open(sys.argv[1] + "/region.bin", "rb").read())
out = np.empty((1, 10), np.float32)
module["dnnl_0"](np.load(sys.argv[1] + "/data.npy"), out)
np.save(sys.argv[1] + "/out.npy", out)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    assert_close(np.load(tmp_path / "out.npy"), net.values[output])


def save(module) -> bytes:
    return bytes(module["save_to_bytes"]())


def test_truncated_or_foreign_saved_bytes_are_refused() -> None:
    import tvm_ffi

    net, output = residual_net()
    net.graph["outputs"] = [output]
    saved = save(create(net, *net.arrays["constants"]))
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")
    for length in (0, 4, 12, 100, len(saved) - 1):
        with pytest.raises(ValueError, match="cut off"):
            load(saved[:length])
    with pytest.raises(ValueError, match="not a module saved by this version"):
        load(b"x" * len(saved))
    ops = int.from_bytes(saved[9:17], "little")
    for at in (9, 17 + ops):  # the number of layouts, the length of the graph
        lying = saved[:at] + (2**64 - 1).to_bytes(8, "little") + saved[at + 8 :]
        with pytest.raises(ValueError, match=r"cut off|states the layout"):
            load(lying)
