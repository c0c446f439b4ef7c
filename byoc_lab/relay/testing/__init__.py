"""Networks to try things on, with TVM's names and values. Source: `tvm.relay.testing`."""

from byoc_lab.relay.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    layers,
    mlp,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)
from byoc_lab.relay.testing.init import Constant, Initializer, Xavier, create_workload

__all__ = [
    "Constant",
    "Initializer",
    "Xavier",
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "inception_v3",
    "layers",
    "mlp",
    "mobilenet",
    "resnet",
    "squeezenet",
    "vgg",
]
