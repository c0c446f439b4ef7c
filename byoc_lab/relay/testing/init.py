"""Initial parameters of a network from a seed: the same numbers as `tvm.relay.testing.init`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.seeds import checked_seed


class Initializer:
    """Fills an array in place, by the end of the parameter's name.

    "bias", "beta" and "mean" become 0, "gamma" and "var" 1; "weight" is defined by the subclass,
    with random numbers from `self.random`.
    """

    def __init__(self) -> None:
        self.random = np.random.RandomState(0)

    def seed(self, seed: int) -> None:
        """Restart the random numbers from a seed."""
        self.random = np.random.RandomState(checked_seed("Initializer.seed", seed))

    def __call__(self, name: str, array: np.ndarray) -> None:
        """Fill `array`. Raises ValueError for a name with an unknown ending."""
        if name.endswith("weight"):
            self.init_weight(name, array)
        elif name.endswith(("bias", "beta", "mean")):
            array[...] = 0
        elif name.endswith(("gamma", "var")):
            array[...] = 1
        else:
            raise ValueError(
                f"no initial value is known for parameter {name!r}: its name must end in weight, "
                f"bias, gamma, beta, mean or var"
            )

    def init_weight(self, name: str, array: np.ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define how to create weights")


class Xavier(Initializer):
    """Uniform weights in +-sqrt(magnitude / factor), so that a layer keeps the variance.

    The factor is the number of inputs ("in") or outputs ("out") of an element, or the average of
    both ("avg"), for weights laid out as (outputs, inputs, ...). In a layer called depthwise it is
    the size of the kernel.
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__()
        if rnd_type != "uniform":
            raise ValueError(f"Xavier: rnd_type must be 'uniform', found {rnd_type!r}")
        if factor_type not in ("avg", "in", "out"):
            raise ValueError(f"Xavier: factor_type must be avg, in or out, found {factor_type!r}")
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def init_weight(self, name: str, array: np.ndarray) -> None:
        if array.ndim < 2:
            raise ValueError(
                f"Xavier needs weights of 2 dimensions or more, {name} has {array.ndim}"
            )
        kernel = prod(array.shape[2:])
        inputs, outputs = array.shape[1] * kernel, array.shape[0] * kernel
        factor = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        if "depthwise" in name:
            factor = kernel
        bound = np.sqrt(self.magnitude / factor)
        array[...] = self.random.uniform(-bound, bound, size=array.shape)


class Constant(Initializer):
    """Sets all elements of a weight to one number, with sum 1."""

    def init_weight(self, name: str, array: np.ndarray) -> None:
        array[...] = 1 / array.size


def create_workload(
    net: Expr, initializer: Callable[[str, np.ndarray], None] | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """(typed module with `net` as @main, its parameters by name); "data" is an input, not one.

    initializer: `initializer(name, array)` fills the array, which holds zeros; Xavier's when None.
    Raises TypeInferenceError when the network cannot be typed.
    """
    mod = infer_module(IRModule.from_expr(net))
    initializer = initializer or Xavier()
    if isinstance(initializer, Initializer):
        initializer.seed(seed)
    params = {}
    for parameter in mod["main"].params:
        ty = parameter.checked_type
        if parameter.name_hint == "data" or not isinstance(ty, TensorType):
            continue
        value = np.zeros(ty.concrete_shape, ty.dtype)
        initializer(parameter.name_hint, value)
        params[parameter.name_hint] = NDArray(value)
    return mod, params
