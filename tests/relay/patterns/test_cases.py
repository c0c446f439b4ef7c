"""Every case of `cases.py`: byoc_lab matches and partitions as TVM 0.16 does."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab import relay
from tests.parity.compare import difference
from tests.relay.patterns.cases import CASES, outcome
from tests.relay.patterns.expected_files import FOLDER, ask_tvm, read


def _agrees(name: str, theirs: dict[str, Any]) -> None:
    ours = outcome(CASES[name], relay, relay.dataflow_pattern, relay.parse)
    assert ours["matched"] == theirs["matched"]
    assert difference(ours["module"], theirs["text"]) is None


@pytest.mark.parametrize("name", CASES)
def test_pattern_case_agrees_with_the_golden_file(name: str) -> None:
    _agrees(name, read(name))


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.relay")} == set(CASES)


@pytest.fixture(scope="module")
def tvm_outcomes() -> dict[str, dict[str, Any]]:
    return ask_tvm()


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_pattern_case_agrees_with_tvm(name: str, tvm_outcomes: dict[str, dict[str, Any]]) -> None:
    _agrees(name, tvm_outcomes[name])


def test_partition_result_has_the_expected_text() -> None:
    mod = relay.parse(CASES["constant_embedded"].text)
    pattern = CASES["constant_embedded"].pattern(relay.dataflow_pattern, relay)
    moved = pattern.partition(mod["main"], {"Composite": "lib.double"})
    assert moved.body.astext(show_meta_data=False, header=False, show_types=False) == (
        "free_var %x: Tensor[(4, 4), float32];\n"
        '%0 = fn (%FunctionVar_0_0, PartitionedFromPattern="multiply_", Composite="lib.double") {\n'
        "  multiply(%FunctionVar_0_0, 2f)\n"
        "};\n"
        "%0(%x)"
    )
