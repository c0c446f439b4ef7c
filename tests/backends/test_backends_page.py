"""The code blocks of docs/backends.md run in order, and the names on the page exist."""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import backends
from tests.compilers import needs_cc

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@needs_cc
def test_code_blocks_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    printed = []
    with_tvm = find_spec("tvm") is not None
    try:
        for block in blocks():
            if "import tvm" in block and not with_tvm:
                continue
            exec(compile(block, str(PAGE), "exec"), names)
            printed.append(capsys.readouterr().out)
    finally:
        backends.unregister("mychip")
    assert len(printed) == 3 + 2 * with_tvm and "crashed its process (SIGSEGV)" in printed[1]
    assert names["report"].ok and "mychip_main_0: ok" in printed[2]
    if with_tvm:
        assert printed[3].startswith("('nn.bias_add',)\n5 of 5 calls offloaded to mychip")
        assert printed[4].count("operators offloaded        2 of 3        1 of 3") == 2


def test_names_on_the_page_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"`backends\.(\w+)", text):
        assert name in backends.__all__, name
    header = (backends.HEADERS / "tensor_argument.h").read_text(encoding="utf-8")
    for function in ("argument_count", "tensor_argument", "out_of_memory"):
        assert f"- `{function}(" in text and f" {function}(" in header
    stated = re.search(r"`backends\.c_library\((.*?)\)`", text)
    assert stated is not None
    parameters = [name.partition("=")[0] for name in re.findall(r"\w+(?:=\S+)?", stated[1])]
    assert [p for p in parameters if p] == list(inspect.signature(backends.c_library).parameters)
