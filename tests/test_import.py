"""`import byoc_lab`: its effects on the process, and its public names."""

from __future__ import annotations

import ast
import importlib
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import passes, relay

SNAPSHOT = """
import builtins, sys
import numpy

def state(module):
    return {n: id(value) for n, value in vars(module).items() if n != "__warningregistry__"}

finders, hooks = list(sys.meta_path), list(sys.path_hooks)
others = {name: (module, state(module)) for name, module in sys.modules.items()}
import byoc_lab
assert sys.meta_path == finders and sys.path_hooks == hooks
assert state(builtins) == others["builtins"][1]
changed = []
for name, (module, before) in others.items():
    after = state(sys.modules[name])
    submodules = {n for n in after if f"{name}.{n}" in sys.modules}
    keys = {k for k in {**before, **after} if before.get(k) != after.get(k)} - submodules
    # caches and counters of the interpreter and of the standard library
    if keys and not name.startswith(("_", "sys", "re", "functools", "abc", "weakref", "typing",
                                     "importlib", "copyreg", "enum", "warnings", "linecache",
                                     "tokenize", "random", "contextlib")):
        changed.append((name, sorted(keys)))
assert not changed, changed
for heavy in ("tvm", "tvm_ffi", "torch", "IPython", "anywidget"):
    assert heavy not in sys.modules, heavy
"""


def test_import_patches_nothing() -> None:
    subprocess.run([sys.executable, "-c", SNAPSHOT], check=True, timeout=900)


def test_import_loads_no_function_of_the_laboratory() -> None:
    """Each is imported on first use; `language` only has the slots that they fill."""
    script = (
        "import sys, byoc_lab; print(*(m for m in sys.modules if m.startswith('byoc_lab.lab.')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=900
    ).stdout
    assert shown.split() == ["byoc_lab.lab.language"]


def test_modules_with_names_of_tvm_are_real_files() -> None:
    """Python imports each from a file; no code inserts entries into sys.modules."""
    for name in ("transform", "relay.transform", "relay.qnn.transform", "relay.op.contrib.dnnl"):
        module = importlib.import_module(f"byoc_lab.{name}")
        assert module.__name__ == module.__spec__.name == f"byoc_lab.{name}"
    assert relay.transform.FoldConstant is byoc_lab.transform.FoldConstant is passes.FoldConstant
    assert set(passes.__all__) <= set(dir(relay.transform))
    assert relay.op.contrib.dnnl.pattern_table is byoc_lab.backends.dnnl.pattern_table
    assert callable(relay.qnn.transform.CanonicalizeOps)


def test_relay_does_not_import_its_facades() -> None:
    facades = {
        "byoc_lab.relay.transform",
        "byoc_lab.relay.qnn.transform",
        "byoc_lab.transform",
        "byoc_lab.relay.op.contrib.dnnl",
    }
    for path in Path(relay.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                below = {f"{node.module}.{alias.name}" for alias in node.names}
                imported = {str(node.module)} | below
            else:
                continue
            assert not imported & facades, path


def test_all_public_names_are_listed_and_documented() -> None:
    assert {"build", "validate", "evaluate", "trace", "relax"} <= set(dir(byoc_lab))
    for name in byoc_lab.__all__:
        assert getattr(byoc_lab, name) is not None
    shown = pydoc.plain(pydoc.render_doc(byoc_lab))
    for name in ("build", "validate", "evaluate", "trace", "lint", "diff"):
        assert f"    {name}(" in shown
    with pytest.raises(AttributeError, match="has no attribute 'biuld'"):
        _ = byoc_lab.biuld
    with pytest.raises(AttributeError, match=r"it is byoc_lab\.backends\.partition"):
        _ = byoc_lab.partition
