"""`tvm.testing.plugin`: the fixtures `target` and `dev`, and `tvm.testing.parameters`."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.compat.runtime.nd import cpu
from byoc_lab.compat.testing.testing import GROUP, TARGET


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Any:
    """The target to compile for."""
    return getattr(request, "param", TARGET)


@pytest.fixture
def dev() -> Any:
    """The device that `target` names."""
    return cpu()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test by the columns of each `tvm.testing.parameters` it uses, row by row."""
    groups: dict[int, dict[str, tuple[list[Any], Any]]] = {}
    for name in metafunc.fixturenames:
        definitions = metafunc._arg2fixturedefs.get(name, ())
        if definitions and hasattr(definitions[-1].func, GROUP):
            group, values, ids = getattr(definitions[-1].func, GROUP)
            groups.setdefault(group, {})[name] = (values, ids)
    for columns in groups.values():
        names = list(columns)
        ids = next(iter(columns.values()))[1]
        rows = list(zip(*(values for values, _ in columns.values()), strict=True))
        metafunc.parametrize(names, rows, indirect=True, ids=ids)


__all__ = ["dev", "pytest_generate_tests", "target"]
