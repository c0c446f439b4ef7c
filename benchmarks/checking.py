"""Measures the time to check the numbers of a network.

Each of `--repeat` runs is a separate process on two cores, which builds the network with the "dnnl"
pipeline, and then times `validate` with one set of inputs: for whole regions, and with
detail="operator". For MobileNet v1 the reference is also timed alone. Results are medians of the
wall time over the runs; processor time is also shown, because wall time is unreliable on a busy
machine.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from report import arguments, seconds, table, verdict, write_json

CORES = 2
# {name: (module of relay.testing, arguments of its get_workload, limit in seconds)}
NETWORKS: dict[str, tuple[str, dict[str, Any], float]] = {
    "ResNet-50": ("resnet", {"num_layers": 50, "image_shape": (3, 224, 224)}, 15),
    "SqueezeNet": ("squeezenet", {"image_shape": (3, 224, 224)}, 15),
    "DenseNet-121": ("densenet", {"image_shape": (3, 224, 224)}, 15),
    "Inception-v3": ("inception_v3", {"image_shape": (3, 299, 299)}, 60),
    "MobileNet v1": ("mobilenet", {"image_shape": (3, 224, 224)}, 15),
}
TIMES = 3  # limit for detail="operator", as a multiple of detail="region"
REFERENCE_LIMIT = 1.0  # limit in seconds, for MobileNet v1
Spent = dict[str, tuple[float, float]]


def measured(call: Callable[[], Any]) -> tuple[float, float]:
    """Wall time and processor time, in seconds."""
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - processor


def spent(name: str, sets: bool) -> Spent:
    """The times of one run, measured in this separate process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    import numpy as np

    import byoc_lab
    from byoc_lab import relay

    module, options, _ = NETWORKS[name]
    mod, params = getattr(relay.testing, module).get_workload(**options)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    mod = relay.transform.InferType()(mod)
    exe = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    shape = mod["main"].params[0].checked_type.concrete_shape
    inputs = None if sets else [np.random.default_rng(0).standard_normal(shape).astype("float32")]
    given = inputs or [np.zeros(shape, "float32")]
    found: Spent = {"reference": measured(lambda: byoc_lab.evaluate(mod, given))}
    for detail in ("region", "operator"):
        found[detail] = measured(
            lambda detail=detail: byoc_lab.validate(mod, exe, inputs, detail=detail).check()
        )
    return found


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=3, help="processes for each network")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument(
        "--sets", action="store_true", help="the sets of inputs that are made when none are given"
    )
    options = parser.parse_args()
    found: dict[str, Any] = {}
    rows, missed = [], []
    for name in options.networks:
        turns = []
        for _ in range(options.repeat):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                turns.append(pool.apply(spent, (name, options.sets)))
        clock, processor = (
            {k: statistics.median(t[k][n] for t in turns) for k in turns[0]} for n in (0, 1)
        )
        found[name] = {"clock": clock, "processor": processor}
        limit = NETWORKS[name][2]
        ratio = statistics.median(t["operator"][0] / t["region"][0] for t in turns)
        shown = [f"{seconds(clock[k])} ({seconds(processor[k])})" for k in clock]
        rows.append([name, *shown, f"{ratio:.2f}"])
        if clock["region"] >= limit:
            missed.append(f"{name}: {seconds(clock['region'])}, limit {seconds(limit)}")
        if ratio > TIMES:
            missed.append(f"{name}: operators take {ratio:.2f} times as long, limit {TIMES}")
        if name == "MobileNet v1" and clock["reference"] >= REFERENCE_LIMIT:
            missed.append(f"reference of {name}: {seconds(clock['reference'])}")
    print(table(["network", "reference", "validate", "by operator", "ratio"], rows))
    write_json(options.out / "checking.json", found)
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
