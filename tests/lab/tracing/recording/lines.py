"""Lines of recordings, for tests."""

from __future__ import annotations

import json
from pathlib import Path

HEAD = {"format": "byoc_lab recording", "version": 2, "tvm": "0.16", "python": "3.10"}
TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }'
OTHER = TEXT.replace("exp", "log")
FOREIGN = (
    "# from tvm.script import tir as T\n@T.prim_func\ndef main(x: T.handle):\n    T.evaluate(0)"
)


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def begin(name: str, text: str | None = TEXT, time: float = 1.0, **more: object) -> dict:
    """The line that begins a pass.

    text: the text of the module; None if the module is the previous one.
    """
    module = {"same": True} if text is None else {"module": text}
    return {"event": "begin", "pass": name, "time": time, **module, **more}


def end(name: str, text: str | None = None, time: float = 3.5) -> dict:
    module = {"same": True} if text is None else {"module": text}
    return {"event": "end", "pass": name, "time": time, **module}


def ran(name: str, *inner: dict, text: str | None = None, **more: object) -> list[dict]:
    """The lines of a pass that ran on the previous module. text: the result, None if unchanged."""
    return [begin(name, None, **more), *inner, end(name, text)]
