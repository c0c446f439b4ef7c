"""The modules that TVM 0.16's importer makes of the test models: `python -m
tests.importers.onnx.golden`.

Runs the oracle and writes `golden/<model>.relay`, its module, and `golden/light.json`: digests of
the modules for the networks in the onnx package. `--check` writes nothing and prints what would
change.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from byoc_lab import relay
from byoc_lab.relay.ir.visit import post_order
from tests.parity.client import python_path, skip_reason

from .models import MODELS, save

FOLDER = Path(__file__).parent / "golden"
LIGHT = FOLDER / "light.json"
SCRIPT = Path(__file__).parent / "oracle_import.py"
# The oracle's importer raises a TypeError for these models.
REFUSED = {"qlinear_conv"}


def package_data(folder: str) -> Path | None:
    """A folder of test data of onnx 1.14.1, which is installed in the oracle's environment."""
    if skip_reason() is not None:
        return None
    found = python_path().parent.parent.glob(
        f"lib/python*/site-packages/onnx/backend/test/data/{folder}"
    )
    return next(iter(found), None)


def light_networks() -> dict[str, Path]:
    """The networks in the onnx package, by name."""
    folder = package_data("light")
    return (
        {p.stem.removeprefix("light_"): p for p in sorted(folder.glob("*.onnx"))} if folder else {}
    )


def ask(models: Mapping[str, tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    """Runs the oracle's importer on files, with arguments: see `oracle_import`."""
    request = {name: [str(path), arguments] for name, (path, arguments) in models.items()}
    done = subprocess.run(
        [str(python_path()), str(SCRIPT)],
        input=json.dumps(request),
        check=True,
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),  # TVM leaves cache folders in its working folder
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines(text: str) -> list[str]:
    """The lines of a module's text without comments and without leading and trailing spaces."""
    bare = re.sub(r"\s*/\*.*?\*/|^#[^\n]*", "", text, flags=re.S | re.M)
    return [line.rstrip() for line in bare.splitlines() if line.strip()]


def digest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def shown(text: str, constants: Iterable[Any]) -> str:
    """A module's text without types, then the shape, type and digest of each constant.

    The text alone shows only six digits of scalars, and no elements of tensors.
    """
    listed = (f"// {tuple(shape)} {dtype} {value}" for shape, dtype, value in constants)
    return "\n".join([*lines(text), *listed]) + "\n"


def shown_module(mod: relay.IRModule) -> str:
    """A module of byoc_lab in the form of `shown`."""
    return shown(mod.astext(show_meta_data=False), constants_of(mod))


def constants_of(mod: relay.IRModule) -> list[Any]:
    """Shape, type and digest of each constant, in the oracle's order."""
    arrays = [n.numpy() for n in post_order(mod["main"]) if isinstance(n, relay.Constant)]
    return [
        [list(a.shape), str(a.dtype), hashlib.sha256(a.tobytes()).hexdigest()[:10]] for a in arrays
    ]


def expected(folder: Path) -> dict[str, str]:
    """The text of each golden file, from the oracle; models are saved in `folder`."""
    files = {}
    for name, build in MODELS.items():
        save(build(), folder / f"{name}.onnx")
        files[name] = (folder / f"{name}.onnx", {})
    found = ask(files)
    refused = {name for name, result in found.items() if "error" in result}
    assert refused == REFUSED, {name: found[name] for name in refused}
    texts = {
        f"{n}.relay": shown(r["text"], r["constants"]) for n, r in found.items() if n not in refused
    }
    light = ask({name: (path, {}) for name, path in light_networks().items()})
    table = {name: digest(shown(r["text"], r["constants"])) for name, r in light.items()}
    return {**texts, LIGHT.name: json.dumps(table, indent=1) + "\n"}


def main(arguments: list[str]) -> int:
    reason = skip_reason() or (None if light_networks() else "onnx 1.14.1 is not installed there")
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        found = expected(Path(folder))
    stored = {p.name: p.read_text(encoding="utf-8") for p in FOLDER.glob("*.*")}
    changed = sorted(n for n in {**stored, **found} if stored.get(n) != found.get(n))
    if "--check" in arguments:
        print("\n".join(changed) or f"all {len(found)} files are up to date")
        return 1 if changed else 0
    for name in changed:
        path = FOLDER / name
        path.write_text(found[name], encoding="utf-8") if name in found else path.unlink()
    print(f"{len(found)} files, {len(changed)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
