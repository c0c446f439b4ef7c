"""Every kernel at the channel counts of real networks, on this processor and on lesser ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, which computes the same, is not installed")

from byoc_lab import build, relay  # noqa: E402
from byoc_lab.backends import dnnl  # noqa: E402
from byoc_lab.backends.dnnl import kernels, native  # noqa: E402
from byoc_lab.relay import IRModule, nn  # noqa: E402
from byoc_lab.relay.typing.infer import infer_module  # noqa: E402
from tests.backends.dnnl.kernels import channels  # noqa: E402
from tests.backends.dnnl.kernels.kernel_cases import KERNELS  # noqa: E402

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]
ROOT = Path(__file__).parents[4]


FLAGS = {"SSE41": "sse4_1", "AVX2": "avx2", "AVX2_VNNI": "avx_vnni", "AVX512_CORE": "avx512bw"}


def on_a_processor_with(instructions: str, *arguments: str) -> None:
    if FLAGS[instructions] not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"needs {instructions}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.backends.dnnl.kernels.channels", *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=ROOT,
        env={
            **os.environ,
            "ONEDNN_MAX_CPU_ISA": instructions,
            "OMP_NUM_THREADS": "2",
            "OMP_WAIT_POLICY": "PASSIVE",  # waiting threads leave the cores to other tests
        },
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Several threads of PyTorch and oneDNN wait for each other, which takes many times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with native.using_threads(1):
        yield
    torch.set_num_threads(before)


def test_every_kernel_has_cases() -> None:
    assert set(channels.CASES) == set(KERNELS)


@pytest.mark.parametrize("name", channels.CASES)
def test_few_channel_counts_equal_torch(name: str) -> None:
    for count in channels.FEW:
        channels.check(name, "float32" if "float32" in KERNELS[name].dtypes else "int32", count)


@pytest.mark.slow
@pytest.mark.parametrize("name", channels.CASES)
def test_all_channel_counts_equal_torch(name: str) -> None:
    for dtype in KERNELS[name].dtypes:
        for count in channels.COUNTS:
            channels.check(name, dtype, count)


@pytest.mark.slow
@pytest.mark.parametrize("instructions", FLAGS)
def test_channel_counts_on_another_processor_equal_torch(instructions: str) -> None:
    on_a_processor_with(instructions, *map(str, channels.SOME))


# oneDNN's strided deconvolution adds the bias, and applies post-ops, in several of its passes.
DEEP = [(2, 512), (2, 517), (2, 1024), (3, 64), (3, 256), (3, 1024)]


@pytest.mark.parametrize(("axes", "count"), DEEP)
def test_transposed_convolution_adds_its_bias_once(axes: int, count: int) -> None:
    data = np.ones((1, count, *[4] * axes), np.float32)
    weight = np.zeros((count, 64, *[4] * axes), np.float32)
    kernel = getattr(kernels, f"conv{axes}d_transpose")
    result = kernel(data, weight, np.ones(64, np.float32), strides=2, padding=1)
    np.testing.assert_array_equal(result, np.ones_like(result))
    halved = [{"kind": "eltwise", "alg": "linear", "alpha": 0.5, "beta": 1.0}]
    result = kernel(data, weight, strides=2, padding=1, post_ops=halved)
    np.testing.assert_array_equal(result, np.ones_like(result))


def test_transposed_convolution_in_a_network_adds_its_bias_once() -> None:
    data = relay.var("data", shape=(1, 512, 4, 4))
    weight = relay.const(np.zeros((512, 64, 4, 4), np.float32))
    made = nn.conv2d_transpose(
        data, weight, strides=(2, 2), padding=(1, 1), channels=64, kernel_size=(4, 4)
    )
    made = nn.relu(nn.bias_add(made, relay.const(np.ones(64, np.float32))))
    program = build(dnnl.partition_for_dnnl(infer_module(IRModule.from_expr(made))))
    (result,) = program(np.ones((1, 512, 4, 4), np.float32))
    program.assert_offloaded()
    np.testing.assert_array_equal(result, np.ones_like(result))


@pytest.mark.slow
@pytest.mark.parametrize("instructions", ["AVX2", "AVX512_CORE"])
def test_transposed_convolution_on_another_processor_adds_its_bias_once(instructions: str) -> None:
    names = [f"conv{axes}d_transpose" for axes in (1, 2, 3)]
    on_a_processor_with(instructions, "512", "1024", "--kernels", *names)
