"""Fixtures of the browser tests. One browser and one JupyterLab serve the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.lab.view.states.state import trace_state
from tests.lab.view.samples import chain, mobilenet

from . import firefox as installed_firefox
from .chromium import driver as started_driver
from .chromium import launched
from .jupyterlab import JupyterLab
from .widget_page import NewPage

LITE = Path(__file__).parent / "lite"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reorders the tests: the laboratory in one file takes minutes to build.

    One file of its tests runs first and the others run last, so that no other process has to wait.
    """
    lite = dict.fromkeys(item.path for item in items if LITE in item.path.parents)
    last = set(list(lite)[1:])
    items.sort(key=lambda item: item.path in last)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    with started_driver() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(driver: Any) -> Iterator[Any]:
    with launched(driver) as running:
        yield running


@pytest.fixture(scope="session")
def firefox(driver: Any) -> Iterator[tuple[Any, Path]]:
    """Firefox, and the folder of its downloads."""
    with installed_firefox.launched(driver) as running:
        yield running


# Errors that JupyterLab logs when a kernel restarts, and Jupyter Notebook when it starts.
NOT_OURS = ("Canceled future", "(reading 'schema')", "Command 'filebrowser:open-path'")


def _hear(error: str, errors: list[str]) -> None:
    if not any(words in error for words in NOT_OURS):
        errors.append(error)


@pytest.fixture
def new_page(browser: Any) -> Iterator[NewPage]:
    """Makes pages; keyword arguments are playwright's (`color_scheme`, `viewport`, ...).

    An uncaught error of a page's script fails the test.
    """
    contexts: list[Any] = []
    errors: list[str] = []

    def make(**options: Any) -> Any:
        options.setdefault("viewport", {"width": 1400, "height": 900})
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: _hear(str(error), errors))
        return page

    yield make
    for context in contexts:
        context.close()
    assert errors == [], "errors on the page"


@pytest.fixture(scope="session")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """A JupyterLab server that serves the notebooks in `jupyterlab.root`."""
    root: Path = tmp_path_factory.mktemp("jupyterlab")
    with JupyterLab(root) as lab:
        yield lab


@pytest.fixture(scope="session")
def chain_state() -> dict[str, Any]:
    """The widget state for the trace of the annotated chain; must not be changed in place."""
    return trace_state(chain())


@pytest.fixture(scope="session")
def mobilenet_state() -> dict[str, Any]:
    """The widget state for MobileNet's trace; must not be changed in place."""
    return trace_state(mobilenet())


@pytest.fixture(scope="session")
def mobilenet_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with MobileNet's trace, which takes seconds to write."""
    return mobilenet().save_html(tmp_path_factory.mktemp("page") / "trace.html").as_uri()
