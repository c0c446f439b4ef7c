"""Exit codes, options and module reading that several commands share."""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byoc_lab.errors import ArgumentError, InputError, UnknownLengthsError
from byoc_lab.files import ordinary_file
from byoc_lab.relay import IRModule, parse
from byoc_lab.relay.text.parser import MAX_CHARACTERS

if TYPE_CHECKING:
    from byoc_lab.importers.guessing import Guess
    from byoc_lab.lab.tracing import Trace

OK, NO, USAGE, INCONCLUSIVE = 0, 1, 2, 3
"""Success; a negative result (findings, differences, a pass that failed); wrong usage; no result,
because nothing could be run."""

STANDARD_INPUT, STDIN = "-", "<stdin>"
"""The argument for standard input, and its name in source locations."""
INPUT = (
    "a network: an ONNX file (.onnx), a program that torch.export saved (.pt2, which runs code "
    "when it is opened), Relay text (.relay, .txt) or TVMScript of a Relax module (.py; TVM's "
    "parser evaluates the class with @I.ir_module as code, and apache-tvm must be installed); a "
    "saved trace, or a recording that tvm_recorder.py made in a real TVM, for the module that it "
    "began with; or - for Relay text from standard input"
)
MAX_UNPACKED = 1 << 32  # maximum size of unpacked arrays, in bytes
DEFAULT_PIPELINE = "dnnl"
PIPELINE = (
    f"the name of the pipeline (default: {DEFAULT_PIPELINE}); for a Relax module also a name that "
    "relax.get_pipeline knows, or the name of a pass, such as LegalizeOps. Without it a saved "
    "trace or recording is shown as it is; with it the pipeline runs on the module that it "
    "began with"
)
INPUTS = "an array for each parameter, by its name, as numpy.savez writes them"


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Add --import, code to run before the command."""
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE_OR_FILE.py",
        help="Python code to run first, which registers back ends, importers or pipelines; "
        "repeatable. Back ends of installed packages need no --import",
    )


def configure_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that reads a model: code to import first, and shapes and
    values of inputs."""
    configure_import(parser)
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1,3,224,224",
        help="an input's shape, or a named dimension size of an ONNX model (batch=1); repeatable",
    )
    parser.add_argument(
        "--freeze",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an input, which becomes a constant: a number, several separated by "
        "commas, true or false, or a file of numpy.save (.npy); repeatable",
    )


def configure_model(parser: argparse.ArgumentParser) -> None:
    """Add the options of `configure_inputs` and the argument MODEL."""
    configure_inputs(parser)
    parser.add_argument("model", metavar="MODEL", help=INPUT)


def configure_run(parser: argparse.ArgumentParser, without: str, seed: str) -> None:
    """Add MODEL, its pipeline and its inputs. without: the default inputs, in words. seed: the use
    of --seed, in words."""
    configure_model(parser)
    parser.add_argument(
        "--pipeline", default="dnnl", help="the name of the pipeline (default: dnnl)"
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="FILE.npz", help=f"{INPUTS}; without it {without}"
    )
    parser.add_argument("--seed", type=int, default=0, help=f"of {seed} (default: 0)")


def configure_target(parser: argparse.ArgumentParser) -> None:
    """Add --target, the back end of the regions, and --pipeline, the passes that will run on the
    module."""
    parser.add_argument(
        "--target",
        "--backend",
        dest="target",
        help="the name of the back end that gets the regions",
    )
    parser.add_argument("--pipeline", help="the name of the pipeline that will run on the module")


def configure_format(parser: argparse.ArgumentParser, about: str = "") -> None:
    """Add --format, text or the JSON that `output.schema.json` describes. about: its help."""
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help=about or "(default: text)"
    )


def configure_min_coverage(parser: argparse.ArgumentParser) -> None:
    """Add --min-coverage, whose value `min_coverage` reads."""
    parser.add_argument(
        "--min-coverage",
        type=float,
        metavar="PERCENT",
        help="exit with 1 if a back end computes less than this share",
    )


def min_coverage(options: argparse.Namespace) -> float | None:
    """The percentage of --min-coverage; None without it. Raises ArgumentError."""
    least: float | None = options.min_coverage
    if least is not None and not 0 <= least <= 100:
        raise ArgumentError(f"--min-coverage must be a percentage from 0 to 100, found {least:g}")
    return least


def judged_share(
    backend: str, share: float, least: float, what: str, hint: str = "byoc-lab explain says why"
) -> int:
    """The exit code for a back end that computes this share (0 to 1), if `least` percent are
    required; writes the reason to standard error. hint: a way to find the cause."""
    if 100 * share >= least:
        return OK
    told = (
        f"{backend} computes {100 * share:.4g} % of the {what}, less than --min-coverage {least:g}"
    )
    print(f"byoc-lab: {told}; {hint}", file=sys.stderr)
    return NO


def read_module(name: str, options: argparse.Namespace, known: bool = False) -> IRModule:
    """The module of a file, the initial module of a saved trace, or the module on standard input
    for "-"; with the shapes and values of inputs from the options. known: whether all sizes of its
    inputs must be known.

    Raises ParseError, ImporterError, TraceFileError, ArgumentError and OSError; UnknownLengthsError
    if a size is not known but must be.
    """
    from byoc_lab.importers import load
    from byoc_lab.importers.given import inputs_of, with_given
    from byoc_lab.importers.registry import guess_inputs

    shape = {n: _lengths(n, text) for n, text in _pairs("--shape", options.shape)}
    freeze = {n: _value(n, text) for n, text in _pairs("--freeze", options.freeze)}
    whole = None
    if name == STANDARD_INPUT:
        whole = parse(read_text(name), STDIN)
    elif (saved := read_trace(name)) is not None:
        whole = saved.initial
    mod = load(Path(name), shape, freeze)[0] if whole is None else with_given(whole, shape, freeze)
    if known and "main" in mod and any(None in (i.lengths or ()) for i in inputs_of(mod)):
        path = Path(name) if whole is None else None
        raise _unknown_lengths(guess_inputs(mod, path, shape, freeze))
    return mod


