"""Exporting an executable, and loading the library in a process without the original."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from byoc_lab import backends, build, relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.ccompiler import CRegion
from byoc_lab.errors import BuildError, InputError
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate, load_library
from byoc_lab.run.backends import register_runtime
from byoc_lab.run.library_file import append_trailer
from tests.compilers import needs_cc

pytest.importorskip("tvm")
pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def network() -> IRModule:
    """Two regions with a host operator between them, two results, constants, and a parameter to
    bind."""
    image, other = relay.var("image", shape=(1, 4, 8, 8)), relay.var("other", shape=(1, 4, 8, 8))
    first = nn.relu(nn.conv2d(image, relay.const(random(4, 4, 3, 3)), padding=1, channels=4))
    host = relay.erf(first) + relay.erf(other)
    second = nn.conv2d(host, relay.const(random(2, 4, 1, 1)), channels=2)
    second = nn.bias_add(second, relay.var("bias", shape=(2,)))
    return infer_module(IRModule.from_expr(relay.Tuple([relay.tanh(second), first])))


LOADED = """
import sys, numpy as np
from byoc_lab.run import load_library
folder = sys.argv[1]
library = load_library(folder + "/net.so")
assert library.inputs == ["image", "other"], library.inputs
image, other = np.load(folder + "/image.npy"), np.load(folder + "/other.npy")
for n, (a, b) in enumerate(zip(library(image, other), library.run(other=other, image=image))):
    np.testing.assert_array_equal(a, b)
    np.save(f"{folder}/result{n}.npy", a)
"""


@pytest.mark.slow
def test_exported_library_runs_in_a_new_process(tmp_path) -> None:
    bias = random(2)
    program = build(dnnl.partition_for_dnnl(network()), params={"bias": bias})
    assert len(program.cards()) == 2
    image, other = random(1, 4, 8, 8), random(1, 4, 8, 8, seed=1)
    wanted = program(image, other)
    for got, right in zip(wanted, evaluate(network(), [image, other, bias]).outputs, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)
    program.export_library(tmp_path / "net.so")
    np.save(tmp_path / "image.npy", image)
    np.save(tmp_path / "other.npy", other)
    subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], check=True, timeout=900)
    for n, want in enumerate(wanted):
        np.testing.assert_array_equal(np.load(tmp_path / f"result{n}.npy"), want)


def test_wrong_inputs_of_a_library_are_named(tmp_path) -> None:
    data = relay.var("data", shape=(2, 3))
    program = build(infer_module(IRModule.from_expr(relay.erf(data))))
    program.export_library(tmp_path / "net.so")
    library = load_library(tmp_path / "net.so")
    np.testing.assert_array_equal(library(random(2, 3)), program(random(2, 3)))
    with pytest.raises(InputError, match="expected the inputs data, found image"):
        library.run(image=random(2, 3))
    with pytest.raises(InputError, match=r"expected 1 input \(data\), found 2"):
        library(random(2, 3), random(2, 3))
    with pytest.raises(InputError, match=r"write run\(\[a, b\]\)"):
        library.run(random(2, 3), random(2, 3))
    with pytest.raises(InputError, match="not both"):
        library(random(2, 3), data=random(2, 3))


def test_invalid_library_raises_build_error_with_the_reason(tmp_path) -> None:
    (tmp_path / "net.so").write_text("hello")
    with pytest.raises(BuildError, match=r"net\.so is not a library that Executable\.export"):
        load_library(tmp_path / "net.so")
    append_trailer(tmp_path / "net.so", b"{}")
    with pytest.raises(BuildError, match=r"net\.so is not a shared library: expected ELF"):
        load_library(tmp_path / "net.so")
    (tmp_path / "net.so").write_bytes(b"\x7fELF and nothing of one")
    append_trailer(tmp_path / "net.so", b"{}")
    with pytest.raises(BuildError, match=r"net\.so is not a library that TVM can load"):
        load_library(tmp_path / "net.so")
    with pytest.raises(BuildError, match=r"missing\.so cannot be read"):
        load_library(tmp_path / "missing.so")


def test_runtimes_of_back_ends_are_loaded_before_a_library(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("byoc_lab.run.backends._runtimes", [])
    loaded: list[str] = []
    register_runtime(lambda: loaded.append("mine"))
    (tmp_path / "net.so").write_bytes(b"\x7fELF")
    append_trailer(tmp_path / "net.so", b"{}")
    with pytest.raises(BuildError):
        load_library(tmp_path / "net.so")
    assert loaded == ["mine"]


LOADED_C = """
import sys, numpy as np
from byoc_lab.run import load_library
folder = sys.argv[1]
np.save(folder + "/result.npy", load_library(folder + "/net.so")(np.load(folder + "/data.npy"))[0])
"""


@pytest.mark.slow
@needs_cc
def test_regions_of_ccompiler_are_exported(tmp_path) -> None:
    data = relay.var("data", shape=(2, 3))
    host = relay.erf(relay.exp(data))
    mod = infer_module(IRModule.from_expr(nn.relu(host - relay.const(random(3)))))
    program = build(backends.partition(mod, "ccompiler"))
    assert [card.ran_on for card in program.cards()] == ["ccompiler", "ccompiler"]
    (wanted,) = program(random(2, 3))
    program.export_library(tmp_path / "net.so")
    np.testing.assert_array_equal(program(random(2, 3))[0], wanted)  # and still runs here
    np.save(tmp_path / "data.npy", random(2, 3))
    subprocess.run([sys.executable, "-c", LOADED_C, str(tmp_path)], check=True, timeout=900)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), wanted)


def test_archive_name_is_refused(tmp_path) -> None:
    data = relay.var("data", shape=(2, 3))
    program = build(infer_module(IRModule.from_expr(nn.relu(data))))
    with pytest.raises(BuildError, match=r"names an archive.*lib\.so"):
        program.export_library(tmp_path / "lib.tar")
    assert not list(tmp_path.iterdir())


class LibraryRegion(backends.ModuleRegion):
    """A region with ccompiler's code, of which only the loaded library is known."""

    def __init__(self, function: relay.Function, symbol: str):
        module = CRegion(function, symbol).module
        del module.link_into  # the return value of `tvm_ffi.load_module`
        super().__init__(function, symbol, module)


