"""Texts equal those that TVM 0.16 prints: the golden files of the printer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat import tvm

from . import cases
from .compare import difference, missing, run
from .goldens.files import GoldenFile, golden_files

pytestmark = pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")

# Passes that create nodes without types.
UNTYPED_AFTER = ("ToANormalForm",)


@pytest.mark.parametrize("path", golden_files("print"), ids=lambda path: path.stem)
def test_text_equals_that_of_tvm(path: Path) -> None:
    """The program is equal token for token; the metadata, parsed again, gives the same module.

    (TVM's metadata also lists the types of the constants, which their arrays have anyway.)
    """
    golden = GoldenFile.read(path)
    if name := missing(golden.before):
        pytest.skip(f"byoc_lab has no pass {name}")
    program, mark, _ = golden.text_before.partition("#[metadata]")
    printed = _printable(golden).astext(show_meta_data=bool(mark), exact=False, for_tvm=True)
    assert printed.partition("#[metadata]")[0].split() == program.split()
    if mark:
        found = difference(relay.parse(printed), golden.text_before)
        assert found is None, found


def _printable(golden: GoldenFile) -> tvm.IRModule:
    """The module of a printer's file.

    Parsing infers types, so modules without types are built instead.
    """
    if golden.before and golden.before[-1] not in UNTYPED_AFTER:
        return relay.parse(golden.text_before)
    module = cases.load(golden.case, tvm, relay, np)
    for step in golden.before:
        module = run(step, module)
    return module
