"""Containers: the files and environment that a contained command sees, for each implementation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from byoc_lab.containment import containers
from tests.lessons.grading.ways import each_container

LOOK = """
import json, os
def entries(path):
    return sorted(os.listdir(path)) if os.path.isdir(path) else None
print(json.dumps({
    "root": entries("/"), "folder": entries(os.getcwd()), "here": os.getcwd(), "id": os.getpid(),
    "devices": entries("/dev"), "settings": entries("/etc"),
    "other": entries(os.environ["OTHER"]), "hidden": entries(os.environ["HIDDEN"]),
}))
"""


@each_container
def test_contained_command_sees_only_python_and_the_system(way: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    hidden = Path(containers.__file__).parent
    command = containers.contained([sys.executable, "-c", LOOK], way, folder, [hidden, other])
    variables = {**containers.environment(), "OTHER": str(other), "HIDDEN": str(hidden)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    seen = json.loads(done.stdout)
    packages = [  # in a clone or an environment below /tmp
        Path(path).relative_to(containers.FOLDER).parts[0]
        for kind, *_, path in containers.plan([], tmp_path, 1)
        if kind == "visible" and Path(path).is_relative_to(containers.FOLDER)
    ]
    assert (seen["here"], seen["id"]) == (containers.FOLDER, 1)
    assert set(seen["folder"]) == set(packages)
    assert (seen["other"], seen["hidden"]) == (None, [])
    assert seen["devices"] == ["null", "random", "shm", "urandom"]
    assert set(seen["settings"]) <= {Path(each).name for each in containers.SYSTEM}
    assert {"proc", "tmp", "usr"} <= set(seen["root"]) and "run" not in seen["root"]


@each_container
def test_exit_status_is_that_of_the_contained_command(way: str, tmp_path: Path) -> None:
    command = containers.contained([sys.executable, "-c", "raise SystemExit(7)"], way, tmp_path)
    assert subprocess.run(command, env=containers.environment()).returncode == 7


def test_error_lists_why_each_implementation_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    containers.way.cache_clear()
    monkeypatch.setattr(containers, "failure", lambda name: f"no {name} today")
    with pytest.raises(containers.ContainmentError) as raised:
        containers.way()
    assert "bubblewrap: no bubblewrap today" in str(raised.value)
    assert "namespaces: no namespaces today" in str(raised.value)
    assert not containers.possible()


@pytest.mark.linux
def test_missing_bubblewrap_is_reported_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert containers.failure("bubblewrap") == "bwrap is not installed"


@pytest.mark.linux
def test_unprivileged_account_runs_in_a_user_namespace(tmp_path: Path) -> None:
    """Root changes to such an account here, with the system's Python, which every account can
    read."""
    python = Path("/usr/bin/python3")
    if not python.is_file():
        pytest.skip("needs /usr/bin/python3")
    user = os.geteuid() or 65534
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        root, empty, launcher = (Path(folder, name) for name in ("root", "empty", "launch.py"))
        root.mkdir()
        shutil.copy(containers.LAUNCHER, launcher)
        steps = [each for each in containers.plan([], empty, 1 << 20) if "/usr" in each[-1]]
        steps += [each for each in containers.plan([], empty, 1 << 20) if each[0] != "visible"]
        code = (
            "import os; print(os.getpid(), os.getuid(), os.listdir('/tmp'), os.path.exists('/run'))"
        )
        done = subprocess.run(
            [python, "-I", "-S", launcher, root, json.dumps(steps), python, "-I", "-S", "-c", code],
            capture_output=True, text=True, user=user,
        )  # fmt: skip
    if "Operation not permitted" in done.stderr:
        pytest.skip(f"this machine allows no user namespaces: {done.stderr.strip()}")
    assert done.stdout.split() == ["1", str(user), "[]", "False"], done.stderr
