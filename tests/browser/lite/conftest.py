"""The laboratory in one file, built once, and opened once in each process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import missing
from tests.once import once
from tools.lite.build import ONE_FILE, OUT
from tools.lite.build import main as build

from .laboratory import SECONDS, Laboratory


def _built(_: Path) -> str:
    """The reason why it cannot be built, or ""."""
    try:
        build()
    except subprocess.CalledProcessError as error:  # pip and npm fetch the ingredients
        return str(error)
    return ""


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := once(tmp_path_factory, "lite", _built):
        missing(f"the laboratory in one file cannot be built: {reason}")
    return OUT / ONE_FILE


@pytest.fixture(scope="session")
def lab(browser: Any, one_file: Path) -> Iterator[Laboratory]:
    """One page for all tests: to start Python takes most of the time."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(one_file.as_uri())
    yield Laboratory(page)
    context.close()
    assert errors == []
    assert [url for url in asked if not url.startswith("blob:")] == [one_file.as_uri()]


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    expect.set_options(timeout=SECONDS)
    yield
    expect.set_options(timeout=5_000)
