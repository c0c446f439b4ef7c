"""Networks for tests and examples, with TVM's names and values (`lenet` is byoc_lab's own).

Source: `tvm.relay.testing`.
"""

from byoc_lab.relay.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    layers,
    lenet,
    mlp,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)
from byoc_lab.relay.testing.helpers import run_infer_type, run_opt_pass
from byoc_lab.relay.testing.init import Constant, Initializer, Xavier, create_workload

__all__ = [
    "Constant", "Initializer", "Xavier", "create_workload", "dcgan", "densenet", "dqn",
    "inception_v3", "layers", "lenet", "mlp", "mobilenet", "resnet", "run_infer_type",
    "run_opt_pass", "squeezenet", "vgg",
]  # fmt: skip
