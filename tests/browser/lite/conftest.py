"""Fixtures: the laboratory in one file, built once, and opened once in each process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import missing
from tests.once import once
from tools.lite.build import ONE_FILE, OUT
from tools.lite.build import main as build

from .laboratory import SECONDS, Laboratory

BESIDE = ("python.bin", "files.bin")
PLACES = {
    "lab": ("chromium-file", "firefox-http"),
    "tab": ("chromium-http", "firefox-file"),
}
"""By fixture: the browser and protocol of every run, then the ones added in slow runs."""
PROVOKED = ("http://127.0.0.1:9/", "script-src-attr")
"""Words in the policy violations that tests provoke; Firefox reports violations as errors."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--where",
        choices=sorted(where for places in PLACES.values() for where in places),
        help="run each test of the laboratory in one file with this browser and protocol",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrizes fixtures with the browsers in the test module's WHERE, or in PLACES by
    default."""
    where = metafunc.config.getoption("--where", None)
    for fixture, places in getattr(metafunc.module, "WHERE", PLACES).items():
        if fixture in metafunc.fixturenames:
            usual, *others = (where,) if where else places
            slow = [pytest.param(other, marks=pytest.mark.slow) for other in others]
            metafunc.parametrize(fixture, [usual, *slow], indirect=True)


def _built(_: Path) -> str:
    """The reason why the page cannot be built, or ""."""
    try:
        build()
    except subprocess.CalledProcessError as error:  # pip and npm download the ingredients
        return str(error)
    return ""


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := once(tmp_path_factory, "lite", _built):
        missing(f"the laboratory in one file cannot be built: {reason}")
    return OUT / ONE_FILE


class Quiet(SimpleHTTPRequestHandler):
    """The handler of `python -m http.server`, without its log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(one_file: Path) -> Iterator[str]:
    """The address of the static site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(one_file.parent)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


Tab = Callable[[], Laboratory]


@contextmanager
def opened(
    request: pytest.FixtureRequest, browser: str, one_file: Path, site: str
) -> Iterator[Tab]:
    """Opens tabs of one window, in a browser and protocol such as "chromium-file" or
    "firefox-http".

    At the end, no tab may have shown an error or requested anything besides the page.
    """
    kind, _, place = browser.partition("-")
    downloads = None
    if kind == "firefox":
        running, downloads = request.getfixturevalue("firefox")
    else:
        running = request.getfixturevalue("browser")
    address = one_file.as_uri() if place == "file" else site
    beside = [f"{site}{name}" for name in BESIDE] if place == "http" else []
    errors: list[str] = []
    asked: list[str] = []
    context = running.new_context(viewport={"width": 1400, "height": 900})
    context.set_offline(place == "file")
    context.on("request", lambda request: asked.append(request.url))

    def tab() -> Laboratory:
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return Laboratory(page, downloads)

    yield tab
    context.close()
    assert [error for error in errors if not any(words in error for words in PROVOKED)] == []
    assert {url for url in asked if not url.startswith("blob:")} <= {address, *beside}


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest, one_file: Path, site: str) -> Iterator[Laboratory]:
    """One page for all tests, because starting Python takes most of the time."""
    with opened(request, request.param, one_file, site) as tab:
        yield tab()


@pytest.fixture
def tab(request: pytest.FixtureRequest, one_file: Path, site: str) -> Iterator[Tab]:
    """Opens tabs of a new window, not `lab`'s."""
    with opened(request, request.param, one_file, site) as tab:
        yield tab


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    expect.set_options(timeout=SECONDS)
    yield
    expect.set_options(timeout=5_000)
