"""TVM's side of `relay_vs_tvm.py`: runs under the Python that has a real TVM 0.16.

Imports nothing of byoc_lab. One JSON line in, one JSON line out:

    {"network": "mobilenet"}
    -> {"seconds": {stage: t}, "texts": {stage: text without constants}}

The network is built once and kept; only the first answer contains its texts.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import time

import tvm
import tvm.relay.testing
from networks import NETWORKS, STAGES
from tvm import relay
from tvm.relay.op.contrib import dnnl


def main() -> None:
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # TVM's own output must not be part of the answer
    built: dict = {}
    say(channel, {"ready": version()})
    for line in sys.stdin:
        request = json.loads(line)
        name = request["network"]
        first = name not in built
        if first:
            built[name] = workload(name)
        say(channel, run(built[name], keep_texts=first))


def version() -> str:
    """TVM's version, and the package for which it was built."""
    packages = sorted(set(importlib.metadata.packages_distributions().get("tvm", [])))
    named = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    return f"TVM {tvm.__version__} ({', '.join(named) or 'built from source'})"


def workload(name: str):
    module, options = NETWORKS[name]
    mod, params = getattr(relay.testing, module).get_workload(**options)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return mod


def run(mod, keep_texts: bool) -> dict:
    given = {"MergeComposite": (dnnl.pattern_table(),), "AnnotateTarget": ("dnnl",)}
    seconds, texts = {}, {}
    with tvm.transform.PassContext(opt_level=3):
        for stage in STAGES:
            name = stage.split(",")[0]
            apply = getattr(relay.transform, name)(*given.get(name, ()))
            start = time.perf_counter()
            mod = apply(mod)
            seconds[stage] = time.perf_counter() - start
            if keep_texts:
                texts[stage] = mod.astext(show_meta_data=False)
    return {"seconds": seconds, "texts": texts}


def say(channel, message: dict) -> None:
    channel.write(json.dumps(message) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
