"""The golden files equal the oracle's results today; needs a TVM 0.16 (`make oracle`)."""

from __future__ import annotations

import pytest

from .client import Oracle
from .facts import networks, pass_calls
from .goldens.files import WRITER, all_golden_files, golden_name
from .goldens.plan import plan
from .write_golden import expected_files, main

pytestmark = pytest.mark.oracle


@pytest.mark.slow
def test_golden_files_equal_the_oracle_s_results() -> None:
    """For every tenth case of the plan, the files have the oracle's text; no other files exist.

    The oracle is pinned; writing all files again compares them all, and the tables of operators and
    graphs.
    """
    oracle = Oracle.find()
    assert oracle is not None
    entries = plan()
    cases = set(list(dict.fromkeys(entry.case for entry in entries))[::10])
    names = [entry.path for entry in entries if entry.case in cases]
    with oracle:
        expected = dict(expected_files(oracle, names))
    found = {golden_name(p): p.read_text(encoding="utf-8") for p in all_golden_files()}
    changed = sorted(name for name in expected if found.get(name) != expected[name])
    planned = [entry.path for entry in entries]
    stale = sorted(found.keys() - {*planned, *with_metadata(planned)})
    assert not changed and not stale, f"run `{WRITER}`: changed {changed}, stale {stale}"
    assert len(expected) >= len(names) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", [networks.FILE, pass_calls.FILE])
def test_tables_are_what_the_oracle_writes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--check"]) == 0, capsys.readouterr().out


def with_metadata(names: list[str]) -> list[str]:
    """The names of the files with metadata that may exist beside files of printed modules."""
    return [name.replace(".relay", "_metadata.relay") for name in names]


@pytest.mark.slow
def test_crash_is_a_result_and_the_oracle_continues() -> None:
    """An end of an end makes TVM recurse without limit; the next request still gets a result."""
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        crashed = oracle.run("annotations/M22", ["PartitionGraph"])[-1]
        assert crashed.error is not None
        assert (crashed.error.kind, crashed.error.message) == ("crash", "SIGSEGV")
        assert oracle.run("annotations/G1", ["PartitionGraph"])[-1].error is None


@pytest.mark.slow
def test_slow_request_is_a_timeout_and_the_oracle_continues() -> None:
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        late = oracle.run("networks.mobilenet", ["InferType"], timeout=0.001)[-1]
        assert late.error is not None and late.error.kind == "timeout"
        assert oracle.run("annotations/G1", ["InferType"])[-1].error is None


@pytest.mark.slow
def test_exception_is_a_result() -> None:
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        text = '#[version = "0.0.5"]\ndef @main(%x: float32) { nosuch(%x) }'
        (failed,) = oracle.run(text, ["InferType"])
        assert failed.step == -1 and failed.error is not None
        assert failed.error.kind == "DiagnosticError"
        assert "operator `nosuch` not found" in failed.error.message