@needs_cc
def test_region_that_cannot_be_saved_is_named(tmp_path) -> None:
    data = relay.var("data", shape=(2, 3))
    mod = backends.partition(infer_module(IRModule.from_expr(relay.exp(data))), "ccompiler")
    program = build(mod, backends={"ccompiler": LibraryRegion})
    with pytest.raises(BuildError, match="ccompiler made of @tvmgen_default_ccompiler_main_0"):
        program.export_library(tmp_path / "net.so")


DAMAGED = """
import sys, random
from pathlib import Path
from byoc_lab.errors import BuildError
from byoc_lab.run import load_library
whole = Path(sys.argv[1]).read_bytes()
draw = random.Random(3)
damaged = [whole[:draw.randrange(len(whole))] for _ in range(20)] + [b"", whole[:-1], whole + b"x"]
for count in (1, 1, 1, 10, 1000):
    for _ in range(20):
        edited = bytearray(whole)
        for place in draw.sample(range(len(whole)), count):
            edited[place] ^= draw.randrange(1, 256)
        damaged.append(bytes(edited))
for n, content in enumerate(damaged):
    path = Path(sys.argv[1]).with_name(f"damaged{n}.so")
    path.write_bytes(content)
    try:
        load_library(path)
    except BuildError as error:
        assert str(path) in str(error) and "again" in str(error), error
    else:
        raise AssertionError(f"number {n} was loaded")
    path.unlink()
print(len(damaged), "refused")
"""


@pytest.mark.slow
def test_damaged_libraries_are_refused(tmp_path) -> None:
    """In a separate process, which loading a damaged library could crash."""
    program = build(dnnl.partition_for_dnnl(network()), params={"bias": random(2)})
    program.export_library(tmp_path / "net.so")
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED, str(tmp_path / "net.so")],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.stdout == "123 refused\n", f"exit status {done.returncode}\n{done.stderr[-4000:]}"
