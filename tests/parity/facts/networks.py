"""The networks of `relay.testing`, as short digests of TVM 0.16's modules.

The digests are the golden file networks.json. The same file runs under TVM's Python, where it
prints them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

FILE = "networks.json"
SMALL = {"num_classes": 10, "image_shape": (3, 32, 32)}
CIFAR = {"num_classes": 10, "image_shape": (3, 28, 28)}
NHWC = {"image_shape": (64, 64, 3), "layout": "NHWC"}


def _vgg(**options: Any) -> dict[str, Any]:
    return {
        "batch_size": 1,
        "image_shape": (3, 224, 224),
        "num_classes": 1000,
        "dtype": "float32",
        **options,
    }


# Label -> module and function of relay.testing, arguments. A function that returns no parameters
# is used if parameters would need too much memory.
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp.get_workload", {"batch_size": 1}),
    "mlp batch 4": ("mlp.get_workload", {"batch_size": 4, "num_classes": 3}),
    "dqn": ("dqn.get_workload", {"batch_size": 1}),
    "dqn NHWC": (
        "dqn.get_workload",
        {"batch_size": 2, "image_shape": (84, 84, 4), "layout": "NHWC"},
    ),
    "dcgan": ("dcgan.get_workload", {"batch_size": 1}),
    "dcgan NHWC": ("dcgan.get_workload", {"batch_size": 2, "layout": "NHWC", "ngf": 32}),
    "resnet-18": ("resnet.get_workload", {}),
    **{
        f"resnet-{n}": ("resnet.get_net", {"batch_size": 1, "num_classes": 1000, "num_layers": n})
        for n in (34, 50, 101, 152)
    },
    "resnet-18 small": ("resnet.get_workload", {"num_layers": 18, **SMALL}),
    "resnet-50 NHWC": (
        "resnet.get_net",
        {"batch_size": 1, "num_classes": 10, "num_layers": 50, **NHWC},
    ),
    "resnet-20 CIFAR": ("resnet.get_workload", {"num_layers": 20, **CIFAR}),
    "resnet-164 CIFAR": ("resnet.get_workload", {"num_layers": 164, **CIFAR}),
    "synthetic": ("synthetic.get_workload", {}),
    "synthetic of bytes": (
        "synthetic.get_net",
        {"input_shape": (2, 4, 6, 8), "dtype": "int8", "wtype": "int8"},
    ),
    "lstm": ("lstm.get_workload", {"iterations": 2, "num_hidden": 4}),
    "lstm batch 3": ("lstm.get_workload", {"iterations": 1, "num_hidden": 2, "batch_size": 3}),
    **{f"vgg-{n}": ("vgg.get_net", _vgg(num_layers=n)) for n in (11, 13, 16, 19)},
    "vgg-16 batch norm": ("vgg.get_net", _vgg(num_layers=16, batch_norm=True)),
    "vgg-11 small": ("vgg.get_workload", {"batch_size": 1, **SMALL}),
    "squeezenet 1.0": ("squeezenet.get_workload", {"version": "1.0"}),
    "squeezenet 1.1": ("squeezenet.get_workload", {"version": "1.1", "batch_size": 2}),
    **{
        f"densenet-{n}": ("densenet.get_workload", {"densenet_size": n, "batch_size": 1})
        for n in (121, 161, 169, 201)
    },
    "inception v3": ("inception_v3.get_workload", {}),
    "mobilenet": ("mobilenet.get_workload", {"batch_size": 1}),
}


def digests(relay: Any, label: str) -> dict[str, str]:
    """Digests of the network's text and, if it has parameters, of their bytes.

    `relay` is TVM's or byoc_lab's: both use this definition.
    """
    path, arguments = NETWORKS[label]
    module, function = path.split(".")
    made = getattr(getattr(relay.testing, module), function)(**arguments)
    mod, params = made if isinstance(made, tuple) else (_typed(relay, made), None)
    found = {"text": _short(mod.astext(show_meta_data=False).encode())}
    if params is not None:
        whole = hashlib.sha256()
        for name, value in params.items():
            whole.update(name.encode())
            whole.update(value.numpy().tobytes())
        found["parameters"] = whole.hexdigest()[:16]
    return found


def _typed(relay: Any, function: Any) -> Any:
    module = getattr(relay, "IRModule", None) or sys.modules["tvm"].IRModule
    return relay.transform.InferType()(module.from_expr(function))


def _short(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def golden_text() -> str:
    """The golden file."""
    from ..client import printed_by_tvm

    return json.dumps(printed_by_tvm(__file__), indent=1) + "\n"


if __name__ == "__main__":
    from tvm import relay
    from tvm.relay import testing  # noqa: F401 (TVM does not load it by itself)

    print(json.dumps({label: digests(relay, label) for label in NETWORKS}))
