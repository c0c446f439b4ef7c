"""Old scripts and tests, unchanged, through `python -m byoc_lab.compat`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from byoc_lab.compat.__main__ import main

pytestmark = pytest.mark.usefixtures("processes_without_torch")
SCRIPTS = Path(__file__).parent / "scripts"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "byoc_lab.compat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


@pytest.mark.slow
def test_old_script_runs_unchanged() -> None:
    done = _run(str(SCRIPTS / "old_script.py"), "--some", "argument")
    assert done.returncode == 0, done.stderr
    assert 'Composite="sample.add_relu"' in done.stdout
    assert "@tvmgen_default_sample_main_0(%y, %x)" in done.stdout
    assert "arguments: ['--some', 'argument']" in done.stdout


@pytest.mark.slow
def test_old_tests_run_unchanged() -> None:
    done = _run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(SCRIPTS / "old_tests.py"))
    assert "7 passed, 3 skipped" in done.stdout, done.stdout + done.stderr


def test_user_s_back_end_runs_unchanged() -> None:
    done = _run(str(SCRIPTS / "own_backend.py"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[:3]] == [
        "RemoveDropout",
        "MergeComposite",
        "PartitionGraph",
    ]
    regions = [line for line in lines if line.startswith("npu ")]
    assert [r.split()[1] for r in regions] == [r.split()[2] for r in regions]
    assert len(regions) == 2
    assert "('npu.conv2d_relu', 1), ('npu.mix', 1)" in done.stdout
    assert "nn.dropout" not in done.stdout and "nn.leaky_relu" not in done.stdout
    assert lines[-1] == "True True"


def test_compat_command_without_a_script_prints_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-m"], ["--help"]):
        assert main(arguments) == 2
        assert "python -m byoc_lab.compat script.py" in capsys.readouterr().err


@pytest.mark.slow
def test_topi_can_be_imported_without_tvm(tmp_path: Path) -> None:
    """Until TVM 0.6, topi was a top-level package, as tvm is."""
    script = tmp_path / "script.py"
    script.write_text(
        "import topi, tvm\n"
        "from topi.util import get_const_tuple\n"
        "from tvm import relay\n"
        "print(get_const_tuple(relay.TensorType((1, 2)).shape), topi.nn is tvm.topi.nn)\n"
    )
    done = _run(str(script))
    assert done.stdout == "(1, 2) True\n", done.stderr
    script.write_text("import topi.sparsity\n")
    done = _run(str(script))
    assert "UnsupportedModuleError: tvm.topi.sparsity is not supported" in done.stderr


USES = {
    "te_compiler.lower_to_primfunc()": "relay.backend.te_compiler.lower_to_primfunc",
    "CCacheKey(1)": "relay.backend.te_compiler.CCacheKey",
    "isinstance(1, CCacheKey)": "relay.backend.te_compiler.CCacheKey",
    "exec('class Mine(CCacheKey): pass')": "relay.backend.te_compiler.CCacheKey",
    "gradient(1)": "relay.transform.gradient",
    "Enumeration.value": "relay.analysis.Enumeration.value",
    "list(Enumeration)": "relay.analysis.Enumeration",
    "Enumeration[0]": "relay.analysis.Enumeration",
    "partition_rule.X": "relay.collage.partition_rule.X",
    "autotvm.apply": "autotvm.apply",
    "tvm.relay.nothing": "relay.nothing",
}


def test_unsupported_names_can_be_imported_and_raise_when_used(tmp_path: Path) -> None:
    """Each use raises the error with the name and the advice."""
    script = tmp_path / "script.py"
    script.write_text(
        "import tvm\n"
        "from tvm.relay.collage import partition_rule\n"
        "from tvm import autotvm, relay\n"
        "from tvm.relay.analysis import Enumeration\n"
        "from tvm.relay.transform import gradient\n"
        "from tvm.relay.backend import te_compiler\n"
        "from tvm.relay.backend.te_compiler import CCacheKey\n"
        "from tvm.relay.op.strategy import generic\n"
        "try:\n"
        "    import tvm.micro\n"
        "    raise SystemExit('a module that is not supported was imported')\n"
        "except ImportError:\n"
        "    pass\n"
        "assert not hasattr(relay, 'nothing') and not hasattr(te_compiler, 'lower')\n"
        f"for use in {list(USES)}:\n"
        "    try:\n"
        "        eval(use)\n"
        "    except AttributeError as error:\n"
        "        print(type(error).__name__, str(error).partition(';')[0])\n"
    )
    done = _run(str(script))
    expected = [f"UnsupportedNameError tvm.{name} is not supported" for name in USES.values()]
    assert done.stdout.splitlines() == expected, done.stderr


def test_script_path_is_absolute(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys\nprint(__file__, sys.path[0])\n")
    command = [sys.executable, "-m", "byoc_lab.compat", "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.stdout.split() == [str(tmp_path / "script.py"), str(tmp_path)], done.stderr


def test_missing_script_exits_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["missing.py"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "missing.py': No such file or directory" in told


TRACEBACKS = {
    "from tvm import relay\n\ndef f():\n    import other\n\nf()\n": ("script.py", "other.py"),
    "x = = 3\n": ("script.py",),
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    import tvm.nothing\n": ("script.py",),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", TRACEBACKS)
def test_traceback_has_only_frames_of_the_script(tmp_path: Path, text: str) -> None:
    (tmp_path / "script.py").write_text(text)
    (tmp_path / "other.py").write_text("raise ValueError('from a module of the script')\n")
    done = _run(str(tmp_path / "script.py"))
    assert done.returncode == 1
    files = re.findall(r'File "([^"]*)"', done.stderr)
    assert {Path(f).name for f in files} == set(TRACEBACKS[text]), done.stderr


def test_missing_module_exits_with_its_name() -> None:
    done = _run("-m", "nothing_of_this_name")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["ImportError: No module named nothing_of_this_name"]


WORKERS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import tvm
from tvm import relay

def work(number):
    from tvm.relay import transform
    return tvm.__version__, type(relay).__name__, str(relay.const(number))

if __name__ == "__main__":
    for how in ("spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(1) as pool:
            assert pool.map(work, [7]) == [work(7)]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(work, [7])) == [work(7)]
    print("the same tvm", tvm.__version__)
"""


@pytest.mark.slow
def test_worker_processes_import_the_same_tvm(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WORKERS)
    done = _run(str(script))
    assert done.stdout == "the same tvm 0.16.0\n", done.stderr
