"""A region as C++: it compiles with the line it shows, and computes what the region computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import dnnl
from byoc_lab.dnnl import native
from byoc_lab.dnnl.cpp_source import compile_command, cpp_source
from byoc_lab.dnnl.kernel_table import UNTIMED
from byoc_lab.errors import BuildError
from tests.dnnl.net import Net
from tests.dnnl.test_codegen import CASES, function, random

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]


def net_of_the_rest() -> tuple[Net, list[int]]:
    """Operations that no case of code generation has."""
    net = Net()
    data = net.input(2, 4, 5, 6)
    chain = [{"kind": "binary", "alg": "mul", "input": net.const(4, 1, 1)}]
    outputs = [
        net.op("sum", [data, data, data], chain),
        net.op("reduce", [data], alg="prod", axis=1),
        net.op("resample2d", [data], alg="linear", size=[7, 3]),
        net.op("avg_pool2d", [data], pool_size=[3, 3], padding=[1, 1, 1, 1]),
        net.op("matmul", [data, net.const(6, 4), net.const(4)]),
    ]
    net.graph |= {"symbol": "rest", "outputs": outputs}
    return net, outputs


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    """All sources in one file, which is quicker to compile."""
    folder: Path = tmp_path_factory.mktemp("cpp")
    graphs = [dnnl.region_graph(function(CASES[c][0]), f"r{n}") for n, c in enumerate(CASES)]
    sources = [cpp_source(g.graph) for g in graphs] + [cpp_source(net_of_the_rest()[0].graph)]
    (folder / "all.cc").write_text("\n".join(sources))
    command = compile_command(str(folder / "all.cc"), str(folder / "all.so"))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


def run(library: ctypes.CDLL, graph: dict, inputs: list, constants: list) -> list[np.ndarray]:
    def pointers(arrays: list) -> ctypes.Array:
        kind = ctypes.c_void_p * max(1, len(arrays))
        return kind(*(a.ctypes.data for a in arrays))

    shapes = [graph["tensors"][t]["shape"] for t in graph["outputs"]]
    outputs = [np.empty(shape, np.float32) for shape in shapes]
    held = [np.require(a, np.float32, ["C"]) for a in (*inputs, *constants)]
    library[graph["symbol"]](
        pointers(held[: len(inputs)]), pointers(held[len(inputs) :]), pointers(outputs)
    )
    return outputs


@pytest.mark.parametrize("case", CASES)
def test_the_source_computes_what_the_region_does(library: ctypes.CDLL, case: str) -> None:
    func = function(CASES[case][0])
    symbol = f"r{list(CASES).index(case)}"
    made = dnnl.region_graph(func, symbol)
    inputs = [random(*p.checked_type.shape, seed=n) for n, p in enumerate(func.params)]
    region = native.Region(made.graph, made.constants)
    for got, want in zip(
        run(library, made.graph, inputs, made.constants), region(*inputs), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_operations_that_regions_of_relay_do_not_have(library: ctypes.CDLL) -> None:
    net, outputs = net_of_the_rest()
    got = run(library, net.graph, net.arrays["inputs"], net.arrays["constants"])
    for value, output in zip(got, outputs, strict=True):
        np.testing.assert_allclose(value, net.values[output].value, rtol=1e-4, atol=1e-5)


def test_it_shows_the_line_that_compiles_it() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    source = region.c_source
    first = " ".join(compile_command("r.cc", "r.so"))
    assert source.startswith(f"// Compile with:\n// {first}\n")
    assert "ops.append_eltwise(algorithm::eltwise_relu" in source
    assert region.graph["symbol"] == "r"


def test_a_package_without_headers_says_so(tmp_path) -> None:
    with pytest.raises(BuildError, match="oneDNN's headers are not in"):
        compile_command("a.cc", "a.so", tmp_path)


def test_kernels_tell_how_each_operation_runs() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    region.set_profiling(True)
    region(random(2, 4, 6, 6))
    (kernel,) = region.kernels
    assert kernel.fused == ("relu",) and kernel.separate == () and kernel.impl
    assert set(kernel.layouts) == {"data", "weight", "bias", "result"}
    assert kernel.time_us is not None and kernel.time_us > 0
    head, row, foot = str(region.kernels).splitlines()
    assert head.split() == ["operation", "kernel", "layouts", "post-ops", "time", "share"]
    assert row.startswith("nn.conv2d_0 ") and kernel.impl in row and "relu" in row
    assert row.endswith("100 %") and foot.startswith("1 kernels, ")
    page = region.kernels._repr_html_()
    assert f"<code>{kernel.impl}</code>" in page and page.count("<tr>") == 2 and "120px" in page


def test_kernels_without_times_say_how_to_get_them() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    region(random(2, 4, 6, 6))
    assert str(region.kernels).endswith(UNTIMED) and "set_profiling(True)" in UNTIMED
    assert region.kernels.time_us is None and "120px" not in region.kernels._repr_html_()
