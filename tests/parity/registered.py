"""Functions that users register for operators, for Legalize and AlterOpLayout.

The file imports neither TVM nor byoc_lab: a side passes its own `relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ATTRIBUTES = {"Legalize": "FTVMLegalize", "AlterOpLayout": "FTVMAlterOpLayout"}


@contextmanager
def registered(relay: Any, pass_name: str, key: str) -> Iterator[None]:
    """While the block runs, only the functions FUNCTIONS[key] are registered for `pass_name`."""
    attribute = ATTRIBUTES[pass_name]
    ops = [relay.op.get(name) for name in type(relay.op.get("add")).list_op_names()]
    before = [(op, op.get_attr(attribute)) for op in ops]
    for op in ops:
        op.reset_attr(attribute)
    for name, make in FUNCTIONS[key].items():
        relay.op.get(name).set_attr(attribute, make(relay))
    try:
        yield
    finally:
        for op, function in before:
            op.reset_attr(attribute)
            if function is not None:
                op.set_attr(attribute, function)


def _relaid(**layouts: str) -> Callable[[Any], Any]:
    """A convolution converted to other layouts."""

    def make(relay: Any) -> Any:
        def function(attrs: Any, inputs: Any, *types: Any) -> Any:
            return relay.nn.conv2d(*inputs, **{**attrs, **layouts})

        return function

    return make


def _pool_in_blocks(relay: Any) -> Any:
    """nn.max_pool2d in blocks of 4 channels."""

    def function(attrs: Any, inputs: Any, *types: Any) -> Any:
        return relay.nn.max_pool2d(*inputs, **{**attrs, "layout": "NCHW4c"})

    return function


def _scaled_weight(relay: Any) -> Any:
    """A convolution with twice the weight and half the result; not for data in NCHW."""

    def function(attrs: Any, inputs: Any, types: Any) -> Any:
        if attrs.data_layout == "NCHW":
            return None
        two = relay.const(2.0, types[1].dtype)
        y = relay.nn.conv2d(inputs[0], relay.multiply(inputs[1], two), **attrs)
        return relay.divide(y, two)

    return function


def _leaky(relay: Any) -> Any:
    return lambda attrs, inputs, types: relay.nn.leaky_relu(inputs[0], 0.0)


FUNCTIONS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "channels_first": {"nn.conv2d": _relaid(data_layout="NCHW", kernel_layout="OIHW")},
    "data_in_blocks": {"nn.conv2d": _relaid(data_layout="NCHW4c")},
    "weight_only": {"nn.conv2d": _relaid(kernel_layout="OHWI")},
    "pool_in_blocks": {"nn.max_pool2d": _pool_in_blocks},
    "scaled": {"nn.conv2d": _scaled_weight, "nn.relu": _leaky},
}
