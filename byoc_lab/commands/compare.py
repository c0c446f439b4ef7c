"""show two traces side by side: their first difference, and the operators that moved"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byoc_lab.commands.shared import (
    DEFAULT_PIPELINE,
    INPUT,
    NO,
    OK,
    PIPELINE,
    configure_format,
    configure_inputs,
    read_once,
    recorded_trace,
)
from byoc_lab.errors import ArgumentError
from byoc_lab.output import to_json
from byoc_lab.terminal import ProgressLine

if TYPE_CHECKING:
    from byoc_lab.lab.comparing import Comparison, Place


def configure(parser: argparse.ArgumentParser) -> None:
    configure_inputs(parser)
    parser.add_argument("first", metavar="A", help=INPUT)
    parser.add_argument("second", metavar="B", nargs="?", help="like A (default: A)")
    parser.add_argument(
        "--pipeline",
        action="append",
        default=[],
        help=f"{PIPELINE}. Given twice, it names the pipeline of A, then the pipeline of B",
    )
    configure_format(parser)
    parser.add_argument("--html", type=Path, help="write both traces as one HTML file")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 if a stage differs, else 0."""
    names = options.first, options.first if options.second is None else options.second
    pipelines = _pipelines(options)
    read_once(*names)
    with ProgressLine() as progress:
        from byoc_lab.lab.comparing import compare

        traces = [
            recorded_trace(name, pipeline, options, progress, title=_title(name, pipeline))
            for name, pipeline in zip(names, pipelines, strict=True)
        ]
        progress("comparing")
        made = compare(*traces)
        shown = to_json("trace_comparison", _data(made)) if options.format == "json" else str(made)
        if options.html:
            progress("writing")
        page = made.save_html(options.html) if options.html else None
    print(shown)
    if page is not None and options.format == "text":
        print(f"written: {page}")
    return NO if made else OK


def _pipelines(options: argparse.Namespace) -> tuple[str | None, str | None]:
    given: list[str] = options.pipeline
    if len(given) > 2:
        raise ArgumentError(
            f"compare takes --pipeline once, for A and B, or twice; found {len(given)}"
        )
    if options.second is None and len(set(given)) < 2:
        raise ArgumentError(
            f"{options.first} would be compared with itself; name B, or two different --pipeline"
        )
    if not given:
        return None, None
    return given[0], given[-1]


def _title(name: str, pipeline: str | None) -> str:
    return f"{Path(name).name}, {pipeline or DEFAULT_PIPELINE}"


def _data(made: Comparison) -> dict[str, Any]:
    start = made.first_difference
    return {
        "titles": list(made.titles),
        "equal": not made,
        "summary": made.summary,
        "first_difference": None if start is None else made.pairs.index(start),
        "stages": [
            {
                "name": pair.name,
                "only_in": pair.only_in,
                "differs": pair.differs,
                "summary": pair.summary,
                "moved": len(pair.moved),
            }
            for pair in made.pairs
        ],
        "moved": [
            {"operator": m.operator, "source": _place(m.source), "target": _place(m.target)}
            for m in made.moved
        ],
    }


def _place(place: Place) -> dict[str, str]:
    return {"back_end": place.back_end, "region": place.region}
