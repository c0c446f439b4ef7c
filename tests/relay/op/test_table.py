"""docs/operators.md is generated from the definitions and up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from byoc_lab.relay import Op

TOOL = Path(__file__).parents[3] / "tools" / "operator_table.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("operator_table", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_file_is_up_to_date(tool: ModuleType) -> None:
    written = tool.TARGET.read_text(encoding="utf-8")
    assert written == tool.table(), "run make generate"


def test_every_operator_has_a_row_and_every_attribute_a_place(tool: ModuleType) -> None:
    rows = {
        line.split("(")[0][4:]: line for line in tool.table().splitlines() if line[:4] == "| [`"
    }
    defined = [name for name in Op.list_op_names() if not name.startswith("test.")]
    assert sorted(rows) == sorted(defined)
    for name in defined:
        attrs = Op.get(name).definition.attrs
        for field in attrs.fields if attrs else ():
            assert f"`{field.name}" in rows[name] and field.doc


def test_check_fails_for_an_outdated_file(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "TARGET", tmp_path / "operators.md")
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


def test_operator_of_an_unknown_family_is_named(tool: ModuleType) -> None:
    with pytest.raises(KeyError, match=r"sound\.echo: add a title for prefix 'sound'"):
        tool._family("sound.echo")
