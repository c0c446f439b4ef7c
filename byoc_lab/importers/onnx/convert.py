"""`from_onnx`: an ONNX model as a Relay module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from byoc_lab.errors import (
    ArgumentError,
    ImporterError,
    UnknownShapeError,
    UnknownValueError,
    UnsupportedOperatorError,
)
from byoc_lab.importers.given import check_shapes
from byoc_lab.importers.guessing import Guess
from byoc_lab.importers.onnx.importing import Importing, Params
from byoc_lab.importers.onnx.inputs import check_frozen
from byoc_lab.importers.onnx.reading import read_model
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import dtype_named

OLDEST, NEWEST = 1, 21


def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    freeze: Mapping[str, Any] | None = None,
) -> tuple[IRModule, Params]:
    """The Relay module of an ONNX model, and its parameters.

    model: a path, the bytes of a file, or an `onnx.ModelProto`. shape: shapes of inputs by name,
        which replace the shapes in the model, and sizes by the symbolic names in the model
        ({"batch": 1}). Sizes that stay unknown become `relay.Any()`. The shape of a sequence input
        is a list with the shape of each element; each element becomes a parameter. dtype: the data
        type of inputs whose type the model does not state, or a dict from input names to data
        types. opset: the version of the default operator set, which replaces the version in the
        model. freeze_params: initializers become constants; otherwise they are parameters of
        @main. convert_config: {"use_nt_batch_matmul": False} does not transpose the right operand
        of batched matrix products. freeze: values of inputs by name: these inputs become constants.
        None omits an optional input.

    Returns `(mod, params)`. `params` maps names to initializers; it is empty if they are frozen.
    The spans of Relay nodes are the names of the ONNX nodes.

    Raises ImporterError if `model` is damaged or not an ONNX model, UnsupportedOperatorError with
    operator, node and opset, UnknownShapeError with a guess for unknown sizes of inputs,
    UnknownValueError with the names of inputs that must be frozen, and ArgumentError for shapes and
    values of inputs that the model lacks.

    Source: tvm.relay.frontend.from_onnx of TVM 0.16. The results are structurally equal to TVM's,
    with the exceptions listed in docs/importers.md.
    """
    importing = _read(model, shape, dtype, opset, freeze_params, convert_config, freeze)
    try:
        return importing.module()
    except UnsupportedOperatorError as error:
        if not importing.begun:
            raise
        guess = importing.guess()
        needed = set(error.inputs) if isinstance(error, UnknownValueError) else set()
        needs_values = bool(needed) and not needed & guess.shape.keys()
        if not guess.shape or (needs_values and not guess.imports):
            raise
        raise UnknownShapeError(
            f"{error}; the sizes of {', '.join(map(repr, guess.shape)):.200} are unknown: give "
            f"shapes by from_onnx(..., {guess.told}), or by --shape on the command line",
            guess.shape,
            guess.freeze,
        ) from error


def _read(
    model: Any,
    shape: Mapping[str, Any] | None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    freeze: Mapping[str, Any] | None = None,
) -> Importing:
    """Reads the model and checks the arguments of `from_onnx`."""
    _check_arguments(shape, dtype, opset)
    proto = read_model(model)
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in proto.opset_import}
    if opset is not None:
        opsets[""] = opset
    version = opsets.setdefault("", 1)
    if not OLDEST <= version <= NEWEST:
        raise ImporterError(
            f"the model uses opset {version} of ai.onnx; supported are {OLDEST} to {NEWEST}. "
            "Export it again with an opset_version in that range, or convert it by "
            "onnx.version_converter"
        )
    check_frozen(freeze or {}, proto.graph)
    use_nt = _config(convert_config or {})
    return Importing(proto.graph, opsets, shape or {}, dtype, freeze_params, use_nt, freeze or {})


def _check_arguments(shape: Any, dtype: Any, opset: Any) -> None:
    check_shapes({} if shape is None else shape)
    names = dtype.values() if isinstance(dtype, Mapping) else [dtype]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"dtype must be a name, such as 'float32', found {name!r:.80}")
        dtype_named(name)
    if opset is not None and not isinstance(opset, int):
        raise ArgumentError(f"opset must be an int, found {opset!r:.80}")


def _config(given: Mapping[str, Any]) -> bool:
    """The value of use_nt_batch_matmul, the only setting."""
    for name in given:
        if name != "use_nt_batch_matmul":
            raise ArgumentError(
                f"convert_config has no setting {name!r:.80}; use_nt_batch_matmul is the only one"
            )
    return bool(given.get("use_nt_batch_matmul", True))


def load_onnx(
    path: Path, shape: Mapping[str, Any] | None = None, freeze: Mapping[str, Any] | None = None
) -> tuple[IRModule, Params]:
    """The module of an ONNX file; its parameters are constants."""
    return from_onnx(path, shape, freeze=freeze)


def guess_onnx(
    model: Any, shape: Mapping[str, Any] | None, freeze: Mapping[str, Any] | None
) -> Guess:
    """Find shapes for inputs with unknown sizes, and values for inputs that select branches, so
    that the model can be imported."""
    return _read(model, shape, freeze=freeze).guess()
