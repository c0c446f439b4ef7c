"""Only `containment` starts, limits, ends and waits for processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import byoc_lab

ROOT = Path(byoc_lab.__file__).parent
MODULES = {"subprocess", "multiprocessing", "resource", "pty"}
CALLS = {
    "fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen", "startfile",
    "kill", "killpg", "pidfd_send_signal", "setsid", "setrlimit", "prlimit", "prctl", "setns",
    "wait", "wait3", "wait4", "waitid", "waitpid", "pidfd_open", "unshare",
}  # fmt: skip
CALLS |= {f"{kind}{rest}" for kind in ("exec", "spawn") for rest in ("l", "v", "ve", "vp", "vpe")}
POOLS = {"ProcessPoolExecutor", "create_subprocess_exec", "create_subprocess_shell"}
EXCEPTIONS = {
    "compat/workers.py": "prepares the processes that a script of TVM starts, and starts none",
}


def handled(tree: ast.AST) -> Iterator[str]:
    """The modules and functions for processes that a module uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in MODULES:
                yield node.module
            names = {each.name for each in node.names}
            yield from names & (POOLS | (CALLS if node.module in ("os", "signal") else set()))
        elif isinstance(node, ast.Attribute):
            of = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in POOLS or (of in ("os", "libc") and node.attr in CALLS):
                yield f"{of}.{node.attr}"


def test_processes_are_handled_only_in_containment() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        used = sorted(set(handled(ast.parse(path.read_bytes()))))
        if used and not name.startswith("containment/"):
            found[name] = used
    assert found.keys() == EXCEPTIONS.keys(), found


def test_uses_are_found_for_every_form_of_import() -> None:
    text = """
import os, subprocess as other
from multiprocessing.pool import Pool
from os import fork
import concurrent.futures as futures
os.killpg(1, 9)
futures.ProcessPoolExecutor()
game.kill(1)
"""
    assert set(handled(ast.parse(text))) == {
        "subprocess", "multiprocessing.pool", "fork", "os.killpg", "futures.ProcessPoolExecutor",
    }  # fmt: skip
