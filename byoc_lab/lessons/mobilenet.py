"""MobileNet v1 with fixed random weights and batch norm statistics.

The network is `relay.testing.mobilenet`. Its initial values make every batch norm the identity and
every output 0.001, which would hide folding errors. Here the statistics are random, too, and the
weights of convolutions are scaled so that activations keep their magnitude (He et al.,
arXiv:1502.01852). The classifier's weights have variance 1 / inputs, so that logits differ by a few
units: softmax neither selects one class nor makes all classes equal.

Random numbers are uniform multiples of 2^-53 from MT19937. They are equal for every version of
NumPy and on every machine, unlike the normal distribution of `numpy.random.default_rng`.
"""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.testing import mobilenet
from byoc_lab.relay.testing.init import Initializer, create_workload
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.seeds import checked_seed

SEED = 2020
IMAGE_SHAPE = (1, 3, 224, 224)
CLASSES = 1000


class RandomStatistics(Initializer):
    """Weights with variance 2 / inputs (1 / inputs for the classifier); batch norms that shift and
    scale each channel."""

    def __call__(self, name: str, array: np.ndarray) -> None:
        if name.endswith("weight"):
            self.init_weight(name, array)
        elif name.endswith(("gamma", "var")):
            # uniform from 0.5 to 1.5
            array[...] = 1 + uniform(self.random, array.shape, sqrt(1 / 12))
        elif name.endswith(("beta", "mean", "bias")):
            array[...] = uniform(self.random, array.shape, 0.2)
        else:
            super().__call__(name, array)

    def init_weight(self, name: str, array: np.ndarray) -> None:
        inputs = prod(array.shape[1:])  # per output: (outputs, inputs / groups, height, width)
        variance = (1 if name == "fc_weight" else 2) / inputs
        array[...] = uniform(self.random, array.shape, sqrt(variance))


def uniform(random: np.random.RandomState, shape: tuple[int, ...], deviation: float) -> np.ndarray:
    """Uniform numbers with mean 0 and this standard deviation, float64."""
    return (random.random_sample(shape) - 0.5) * (deviation * sqrt(12))


def workload(
    image_size: int = 224, classes: int = CLASSES, seed: int = SEED
) -> tuple[IRModule, dict[str, NDArray]]:
    """The typed module and its parameters by name, for images of shape (1, 3, image_size,
    image_size)."""
    net = mobilenet.mobile_net(classes, (1, 3, image_size, image_size))
    return create_workload(net, RandomStatistics(), seed)


def module(image_size: int = 224, classes: int = CLASSES, seed: int = SEED) -> IRModule:
    """The network with its parameters as constants; its only input is %data."""
    mod, params = workload(image_size, classes, seed)
    return infer_module(IRModule.from_expr(bind_params_by_name(mod["main"], params)))


def image(image_size: int = 224, seed: int = 0) -> np.ndarray:
    """A fixed image of noise with mean 0 and variance 1, float32 (1, 3, image_size, image_size)."""
    random = np.random.RandomState(checked_seed("mobilenet.image", seed))
    return uniform(random, (1, 3, image_size, image_size), 1).astype(np.float32)
