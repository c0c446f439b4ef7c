"""The outputs of a notebook as lines that are equal on every machine.

Times, kernels, and the last digits of numbers are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isclose
from typing import Any

from byoc_lab.run.stand_in import in_place_of

SENTENCES = [in_place_of(library) for library in ("DNNL", "TVM")]
MISSING = "which is missing here: "
TIMING = re.compile(r"[\d.]+ ms \(median of .*\)|not timed: .*")
TIME = re.compile(r"[\d.,]+ (?:us|ms|s)\b")
KERNEL = re.compile(
    r"\s*(?:(?:\S+ says: )?[\w.]+_\d+(?: \+ [\w.]+)*|layouts of its convolutions): \S.*"
)
RAN_ON = re.compile(r"ran on \w+(?: \(not on .*?\))?, \d+ calls?")
RATE = re.compile(
    r"(?:, T|, [\d.]+ GFLOP/s \(\d+% of matmul rate\))(?=,)|(?:[,;] largest error| nearest to).*"
)
WITHIN = re.compile(r": ok;.*")
REPORT = re.compile(r"name='([^']*)'|(?:wrong|nans|infinities)=\d+|missed=\(.*?\)")
NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+)")


def lines_of(outputs: list[Any]) -> list[str]:
    """The lines that a cell printed and displayed."""
    texts: list[str] = []
    streams: list[bool] = []
    for output in outputs:
        printed = output["output_type"] == "stream"
        text = output["text"] if printed else output.get("data", {}).get("text/plain", "")
        if printed and streams and streams[-1]:
            texts[-1] += text  # a stream is stored in pieces
        else:
            texts.append(text)
            streams.append(printed)
    return [line for text in texts for line in _lines(text)]


def _lines(text: str) -> Iterator[str]:
    if text.startswith("Report("):
        text = "\n".join(found.group() for found in REPORT.finditer(text))
    for line in text.splitlines():
        found = TIME.sub("T", TIMING.sub("TIMING", RAN_ON.sub("ran", line)))
        found = WITHIN.sub(": ok", RATE.sub("", found))
        for sentence in SENTENCES:
            found = found.replace(f"; regions are {sentence}", "")
        if not KERNEL.fullmatch(line) and not any(s in found for s in SENTENCES):
            yield " ".join(found.split())


def same(a: str, b: str) -> bool:
    """Whether two lines have equal words, and numbers that differ only by rounding."""
    ours, theirs = NUMBER.split(a), NUMBER.split(b)
    return len(ours) == len(theirs) and all(
        x == y if n % 2 == 0 else isclose(float(x), float(y), rel_tol=1e-3, abs_tol=1e-6)
        for n, (x, y) in enumerate(zip(ours, theirs, strict=True))
    )


def difference(native: list[str], elsewhere: list[str]) -> str:
    """The first line in which two lists differ; "" if there is none.

    If a cell on the other machine reports a missing requirement, only the lines that it has are
    compared.
    """
    missing = any(MISSING in line for line in elsewhere)
    said = [line for line in elsewhere if MISSING not in line]
    if missing:
        lost = [line for line in said if not any(same(line, other) for other in native)]
        return f"not on the native machine: {lost[0]}" if lost else ""
    for ours, theirs in zip(native, said, strict=False):
        if not same(ours, theirs):
            return f"native: {ours}\nelsewhere: {theirs}"
    if len(native) != len(said):
        longer = max(native, said, key=len)
        return (
            f"{len(native)} lines and {len(said)}; one has: {longer[min(len(native), len(said))]}"
        )
    return ""
