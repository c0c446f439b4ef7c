"""`decode` on messages of a real TVM 0.16: on malformed regions, and on other mistakes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from byoc_lab import decode, lint, relay
from tests.parity.client import Oracle, python_path

pytestmark = pytest.mark.oracle
CATALOGUE = Path(__file__).parents[2] / "parity" / "cases" / "annotations"
PARTITION = ["InferType", "PartitionGraph"]
MERGED = ["InferType", "MergeCompilerRegions", "PartitionGraph"]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    assert found is not None
    with found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(CATALOGUE.glob("M*.relay")), ids=lambda p: p.stem)
def test_error_on_malformed_regions_is_decoded_to_its_edge(oracle: Oracle, path: Path) -> None:
    mod = relay.parse_file(path)
    codes = {f.code for f in lint(mod)}
    for steps in (PARTITION, MERGED):
        error = next((r.error for r in oracle.run(path.read_text(), steps) if r.error), None)
        if error is None:
            continue
        found = decode(f"{error.kind}: {error.message}", mod)
        assert len(found) == 1, (error, str(found))
        assert found.edge is not None and found.rule in codes, str(found)
        assert found[0].place in str(found)


@pytest.mark.slow
def test_messages_of_the_oracle_are_decoded() -> None:
    program = Path(__file__).with_name("oracle_messages.py")
    done = subprocess.run(
        [python_path(), program], capture_output=True, text=True, check=True, timeout=900
    )
    said = dict(json.loads(line) for line in done.stdout.splitlines())
    assert len(said) >= 20
    for name, text in said.items():
        assert [m.name for m in decode(text)][:1] == [name], f"{name}: {text[-500:]}"
