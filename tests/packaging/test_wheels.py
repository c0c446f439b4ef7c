"""`make wheel`: both wheels, installed on a system without a compiler.

Only the wheels are installed: their dependencies are those of this environment, whose folder comes
after the new environment's folder on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.once import once

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler to build a wheel with"),
]

NETWORK = """
import shutil, sys
from pathlib import Path
assert not any(map(shutil.which, ("cc", "c++", "gcc", "g++", "clang", "ld", "make")))
if "torch first" in sys.argv:
    import torch
else:
    sys.modules["torch"] = None  # TVM-FFI would import it
import numpy as np
import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import nn
assert Path(byoc_lab.__file__).is_relative_to(sys.argv[1]), byoc_lab.__file__

rng = np.random.default_rng(0)
weight = relay.const(rng.standard_normal((16, 8, 3, 3)).astype("float32"))
data = relay.var("data", shape=(1, 8, 32, 32))
mod = relay.transform.InferType()(
    relay.IRModule.from_expr(relay.erf(nn.relu(nn.conv2d(data, weight, padding=1))))
)
image = rng.standard_normal((1, 8, 32, 32)).astype("float32")
cut = byoc_lab.dnnl.partition_for_dnnl(mod)
assert any("Compiler" in cut[gv].attrs for gv in cut)
assert not byoc_lab.lint(mod).errors
(wanted,) = byoc_lab.evaluate(mod, [image]).outputs
"""
ON_DNNL = (
    NETWORK
    + """
program = byoc_lab.build(cut)
assert byoc_lab.validate(mod, program, [image]).ok
program.assert_offloaded()
runtimes = {line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line}
print(*runtimes)
"""
)
WITHOUT_THE_EXTENSION = (
    NETWORK
    + """
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import NativeExtensionError, OffloadError
try:
    native.load()
except NativeExtensionError as error:
    print(error)
else:
    raise AssertionError("this wheel has no extension")
program = byoc_lab.build(cut)
assert byoc_lab.validate(mod, program, [image]).ok
print(*program.stand_ins)
try:
    program.assert_offloaded()
except OffloadError:
    program.assert_offloaded(accept_numpy=True)
else:
    raise AssertionError("NumPy is no proof of offload")
host = byoc_lab.build(cut, offload=False)
assert byoc_lab.validate(mod, host, [image]).ok
"""
)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def built(folder: Path) -> Path:
        dist = folder / "dist"
        command = [str(ROOT / "tools" / "wheel.sh"), sys.executable, str(dist)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return dist

    return once(tmp_path_factory, "wheels", built)


def environment(folder: Path) -> Path:
    """The Python of a new virtual environment, with access only to this environment's packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def install(wheel: Path, python: Path, *options: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--quiet"]
    subprocess.run([*pip, "--no-index", *options, str(wheel)], check=True)


def run(python: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess:
    """Runs a command with only Python on PATH, and without this process's settings."""
    alone = python.parent.parent / "alone"
    alone.mkdir(exist_ok=True)
    if not (alone / "python").exists():
        (alone / "python").symlink_to(python)
    settings = {"PATH": str(alone), "HOME": os.environ.get("HOME", "/")}
    if path is not None:
        settings["PYTHONPATH"] = str(path)
    return subprocess.run(
        [str(python), *arguments], env=settings, capture_output=True, text=True, cwd=alone
    )


def test_manylinux_wheel_runs_without_a_compiler(wheels: Path, tmp_path: Path) -> None:
    (wheel,) = wheels.glob("*manylinux*.whl")
    python = environment(tmp_path / "venv")
    install(wheel, python)
    done = run(python, "-c", ON_DNNL, str(tmp_path))
    assert done.returncode == 0, done.stderr
    # The process's only OpenMP runtime is the wheel's.
    assert done.stdout.split() == [str(p) for p in tmp_path.rglob("libgomp.so.1")]
    done = run(python, "-m", "byoc_lab.cli", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "oneDNN 3.2" in done.stdout and "optional  C compiler: none found" in done.stdout


def test_wheel_shares_one_openmp_runtime_with_torch(wheels: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch, which brings an OpenMP runtime, is not installed")
    (wheel,) = wheels.glob("*manylinux*.whl")
    python = environment(tmp_path / "venv")
    install(wheel, python)
    done = run(python, "-c", ON_DNNL, str(tmp_path), "torch first")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 1 and "torch" in done.stdout


def test_manylinux_wheel_runs_from_a_target_folder(wheels: Path, tmp_path: Path) -> None:
    (wheel,) = wheels.glob("*manylinux*.whl")
    python = environment(tmp_path / "venv")
    install(wheel, python, "--target", str(tmp_path / "target"))
    done = run(python, "-c", ON_DNNL, str(tmp_path / "target"), path=tmp_path / "target")
    assert done.returncode == 0, done.stderr


def test_wheels_exclude_the_solutions(wheels: Path) -> None:
    for wheel in wheels.glob("*.whl"):
        names = ZipFile(wheel).namelist()
        assert "byoc_lab/lessons/exercises/annotate_diamond.py" in names
        assert not [name for name in names if "lessons/solutions" in name]


def test_wheels_contain_the_course(wheels: Path, tmp_path: Path) -> None:
    for wheel in wheels.glob("*.whl"):
        python, folder = environment(tmp_path / wheel.stem), tmp_path / wheel.stem / "course"
        install(wheel, python)
        done = run(python, "-m", "byoc_lab.cli", "notebooks", str(folder))
        assert done.returncode == 0, done.stderr
        assert "begin with: jupyter lab" in done.stdout, "it is not a terminal"
        globs = ("notebooks/*.ipynb", "notebooks/exercises/*.ipynb", "docs/**/*.md")
        expected = {p.relative_to(ROOT): p.read_bytes() for g in globs for p in ROOT.glob(g)}
        del expected[Path("docs", "index.md")]  # the first page of the site
        assert {p: (folder / p).read_bytes() for p in expected} == expected
        assert len([p for p in folder.rglob("*") if p.is_file()]) == len(expected)
        names = [n for n in ZipFile(wheel).namelist() if not n.endswith("/")]
        brought = [n for n in names if n.startswith("byoc_lab/_course/")]
        assert len(brought) == len(expected), "no pictures"
        done = run(python, "-m", "byoc_lab.cli", "--version")
        assert done.stdout == f"byoc-lab {wheel.name.split('-')[1]}\n"


def test_pure_wheel_does_everything_except_dnnl(wheels: Path, tmp_path: Path) -> None:
    (wheel,) = wheels.glob("*-none-any.whl")
    python = environment(tmp_path / "venv")
    install(wheel, python)
    assert not list((tmp_path / "venv").rglob("libbyoc_lab_dnnl*"))
    done = run(python, "-c", WITHOUT_THE_EXTENSION, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "pip install ." in done.stdout and "manylinux" in done.stdout
    assert "computed by NumPy in place of DNNL" in done.stdout
    done = run(python, "-m", "byoc_lab.cli", "doctor")
    assert done.returncode == 1
    assert "MISSING   DNNL extension" in done.stdout and "pip install ." in done.stdout
