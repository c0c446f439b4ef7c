"""`from_pytorch`: a PyTorch model as a Relay module."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import (
    ArgumentError,
    ByocLabError,
    ImporterError,
    MissingDependencyError,
    UnsupportedOperatorError,
)
from byoc_lab.importers.given import Shapes, Values, with_given
from byoc_lab.importers.pytorch.converters import converter_of, supported
from byoc_lab.importers.pytorch.graph import GraphConverter
from byoc_lab.importers.pytorch.node import dtype_name, is_tensor_call, operator_name, place_of
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.expr import Constant, Expr, Function, Tuple, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.typing.infer import infer_module

Params = dict[str, np.ndarray[Any, Any]]
Keep = Collection[Any] | Mapping[Any, str]


def from_pytorch(
    model: Any,
    example_inputs: Sequence[Any] | None = None,
    keep: Keep = (),
    freeze_params: bool = True,
    shape: Shapes | None = None,
    freeze: Values | None = None,
) -> tuple[IRModule, Params]:
    """The Relay module of a PyTorch model, and its parameters.

    model: a `torch.export.ExportedProgram`, or a `torch.nn.Module` in evaluation mode, which is
        exported with `example_inputs`, a tuple of tensors. keep: module classes. Each instance
        becomes one composite function with the name of its class. A dict from classes to names sets
        other names: {MyModule: "mychip.my_module"} is offloaded to the back end mychip.
        freeze_params: weights become constants; otherwise they are parameters of @main. shape:
        shapes of inputs that were exported with dynamic sizes, by name. freeze: values of inputs by
        name: these inputs become constants.

    Returns `(mod, params)`; `params` maps names in the model to weights; it is empty if they are
    frozen. Inputs keep their names from the model; outputs are one flat tuple, without None
    outputs. Dimensions that are exported as dynamic are `relay.Any()`. The spans of Relay nodes
    contain the path of their module.

    Raises UnsupportedOperatorError with the operator and the calling module,     ImporterError for
    programs that change their own weights (a module in training mode) or cannot     be exported,
    ArgumentError for wrong arguments, MissingDependencyError without torch.
    """
    names = _names(keep)
    program = _decomposed(_exported(model, example_inputs))
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    converter = GraphConverter(names)
    inputs, params = _placeholders(program, converter, freeze_params)
    converter.convert(calls)
    _check_keep(converter)
    specs = [s for s in program.graph_signature.output_specs if not _is_none(s)]
    outputs = [_output(converter, program, spec) for spec in specs]
    if not outputs:
        raise ImporterError("the model returns no tensor, so that there is nothing to compute")
    body = outputs[0] if len(outputs) == 1 else Tuple(outputs)
    used = {id(v) for v in free_vars(body)}
    weights = {n: v for n, v in inputs.items() if n not in params or id(v) in used}
    mod = infer_module(IRModule.from_expr(Function(list(weights.values()), body)))
    mod = with_given(mod, shape, freeze)
    left = {p.name_hint for p in mod["main"].params}
    return mod, {name: array for name, array in params.items() if name in left}


def load_pt2(path: Path) -> tuple[IRModule, Params]:
    """The module of a file that `torch.export.save` wrote; its weights are constants.

    PyTorch unpickles and evaluates the contents of such a file: opening it runs its code.
    """
    torch = _torch()
    try:
        return from_pytorch(torch.export.load(str(path)))
    except (ByocLabError, OSError):
        raise
    except Exception as error:  # errors of many classes; damage may be found late
        raise ImporterError(
            f"{str(path)!r} is not a program that torch.export.save wrote: {error!s:.300}"
        ) from error


def _torch() -> Any:
    try:
        import torch
        import torch.export
    except ImportError as error:
        raise MissingDependencyError(
            "importing PyTorch models needs the package torch, which is not installed: "
            "pip install torch"
        ) from error
    return torch


def _exported(model: Any, example_inputs: Any) -> Any:
    torch = _torch()
    if isinstance(model, torch.export.ExportedProgram):
        if example_inputs is not None:
            raise ArgumentError("an exported program already has inputs; omit example_inputs")
        return model
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            f"from_pytorch takes a torch.export.ExportedProgram or a torch.nn.Module, found "
            f"{type(model).__name__}"
        )
    if not isinstance(example_inputs, (tuple, list)):
        raise ArgumentError(
            f"example_inputs must be a tuple of tensors for the export of {type(model).__name__}, "
            f"found {type(example_inputs).__name__}"
        )
    try:
        return torch.export.export(model, tuple(example_inputs))
    except Exception as error:  # torch.export raises errors of many classes
        raise ImporterError(
            f"torch.export cannot export {type(model).__name__}: {error!s:.500}"
        ) from error


def _decomposed(program: Any) -> Any:
    """The program without in-place changes, with operators that have no converter decomposed."""
    torch = _torch()
    program = program.run_decompositions({})
    _check_pure(program)
    for _ in range(4):
        missing = _missing(program)
        if not missing:
            return program
        table = torch.export.default_decompositions()
        chosen = {call.target: table[call.target] for call in missing if call.target in table}
        if not chosen:
            break
        program = program.run_decompositions(chosen)
    first = missing[0]
    names = sorted({operator_name(call.target) for call in missing})
    raise UnsupportedOperatorError(
        f"PyTorch operators {', '.join(names):.400} are not supported; the first is node "
        f"{place_of(first)!r}, operator {operator_name(first.target)}; write it with "
        f"the {len(supported())} supported operators, which byoc_lab.importers.pytorch.converters."
        "supported() lists, or with operators that torch.export decomposes into them"
    )


def _check_pure(program: Any) -> None:
    for spec in program.graph_signature.output_specs:
        if spec.kind.name != "USER_OUTPUT":
            raise ImporterError(
                f"the program changes {spec.target!r} ({spec.kind.name}); call module.eval() "
                "before it is exported, or remove the code that changes inputs and buffers"
            )


def _missing(program: Any) -> list[Any]:
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    return [
        c
        for c in calls
        if is_tensor_call(c)
        and operator_name(c.target) != "getitem"
        and converter_of(operator_name(c.target)) is None
    ]


def _names(keep: Keep) -> dict[str, str]:
    """A dict from the full names of the classes to keep to composite names."""
    if isinstance(keep, (str, type)) or not isinstance(keep, Collection):
        raise ArgumentError(f"keep must be a list of module classes, found {keep!r:.80}")
    found = {}
    for kind in keep:
        if not isinstance(kind, type):
            raise ArgumentError(f"keep must hold classes of modules, found {kind!r:.80}")
        name = keep[kind] if isinstance(keep, Mapping) else kind.__name__
        found[f"{kind.__module__}.{kind.__qualname__}"] = str(name)
    return found


def _check_keep(converter: GraphConverter) -> None:
    absent = sorted(set(converter.keep) - converter.found)
    if absent:
        raise ArgumentError(
            f"keep names {', '.join(absent)}, which the exported program never calls: the model "
            f"has no instance, or its forward returns nothing"
        )


def _placeholders(
    program: Any, converter: GraphConverter, freeze_params: bool
) -> tuple[dict[str, Var], Params]:
    """Variables for the inputs and for weights that are not frozen, and the arrays of these
    weights."""
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    inputs, weights, params = {}, {}, {}
    for spec in program.graph_signature.input_specs:
        name = str(getattr(spec.arg, "name", ""))
        node = nodes.get(name)
        if node is None or not (node.users or _is_tensor_input(spec, node)):
            continue
        with converter.normalizer.placed(spec.target or name):
            if spec.kind.name == "USER_INPUT":
                variable = converter.normalizer(Var(name, _type(node, name)))
                assert isinstance(variable, Var)
                converter.values[node] = inputs[name] = variable
                continue
            array = _weight(program, spec)
            if freeze_params:
                converter.values[node] = converter.normalizer(Constant(array))
                converter.weights.add(node)
                continue
            variable = converter.normalizer(
                Var(spec.target, TensorType(array.shape, str(array.dtype)))
            )
            assert isinstance(variable, Var)
            converter.values[node] = weights[spec.target] = variable
            params[spec.target] = array
    return {**inputs, **weights}, params


def _is_tensor_input(spec: Any, node: Any) -> bool:
    """Whether a placeholder is an input: neither a weight nor a number for which the program was
    exported."""
    return spec.kind.name == "USER_INPUT" and hasattr(node.meta["val"], "shape")


def _type(node: Any, name: str) -> TensorType:
    value = node.meta["val"]
    if not hasattr(value, "shape"):
        raise ImporterError(
            f"input {name!r} is a {type(value).__name__}; only tensors are supported as inputs"
        )
    shape = [n if isinstance(n, int) else AnyDim() for n in value.shape]
    return TensorType(shape, dtype_name(value.dtype))


def _weight(program: Any, spec: Any) -> np.ndarray[Any, Any]:
    """The array of a parameter, buffer or constant tensor."""
    for store in (program.state_dict, program.constants):
        if spec.target in store:
            return to_array(store[spec.target])
    raise ImporterError(
        f"the exported program holds no values for {spec.kind.name} {spec.target!r}"
    )


def to_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The array of a tensor."""
    torch = _torch()
    if not isinstance(tensor, torch.Tensor):
        raise ImporterError(f"a constant is a {type(tensor).__name__}; only tensors are supported")
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    found: np.ndarray[Any, Any] = tensor.numpy().copy()
    return found


def _is_none(spec: Any) -> bool:
    """Whether the output is None: an optional output that was not requested."""
    return not getattr(spec.arg, "name", "") and getattr(spec.arg, "value", 0) is None


def _output(converter: GraphConverter, program: Any, spec: Any) -> Expr:
    name = getattr(spec.arg, "name", None)
    node = next((n for n in program.graph.nodes if n.name == name), None)
    value = converter.values.get(node)
    if not isinstance(value, Expr):
        raise ImporterError(
            f"output {spec.arg!r:.80} is not a tensor; only tensors and None are supported"
        )
    return value
