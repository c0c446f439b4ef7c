"""Each pass of byoc_lab against the golden files: same input, same result as TVM 0.16."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import ByocLabError, FreeVariableError

from . import cases
from .compare import difference, expected_error, missing, run, targets_registered
from .golden_files import GOLDEN, GoldenFile, golden_files

pytestmark = pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")

# Passes that leave new nodes without types.
UNTYPED_AFTER = ("ToANormalForm",)

PASSES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and path.name != "print")
FILES = [path for name in PASSES for path in golden_files(name)]


@pytest.fixture(scope="module", autouse=True)
def _targets() -> Iterator[None]:
    with targets_registered():
        yield


def _name(path: Path) -> str:
    return str(path.relative_to(GOLDEN).with_suffix(""))


def _before(golden: GoldenFile) -> tvm.IRModule:
    """The module before the pass: the case itself where nothing ran yet, else TVM's text of it."""
    if golden.before:
        return relay.parse(golden.text_before)
    return cases.load(golden.case, tvm, relay, np)


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_pass_does_what_tvm_does(path: Path) -> None:
    """Structurally equal results; where TVM fails or dies, an error of byoc_lab's own."""
    golden = GoldenFile.read(path)
    if name := missing([golden.step]):
        pytest.skip(f"byoc_lab has no pass {name}")
    before = _before(golden)
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


def _check_free_variables(error: ByocLabError, message: str) -> None:
    """As many free variables as TVM found; their names are the fork's own (see `fork.py`)."""
    if isinstance(error, FreeVariableError):
        (count,) = re.findall(r"fv\.size\(\) == 0 \((\d+) vs\. 0\)", message)
        assert len(error.variables) == int(count)


@pytest.mark.parametrize("path", golden_files("print"), ids=_name)
def test_text_is_printed_as_tvm_prints_it(path: Path) -> None:
    """The program token for token; the metadata as far as reading it back gives the same module.

    (TVM's metadata also lists the types of the constants, which their arrays have anyway.)
    """
    golden = GoldenFile.read(path)
    if name := missing(golden.before):
        pytest.skip(f"byoc_lab has no pass {name}")
    program, mark, _ = golden.text_before.partition("#[metadata]")
    printed = _printable(golden).astext(show_meta_data=bool(mark), exact=False)
    assert printed.partition("#[metadata]")[0].split() == program.split()
    if mark:
        found = difference(relay.parse(printed), golden.text_before)
        assert found is None, found


def _printable(golden: GoldenFile) -> tvm.IRModule:
    """The module of a printer's file. A text gets its types when read, so the untyped are built."""
    if golden.before and golden.before[-1] not in UNTYPED_AFTER:
        return relay.parse(golden.text_before)
    module = cases.load(golden.case, tvm, relay, np)
    for step in golden.before:
        module = run(step, module)
    return module
