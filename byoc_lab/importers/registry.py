"""The table of importers: the function that reads each kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import (
    ArgumentError,
    ByocLabError,
    DuplicateNameError,
    ImporterError,
    UnreadableFileError,
    nearest,
)
from byoc_lab.files import ordinary_file, path_of
from byoc_lab.importers.given import Shapes, Values, with_given
from byoc_lab.importers.guessing import Guess, guess_of_module
from byoc_lab.relay.ir.module import IRModule

Params = dict[str, np.ndarray]
Function = Callable[..., tuple[IRModule, Params]]
Guessing = Callable[[Path, "Shapes | None", "Values | None"], Guess]


@dataclass(frozen=True)
class Importer:
    """A registered importer: `function(path)` returns a module and its parameters; with
    `with_shapes`, `function(path, shape, freeze)`. `guess(path, shape, freeze)` finds shapes and
    values of inputs with which a file can be imported."""

    name: str
    suffixes: tuple[str, ...]
    function: Function
    with_shapes: bool = False
    guess: Guessing | None = None


_importers: dict[str, Importer] = {}


def register(
    suffixes: str | Iterable[str],
    function: Function,
    name: str,
    with_shapes: bool = False,
    guess: Guessing | None = None,
) -> Importer:
    """Let `load` read files with these suffixes.

    suffixes: one or several, each with its dot; case is ignored. function: `function(path)`
    returns `(mod, params)`: a module, and a dict from the names of parameters of its @main to
    NumPy arrays. name: of the importer in messages; registering a name again replaces the importer.
    with_shapes: the signature is `function(path, shape, freeze)`, because the function needs shapes
    and values of inputs during the import; otherwise they are applied to the imported module.
    guess: `guess(path, shape, freeze)` finds shapes and values for inputs with unknown sizes; by
    default, shapes are tried on the imported module.

    Raises ArgumentError for a malformed suffix, DuplicateNameError for a suffix that another
    importer reads.
    """
    wanted = [suffixes] if isinstance(suffixes, str) else list(suffixes)
    for suffix in wanted:
        if not isinstance(suffix, str) or not suffix.startswith(".") or len(suffix) < 2:
            raise ArgumentError(
                f"importer {name!r}: a suffix must be a str that begins with a dot, such as "
                f"'.onnx', found {suffix!r:.80}"
            )
    if not wanted or not callable(function):
        raise ArgumentError(
            f"importer {name!r} needs at least one suffix and a function of a path, found "
            f"suffixes {wanted!r:.80} and {type(function).__name__}"
        )
    importer = Importer(name, tuple(s.lower() for s in wanted), function, with_shapes, guess)
    for suffix in importer.suffixes:
        owner = _reader_of(suffix)
        if owner is not None and owner.name != name:
            raise DuplicateNameError(
                f"importer {name!r}: files that end in {suffix!r} are already read by importer "
                f"{owner.name!r}; choose another suffix, or register under the name "
                f"{owner.name!r} to replace that importer"
            )
    _importers[name] = importer
    return importer


def importers() -> tuple[Importer, ...]:
    """The registered importers, by name."""
    return tuple(_importers[name] for name in sorted(_importers))


def load(
    path: str | PathLike[str], shape: Shapes | None = None, freeze: Values | None = None
) -> tuple[IRModule, Params]:
    """Import a file with the importer registered for its suffix: its module and parameters.

    shape: shapes of inputs by name, or sizes by the symbolic names of an ONNX model ({"batch": 1}).
    freeze: values of inputs by name: these inputs become constants.

    ONNX and Relay text are data. A .pt2 and a .py file are programs: PyTorch runs code of a .pt2
    file when it opens the file; TVM's parser evaluates expressions of a .py file. Open such files
    only if you trust their author.

    Raises ArgumentError if `path` is not a path, ImporterError if no importer reads such files or
    the importer's result is malformed, UnreadableFileError if the file cannot be opened, and the
    importer's own errors about the contents (ParseError for Relay text).
    """
    path = path_of(path)
    importer = _reader_of(path.suffix.lower())
    try:
        ordinary_file(path)
        if importer is None:
            raise ImporterError(_unknown_suffix(path))
        if importer.with_shapes:
            return _checked(importer.function(path, shape, freeze), importer, path)
        mod, params = _checked(importer.function(path), importer, path)
    except ByocLabError:
        raise
    except OSError as error:
        raise UnreadableFileError(
            f"cannot read {str(path)!r}: {error.strerror or error}; check the path and its "
            "permissions"
        ) from error
    return with_given(mod, shape, freeze), params


def guess_inputs(mod: IRModule, path: Path | None, shape: Shapes, freeze: Values) -> Guess:
    """Find shapes of inputs, and values that select branches, with which all sizes in a module
    become known.

    path: the file that the module was read from with `shape` and `freeze`; None without a file, or
    if the file needs no importer.
    """
    importer = None if path is None else _reader_of(path.suffix.lower())
    if path is None or importer is None or importer.guess is None:
        return guess_of_module(mod)
    return importer.guess(path, shape, freeze)


def _reader_of(suffix: str) -> Importer | None:
    return next((i for i in _importers.values() if suffix in i.suffixes), None)


def _unknown_suffix(path: Path) -> str:
    suffixes = {suffix for importer in importers() for suffix in importer.suffixes}
    what = f"files that end in {path.suffix!r}" if path.suffix else "files without a suffix"
    guess = nearest(path.suffix, suffixes) if path.suffix else ""
    guess = guess if guess.startswith("did you mean") else ""
    readable = ", ".join(f"{' and '.join(i.suffixes)} ({i.name})" for i in importers())
    return (
        f"no importer reads {what}, found {str(path)!r}; {guess + ' ' if guess else ''}importers "
        f"exist for {readable}; byoc_lab.importers.register(suffixes, function, name) adds one"
    )


def _checked(result: Any, importer: Importer, path: Path) -> tuple[IRModule, Params]:
    """The result of an importer, after checks: an importer may be any user's function."""
    expected = f"importer {importer.name!r} must return (IRModule, dict of arrays) for {path}"
    if not isinstance(result, tuple) or len(result) != 2:
        raise ImporterError(f"{expected}, found {type(result).__name__}")
    mod, params = result
    if not isinstance(mod, IRModule):
        raise ImporterError(f"{expected}, found a module of type {type(mod).__name__}")
    if not isinstance(params, dict) or not all(isinstance(name, str) for name in params):
        raise ImporterError(
            f"{expected}, found parameters {type(params).__name__} {params!r:.80}; their keys are "
            "the names of parameters of @main"
        )
    main = [p.name_hint for p in mod["main"].params] if "main" in mod else []
    unused = sorted(set(params) - set(main))
    if unused:
        raise ImporterError(
            f"{expected}, found values for {', '.join(unused)}, which are not parameters of @main; "
            f"it has {', '.join(main) or 'none'}"
        )
    return mod, params
