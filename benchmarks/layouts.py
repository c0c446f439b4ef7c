"""Measures the cost of choosing layouts of convolutions by a rule instead of by measuring.

Networks of convolutions on DNNL, one thread, with layouts "fixed" (the default of `build`),
"measured" and "any" (the layout that oneDNN prefers for each convolution): the minimum processor
time of alternating runs. The instruction set is the machine's, or the one in ONEDNN_MAX_CPU_ISA.

    python benchmarks/layouts.py
    ONEDNN_MAX_CPU_ISA=AVX2 python benchmarks/layouts.py --networks squeezenet
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from report import arguments, least, table, verdict, write_json
from turns import set_threads

RULES = ("fixed", "measured", "any")
CLAIM = 1.1  # limit for the rule, as a multiple of the time with measured layouts
NETWORKS: dict[str, dict[str, Any]] = {
    "mobilenet": {},
    "resnet-18": {"num_layers": 18},
    "resnet-50": {"num_layers": 50},
    "squeezenet": {"num_classes": 1000, "image_shape": (3, 224, 224)},
    "inception_v3": {},
    "densenet": {},
}


def programs(network: str) -> dict[str, Callable[[], Any]]:
    """The network built with each kind of layouts, called on one random image."""
    from byoc_lab import relay
    from byoc_lab.backends.dnnl import native, partition_for_dnnl, region_graph
    from byoc_lab.run import build

    testing = getattr(relay.testing, network.partition("-")[0])
    mod, params = testing.get_workload(**NETWORKS[network])
    cut = partition_for_dnnl(mod, params)

    def codegen(rule: str) -> Callable[..., Any]:
        def compiled(function: Any, symbol: str) -> Any:
            made = region_graph(function, symbol)
            return native.DnnlRegion(made.graph, made.constants, layouts=rule)

        return compiled

    shape = cut["main"].params[0].checked_type.concrete_shape
    image = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    built = {rule: build(cut, backends={"dnnl": codegen(rule)}) for rule in RULES}
    return {rule: lambda exe=exe: exe(image) for rule, exe in built.items()}


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        set_threads(1)  # libraries read these when a process starts
        os.execv(sys.executable, [sys.executable, *sys.argv])
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA") or "machine"
    results, rows, misses = {}, [], []
    for network in options.networks:
        found = results[network] = least(programs(network), options.turns)
        ratio = found["fixed"] / found["measured"]
        rows.append([network, *(f"{found[rule] * 1e3:.1f}" for rule in RULES), f"{ratio:.2f}"])
        if ratio > CLAIM:
            misses.append(f"{network}: {ratio:.2f} times the time with measured layouts")
    head = [f"instruction set: {isa}", *(f"{rule} ms" for rule in RULES), "fixed / measured"]
    print(table(head, rows))
    write_json(options.out / f"layouts_{isa.lower()}.json",
               {"claim": CLAIM, "turns": options.turns, "results": results})  # fmt: skip
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
