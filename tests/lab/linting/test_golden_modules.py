"""The linter on modules that a real TVM 0.16 produced: only malformed modules have findings."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.module import IRModule
from tests.parity.goldens.files import GoldenFile, all_golden_files, golden_name

MALFORMED = {
    "annotations_M": {f"BYL{n:03}" for n in range(1, 15)},
    "annotatable_chain_of_four_again": {"BYL006"},  # annotated twice
    "annotatable_let": {"BYL004"},  # the begin that TVM inserts on the value of a let
    "tagged_calls_lets": {"BYL004"},
    "conv_bn_relu": {"BYL001", "BYL015"},  # the annotators of the threads of 2020
    "annotations_G13": {"BYL024"},  # a region of constants only
    "functions_external": {"BYL024"},  # an external function that computes with constants only
    "outlining_same_symbol": {"BYL019"},
    # Functions that return a parameter or a field of a parameter: TVM also annotates tuple fields.
    "annotatable_concatenated": {"BYL011"},
    "annotatable_projections_unmerged": {"BYL011"},
    "annotatable_tuple_result": {"BYL011"},
    "networks_squeezenet_constants": {"BYL011"},  # annotated by cuDNN's table
}
"""Prefix of the names of golden files -> the codes of the findings in these files."""
TOLD: list[dict[str, str]] = [
    {"backend": "dnnl"}, {"pipeline": "dnnl", "backend": "dnnl"}, {"pipeline": "ccompiler"},
]  # fmt: skip
FILES = all_golden_files()


def _modules(path: Path) -> list[IRModule]:
    golden = GoldenFile.read(path)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in (golden.text_before, golden.text_after):
            try:
                found.append(relay.parse(text or ""))
            except ByocLabError:
                continue  # TVM 0.16 cannot read this text either, or the text is an error message
    return found


def _expected(path: Path) -> set[str]:
    return {c for name, codes in MALFORMED.items() if path.stem.startswith(name) for c in codes}


def _check(files: list[Path]) -> None:
    wrong = []
    count = 0
    for path in files:
        for mod in _modules(path):
            count += 1
            codes = {f.code for f in lint(mod)} - _expected(path)
            wrong += [f"{golden_name(path)}: {codes}"] if codes else []
    assert count > len(files) and not wrong, "\n".join(wrong)


def test_only_malformed_modules_have_findings() -> None:
    _check(FILES[::4])


@pytest.mark.slow
def test_only_malformed_modules_have_findings_in_all_files() -> None:
    _check(FILES)


@pytest.mark.slow
def test_linter_never_raises_for_any_arguments() -> None:
    for n, path in enumerate(FILES):
        for mod in _modules(path):
            lint(mod, **TOLD[n % len(TOLD)])  # type: ignore[arg-type]
