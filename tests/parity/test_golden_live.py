"""The golden files are what the oracle writes today; needs a TVM 0.16 (`make oracle`)."""

from __future__ import annotations

import pytest

from .client import Oracle, skip_reason
from .goldens.files import WRITER, all_golden_files, golden_name, golden_path
from .write_golden import TABLES, expected_files

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(skip_reason() is not None, reason=str(skip_reason())),
]


@pytest.mark.slow
def test_golden_files_are_what_the_oracle_writes() -> None:
    """Every file of the plan is there with the oracle's text, and there is no other."""
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        expected = dict(expected_files(oracle))
    paths = [*all_golden_files(), *map(golden_path, TABLES)]
    found = {golden_name(p): p.read_text(encoding="utf-8") for p in paths}
    changed = sorted(name for name in expected if found.get(name) != expected[name])
    stale = sorted(found.keys() - expected.keys())
    assert not changed and not stale, f"run `{WRITER}`: changed {changed}, stale {stale}"


@pytest.mark.slow
def test_a_crash_is_a_result_and_the_oracle_goes_on() -> None:
    """An end on an end sends TVM into unbounded recursion; the next request is answered."""
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        crashed = oracle.run("annotations/M22", ["PartitionGraph"])[-1]
        assert crashed.error is not None
        assert (crashed.error.kind, crashed.error.message) == ("crash", "SIGSEGV")
        assert oracle.run("annotations/G1", ["PartitionGraph"])[-1].error is None


@pytest.mark.slow
def test_a_slow_answer_is_a_timeout_and_the_oracle_goes_on() -> None:
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        late = oracle.run("networks.mobilenet", ["InferType"], timeout=0.001)[-1]
        assert late.error is not None and late.error.kind == "timeout"
        assert oracle.run("annotations/G1", ["InferType"])[-1].error is None


def test_an_exception_is_a_result() -> None:
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        text = '#[version = "0.0.5"]\ndef @main(%x: float32) { nosuch(%x) }'
        (failed,) = oracle.run(text, ["InferType"])
        assert failed.step == -1 and failed.error is not None
        assert failed.error.kind == "DiagnosticError"
        assert "operator `nosuch` not found" in failed.error.message
