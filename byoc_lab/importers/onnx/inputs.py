"""The inputs that an ONNX graph states, and guesses for their unknown lengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, UnknownShapeError, UnsupportedOperatorError, nearest
from byoc_lab.importers.given import Input
from byoc_lab.relay.analysis.guessed_lengths import guessed_lengths


def inputs_of_graph(graph: Any) -> list[Input]:
    """The inputs of a GraphProto, as it states them; an optional one as what it has."""
    found = []
    for info in graph.input:
        kind = info.type
        if kind.WhichOneof("value") == "optional_type":
            kind = kind.optional_type.elem_type
        if kind.WhichOneof("value") == "sequence_type":
            found.append(Input(info.name, None, sequence=True))
            continue
        tensor = kind.tensor_type
        lengths = tuple(_length(d) for d in tensor.shape.dim) if tensor.HasField("shape") else None
        found.append(Input(info.name, lengths))
    return found


def _length(dim: Any) -> int | str | None:
    return dim.dim_value if dim.dim_value > 0 else dim.dim_param or None


def check_frozen(freeze: Mapping[str, Any], graph: Any) -> None:
    """Raise ArgumentError for values of inputs that the graph lacks."""
    names = [i.name for i in graph.input]
    for name in freeze:
        if name not in names:
            raise ArgumentError(
                f"freeze names {name!r}, which is no input of the model; {nearest(name, names)}"
            )


def guessed_shapes(
    inputs: Sequence[Input], given: Mapping[str, Sequence[Any]], known: Collection[str]
) -> dict[str, tuple[int, ...]]:
    """A shape for each input that has unknown lengths and is not among `known`. A length that has
    a name gets one guess everywhere."""
    named: dict[str, int] = {}
    found = {}
    for one in inputs:
        lengths = given.get(one.name, one.lengths)
        if lengths is None or one.name in known or all(isinstance(n, int) for n in lengths):
            continue
        guess = guessed_lengths(lengths)
        names = one.lengths or ()
        stated = names if len(names) == len(lengths) else lengths
        found[one.name] = tuple(
            named.setdefault(name, n) if isinstance(name, str) else n
            for name, n in zip(stated, guess, strict=True)
        )
    return found


def unknown_shape(
    error: UnsupportedOperatorError, guess: dict[str, tuple[int, ...]]
) -> UnknownShapeError:
    """The error of a model that may be imported once its inputs have shapes."""
    return UnknownShapeError(
        f"{error}; the lengths of {', '.join(map(repr, guess)):.200} are unknown: give shapes by "
        f"from_onnx(..., shape={guess}), or by --shape on the command line (these are a guess; "
        f"change them to what the model expects)",
        guess,
    )