def _unknown_lengths(guess: Guess) -> UnknownLengthsError:
    return UnknownLengthsError(
        f"the inputs {', '.join(guess.shape):.200} have unknown dimension sizes, so no values can "
        f"be generated: give inputs, or their shapes by --shape, such as {guess.told}",
        guess.shape,
        guess.freeze,
    )


def given_options(shape: Mapping[str, Sequence[int]], freeze: Mapping[str, Any]) -> list[str]:
    """Shapes and values of inputs, written as options of the command line."""
    words = []
    for name, lengths in shape.items():
        words += ["--shape", f"{name}={','.join(map(str, lengths))}"]
    for name, value in freeze.items():
        words += ["--freeze", f"{name}={str(value).lower()}"]
    return words


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """Names and texts of options like NAME=TEXT; the name may contain an equals sign."""
    pairs = [tuple(part.rpartition("=")[::2]) for part in given]
    for text, (name, value) in zip(given, pairs, strict=True):
        if not name or not value:
            raise ArgumentError(f"{option} expects NAME=..., found {text!r:.80}")
    names = [name for name, _ in pairs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ArgumentError(f"{option} gives {twice!r} twice; give each name once")
    return [(name, value) for name, value in pairs]


def _lengths(name: str, text: str) -> tuple[int, ...]:
    parts = text.removesuffix(",").split(",")
    if not all(p.strip().isdecimal() for p in parts):
        raise ArgumentError(
            f"--shape {name}: dimension sizes must be integers separated by commas, found "
            f"{text!r:.80}"
        )
    return tuple(int(p) for p in parts)


def _value(name: str, text: str) -> Any:
    import numpy as np

    if text.endswith(".npy"):
        try:
            return np.load(ordinary_file(Path(text)), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{text} is not an array of numpy.save: {error!s:.200}") from error
    words = {"true": True, "false": False}
    try:
        parts = [words.get(p.strip().lower(), p) for p in text.split(",")]
        found = [p if isinstance(p, bool) else _number(p) for p in parts]
    except ValueError:
        raise ArgumentError(
            f"--freeze {name}: expected numbers separated by commas, true, false or a .npy file, "
            f"found {text!r:.80}"
        ) from None
    return np.asarray(found if len(found) > 1 else found[0])


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def read_text(name: str) -> str:
    """The text of a file, or of standard input for "-", up to the maximum size of a text. Raises
    OSError."""
    if name == STANDARD_INPUT:
        return sys.stdin.read(MAX_CHARACTERS + 1)
    with Path(name).open(encoding="utf-8", errors="replace") as file:
        return file.read(MAX_CHARACTERS + 1)


def read_trace(name: str) -> Trace | None:
    """The trace of a file; None if the file is not a saved trace. Raises TraceFileError."""
    path = Path(name)
    if name == STANDARD_INPUT or not path.is_file():
        return None
    from byoc_lab import load_trace
    from byoc_lab.lab.tracing.recording import is_recording
    from byoc_lab.lab.tracing.saving import TRACE

    if is_recording(path):
        return load_trace(path)
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        if TRACE not in archive.namelist():
            return None
    return load_trace(path)


def recorded_trace(
    name: str,
    pipeline: str | None,
    options: argparse.Namespace,
    progress: Callable[[str], object],
    title: str = "",
) -> Trace:
    """A saved trace or recording unchanged, if no pipeline is named; otherwise a new trace with
    this title.

    Raises the errors of `read_module` and `trace`, and ArgumentError if shapes or values are given
    for a saved trace.
    """
    from byoc_lab import trace

    progress(f"reading {name}")
    saved = read_trace(name) if pipeline is None else None
    if saved is not None and (options.shape or options.freeze):
        raise ArgumentError(
            f"{name} is a saved trace, whose stages have their shapes already; name a "
            "--pipeline to run its first module with other shapes"
        )
    if saved is not None:
        return saved
    mod = read_module(name, options)
    running = DEFAULT_PIPELINE if pipeline is None else pipeline
    return trace(mod, running, title=title, progress=lambda stage: progress(f"running {stage}"))


def read_once(*names: str) -> None:
    """Raise ArgumentError if more than one of the names is standard input."""
    if names.count(STANDARD_INPUT) > 1:
        raise ArgumentError("standard input (-) can be read once; name a file for the other module")


def read_arrays(path: Path) -> Mapping[str, Any]:
    """The arrays of an .npz file. Raises InputError for an invalid file or one that unpacks to more
    than MAX_UNPACKED, and OSError."""
    import numpy as np

    ordinary_file(path).open("rb").close()  # later OSErrors come from the contents
    try:
        with zipfile.ZipFile(path) as packed:
            sizes = [i.file_size for i in packed.infolist() if i.compress_type != 0]
        if sum(sizes) > MAX_UNPACKED:
            raise InputError(
                f"{path} has {sum(sizes):,} bytes when it is unpacked, more than {MAX_UNPACKED:,}; "
                f"numpy.savez writes files that are not packed"
            )
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen classes for damaged files
        message = f"{path} is not a file of named arrays, as numpy.savez writes: {error!s:.200}"
        raise InputError(message) from error
