"""Command lines: real commands with missing, wrong, damaged or odd options and files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random as _random
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import byoc_lab
from byoc_lab import cli, relay
from tests.fuzz.examine import limited
from tests.fuzz.mutations import seeds, spoiled

COMMANDS = ["lint", "trace", "diff", "explain", "decode", "fix", "coverage", "rule", "recorder"]
COMMANDS += ["validate", "nothing", "", "--help", "-1"]
OPTIONS = ["--pipeline", "--backend", "--rules", "--ignore", "--format", "--target", "--call"]
OPTIONS += ["--changes", "--seed", "--inputs", "--detail", "--html", "--help", "--nothing", "--"]
VALUES = [
    "dnnl", "ccompiler", "json", "text", "sarif", "github", "operator", "BYL001", "all", "@main",
]  # fmt: skip
VALUES += ["", "0", "-1", "1e999", "9" * 50, "é\x1b[2J", "\udcff", "a" * 3_000, "%0", "nn.conv2d"]
VALUES += [
    "dnnl/../x",
    "FoldConstant,InferType",
    "[]",
    "{}",
    "nan",
    "-",
    "--",
    "*",
    "$(id)",
    "a\nb",
]
FILES = ["good.relay", "spoiled.relay", "good.byoc", "cut.byoc", "good.npz", "pickled.npz"]
FILES += ["bomb.npz", "bomb.byoc", "recording.jsonl", "text.onnx", "empty.relay", "empty.npz"]
FILES += ["missing.relay", "folder.relay", "locked.relay", "nul.txt", "zip.pt2", "none"]
BOMB = 1 << 28  # bytes of an unpacked bomb, a thousand times its file size
MARK = "fuzz_was_here"  # a file that no command may write


def make(random: _random.Random) -> bytes:
    """A seed of the damaged text, then the words of a command line."""
    words = [random.choice(COMMANDS)]
    for _ in range(random.choice([0, 1, 1, 2, 3, 5])):
        roll = random.random()
        if roll < 0.55:
            words.append(random.choice(FILES))
        elif roll < 0.8:
            words += [random.choice(OPTIONS), random.choice([*VALUES, *FILES])]
        else:
            words.append(random.choice(VALUES))
    return json.dumps([random.randrange(10**9), *words]).encode()


def examine(data: bytes) -> int:
    seed, *words = json.loads(data)
    said, complained = io.StringIO(), io.StringIO()
    with limited(), _folder(seed), contextlib.redirect_stdout(said):
        with contextlib.redirect_stderr(complained):
            try:
                code = cli.main(words)
            except SystemExit as stopped:  # argparse
                code = stopped.code
        assert not Path(MARK).exists(), "an argument was run"
    assert code in (cli.OK, cli.NO, cli.USAGE), code
    assert code != cli.USAGE or complained.getvalue(), "wrong usage without a message"
    assert "Traceback" not in complained.getvalue()
    assert "\x1b" not in said.getvalue() + complained.getvalue()
    return int(code != cli.USAGE)


@contextlib.contextmanager
def _folder(seed: int) -> Iterator[None]:
    """A working folder with the files that commands read."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        for file, content in _files().items():
            Path(name, file).write_bytes(content)
        text = spoiled(_random.Random(seed))
        Path(name, "spoiled.relay").write_text(text, errors="surrogatepass")
        Path(name, "folder.relay").mkdir()
        Path(name, "locked.relay").write_text("")
        Path(name, "locked.relay").chmod(0)
        os.chdir(name)
        try:
            yield
        finally:
            os.chdir(before)


class _Runs:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path(MARK).write_text, ("",))


@cache
def _files() -> dict[str, bytes]:
    mod = relay.parse(seeds()[0])
    with tempfile.TemporaryDirectory() as folder:
        trace = byoc_lab.trace(mod, "dnnl").save(Path(folder, "good.byoc")).read_bytes()
    head = {"format": "byoc_lab recording", "version": 2, "tvm": "0.16.0"}
    begin = {"event": "begin", "pass": "P", "time": 1.0, "module": seeds()[0]}
    return {
        "good.relay": seeds()[0].encode(),
        "good.byoc": trace,
        "cut.byoc": trace[: len(trace) // 2],
        "recording.jsonl": "\n".join(map(json.dumps, (head, begin))).encode(),
        "text.onnx": b"not a model",
        "zip.pt2": trace,
        "empty.relay": b"",
        "empty.npz": b"",
        "nul.txt": b"\0" * 1_000,
        "none": b"\xff\xfe",
        "good.npz": _arrays(np.ones((2, 3), np.float32)),
        "pickled.npz": _arrays(np.array([_Runs()], dtype=object)),
        "bomb.npz": _bomb("x.npy", _header(BOMB)),
        "bomb.byoc": _bomb("trace.json", b""),
    }


def _arrays(array: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.savez(made, x=array, data=array)
    return made.getvalue()


def _header(count: int) -> bytes:
    made = io.BytesIO()
    fields = {"descr": "|i1", "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(made, fields)
    return made.getvalue()


def _bomb(name: str, begin: bytes) -> bytes:
    """A zip file with one member of many zero bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as f:
        f.write(begin)
        for _ in range(BOMB >> 20):
            f.write(bytes(1 << 20))
    return made.getvalue()
