"""The test of a pass against its golden files: equal input, equal result as TVM 0.16."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat import tvm
from byoc_lab.errors import ByocLabError, FreeVariableError

from . import cases
from .compare import difference, expected_error, missing, run, targets_registered
from .goldens.files import GoldenFile, golden_files


def golden_test(folder: str) -> Callable[[Path], None]:
    """The test of all golden files of a pass; bind it to a name that begins with `test_`."""

    @pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
    @pytest.mark.parametrize("path", golden_files(folder), ids=lambda path: path.stem)
    def test(path: Path) -> None:
        with targets_registered():
            check(GoldenFile.read(path))

    return test


def check(golden: GoldenFile) -> None:
    """Results must be structurally equal; if TVM fails or crashes, byoc_lab must raise its
    error."""
    if name := missing([golden.step]):
        pytest.skip(f"byoc_lab has no pass {name}")
    before = module_before(golden)
    if golden.error is not None:
        _, message = golden.error
        with pytest.raises(expected_error(message)) as raised:
            run(golden.step, before)
        _check_free_variables(raised.value, message)
        return
    assert golden.text_after is not None
    after = run(golden.step, before)
    found = difference(after, golden.text_after)
    assert found is None, found


def module_before(golden: GoldenFile) -> tvm.IRModule:
    """The module before the pass: the case itself if no pass ran yet, else TVM's text."""
    if golden.before:
        return relay.parse(golden.text_before)
    return cases.load(golden.case, tvm, relay, np)


def _check_free_variables(error: ByocLabError, message: str) -> None:
    """As many free variables as TVM found; their names differ in the fork (see `fork.py`)."""
    if isinstance(error, FreeVariableError):
        (count,) = re.findall(r"fv\.size\(\) == 0 \((\d+) vs\. 0\)", message)
        assert len(error.variables) == int(count)
