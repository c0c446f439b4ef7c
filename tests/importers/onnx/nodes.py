"""Runs the node tests of the onnx package, and writes their results into docs/importers.md.

The package (1.14.1) is installed in the oracle's environment. `python -m
tests.importers.onnx.nodes` writes that part of the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnxruntime import InferenceSession

import byoc_lab
from byoc_lab.errors import UnknownValueError, UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx

from .golden import package_data

FOLDER = package_data("node")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "importers.md"
BEGIN, END = "<!-- node tests: begin -->\n", "<!-- node tests: end -->\n"

# The stored results use fractional sizes, such as 2.4.
OF_ONNX_RUNTIME = {
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
# The stored results belong to other attributes than the node has.
CORRECTED: dict[str, dict[str, float]] = {"test_adam_multiple": {"epsilon": 1e-2}}

# This release of the package truncates to bfloat16, whereas later ones and Relay round.
TOLERANCES = {"float16": (1e-3, 1e-3), "bfloat16": (2**-7, 0.0)}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a node test.

    kind: "right"; "frozen": right with some inputs as constants; "ONNX Runtime": equal to ONNX
    Runtime's results, which differ from the stored ones; "refused". error: the message of a
    refusal.
    """

    name: str
    operator: str
    kind: str
    error: str = ""


def names() -> list[str]:
    """Names of node tests, without the expansions of functions, which repeat operators."""
    assert FOLDER is not None
    return sorted(p.name for p in FOLDER.iterdir() if "expanded" not in p.name)


def _value(path: Path, kind: Any) -> Any:
    """A stored array; a list of arrays for a sequence; None for an empty optional.

    bfloat16 is stored as uint16.
    """
    name = kind.WhichOneof("value")
    if name == "optional_type":
        optional = onnx.OptionalProto()
        optional.ParseFromString(path.read_bytes())
        return numpy_helper.to_optional(optional)
    if name == "sequence_type":
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(path.read_bytes())
        return numpy_helper.to_list(sequence)
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    if kind.tensor_type.elem_type == TensorProto.BFLOAT16:
        tensor.data_type = TensorProto.BFLOAT16
    return numpy_helper.to_array(tensor)


def _flat(values: list[Any]) -> list[Any]:
    return [a for v in values for a in (v if isinstance(v, list) else [v])]


def _imported(model: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The module of a model, and the inputs that were frozen because an error requested it."""
    shapes: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            shapes[name] = [v.shape for v in value] if isinstance(value, list) else value.shape
    for v in model.graph.input:  # some models declare another rank than their data's
        value = given[v.name]
        if isinstance(value, np.ndarray) and len(v.type.tensor_type.shape.dim) != value.ndim:
            v.type.tensor_type.ClearField("shape")
    frozen = {name: None for name, value in given.items() if value is None}
    while True:
        try:
            return from_onnx(model, shape=shapes, freeze=frozen)[0], frozen
        except UnknownValueError as error:
            missing = set(error.inputs) - set(frozen)
            assert missing, error
            frozen |= {name: given[name] for name in missing}


def _evaluated(mod: Any, inputs: list[Any]) -> Sequence[Any]:
    return byoc_lab.evaluate(mod, inputs).outputs


def outcome(name: str, run: Callable[[Any, list[Any]], Sequence[Any]] = _evaluated) -> Outcome:
    """Imports a node test and runs it by `run`; an assertion fails for a wrong result."""
    assert FOLDER is not None
    model = onnx.load(str(FOLDER / name / "model.onnx"))
    for key, number in CORRECTED.get(name, {}).items():
        model.graph.node[0].attribute.append(onnx.helper.make_attribute(key, number))
    operator = model.graph.node[-1].op_type
    data = FOLDER / name / "test_data_set_0"
    inputs, outputs = model.graph.input, model.graph.output
    try:
        given = {v.name: _value(data / f"input_{i}.pb", v.type) for i, v in enumerate(inputs)}
    except TypeError:  # its data have a dtype that NumPy lacks
        given = {v.name: np.zeros(()) for v in inputs}
    try:
        mod, frozen = _imported(model, given)
    except UnsupportedOperatorError as error:
        return Outcome(name, operator, "refused", str(error))
    fed = [value for key, value in given.items() if key not in frozen]
    found = run(mod, _flat(fed))
    wanted = [_value(data / f"output_{i}.pb", v.type) for i, v in enumerate(outputs)]
    if name in OF_ONNX_RUNTIME:
        wanted = InferenceSession(model.SerializeToString()).run(None, given)
    for ours, theirs in zip(found, _flat(wanted), strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, name
        if theirs.dtype.kind in "biu":
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            rtol, atol = TOLERANCES.get(theirs.dtype.name, (1e-3, 1e-5))
            pair = (x.astype(np.float64) for x in (ours, theirs))
            np.testing.assert_allclose(*pair, rtol=rtol, atol=atol, err_msg=name)
    if name in OF_ONNX_RUNTIME:
        return Outcome(name, operator, "ONNX Runtime")
    return Outcome(name, operator, "frozen" if frozen else "right")


def page(outcomes: list[Outcome]) -> str:
    """The part of docs/importers.md on the node tests."""
    counts = Counter(o.kind for o in outcomes)
    frozen = Counter(o.operator for o in outcomes if o.kind == "frozen")
    refused = Counter((o.operator, _reason(o)) for o in outcomes if o.kind == "refused")
    named = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in sorted(frozen.items()))
    lines = [
        f"Of the {len(outcomes)} node tests of onnx 1.14.1, {counts['right'] + counts['frozen']} "
        f"give the stored results, {counts['ONNX Runtime']} give ONNX Runtime's results, which "
        f"differ from the stored results, and {counts['refused']} are refused by an error that "
        f"names the node.",
        "",
        f"{counts['frozen']} of the right ones need values as constants (`freeze`) that the tests "
        f"give at run time. Networks have them as constants; a refusal names the inputs to freeze. "
        f"They are tests of {named}.",
        "",
        "| Refused operator | Reason | Tests |",
        "|---|---|---|",
        *(f"| {op} | {reason} | {n} |" for (op, reason), n in sorted(refused.items())),
    ]
    return "".join(line + "\n" for line in lines)


def _reason(outcome: Outcome) -> str:
    """The error message without its location, up to the first semicolon."""
    if outcome.error.startswith("ONNX operators"):
        return "no converter"
    return outcome.error.split(": ", 1)[1].split(";")[0]


def written(text: str, part: str) -> str:
    """The page text with its generated part replaced by `part`."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + part + END + rest.split(END)[1]


def main() -> None:
    part = page([outcome(name) for name in names()])
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8")
    print(f"wrote the node tests in {PAGE.name}")


if __name__ == "__main__":
    main()
