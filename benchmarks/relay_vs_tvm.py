"""Compares the speed of byoc_lab's passes with TVM 0.16's C++.

MobileNet v1, ResNet-18 and ResNet-50 with bound parameters go through the BYOC pipeline with TVM's
whole DNNL table, in byoc_lab and in a real TVM 0.16, alternately; results are medians. Both sides
first run the pipeline once without measuring. The benchmark also checks that, after every stage,
the modules of both are structurally equal.

TVM is the one that the tests compare with, a vendor's build (hhb-tvm) of TVM 0.16's sources, and
the table says so: `make oracle` installs it; $BYOC_LAB_ORACLE_PYTHON may name another Python that
has a TVM.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from networks import NETWORKS, STAGES
from report import arguments, seconds, table, timed, verdict, write_json

from byoc_lab import relay
from byoc_lab.backends.dnnl.patterns import pattern_table
from byoc_lab.errors import ElidedMetadataWarning
from byoc_lab.passes import PassContext
from byoc_lab.relay.analysis.structural import first_difference
from byoc_lab.relay.build_module import bind_params_by_name

WHOLE = "whole pipeline"
LEAST: dict[str, float] = {"FoldConstant": 20, "MergeComposite": 20, WHOLE: 20}  # default: 1
HERE = Path(__file__).resolve().parent


class Tvm:
    """A process with TVM, which runs the pipeline once per request."""

    def __init__(self) -> None:
        default = HERE.parent / ".oracle-venv" / "bin" / "python"
        python = Path(os.environ.get("BYOC_LAB_ORACLE_PYTHON", default))
        if not python.exists():
            raise SystemExit(f"no TVM 0.16 at {python}: `make oracle` installs one")
        self.process = subprocess.Popen(
            [str(python), str(HERE / "tvm_side.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = self._answer()["ready"]

    def run(self, network: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"network": network}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"TVM ended with status {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def workload(name: str) -> relay.IRModule:
    module, options = NETWORKS[name]
    mod, params = getattr(relay.testing, module).get_workload(**options)
    mod = mod.copy()
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod


def run(mod: relay.IRModule) -> tuple[dict[str, float], dict[str, relay.IRModule]]:
    """The time and the result of each stage."""
    given = {"MergeComposite": (pattern_table(beyond_tvm=False),), "AnnotateTarget": ("dnnl",)}
    spent, after = {}, {}
    with PassContext(opt_level=3):
        for stage in STAGES:
            name = stage.split(",")[0]
            apply = getattr(relay.transform, name)(*given.get(name, ()))
            mod, spent[stage] = timed(lambda apply=apply, mod=mod: apply(mod))
            after[stage] = mod
    return spent, after


def differences(ours: dict[str, relay.IRModule], texts: dict[str, str]) -> list[str]:
    """The stages after which the two modules differ, and the differences."""
    found = []
    for stage, text in texts.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElidedMetadataWarning)
            theirs = relay.transform.InferType()(relay.parse(text))
        different = first_difference(ours[stage], theirs, constants=False)
        if different:
            found.append(f"after {stage}: {different}")
    return found


def compare(tvm: Tvm, network: str, repeat: int) -> dict[str, Any]:
    """Times of both, stage by stage, in alternating runs."""
    mod = workload(network)
    ours: dict[str, list[float]] = {s: [] for s in (*STAGES, WHOLE)}
    theirs: dict[str, list[float]] = {s: [] for s in (*STAGES, WHOLE)}
    # Data that is created on first use (operator tables, caches) does not count.
    _, after = run(mod)
    different = differences(after, tvm.run(network)["texts"])
    for _ in range(repeat):
        spent, _ = run(mod)
        answer = tvm.run(network)
        for collected, found in ((ours, spent), (theirs, answer["seconds"])):
            for stage, value in {**found, WHOLE: sum(found.values())}.items():
                collected[stage].append(value)
    return {"byoc_lab": ours, "tvm": theirs, "differences": different}


def medians(result: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(stage, seconds in byoc_lab, seconds in TVM)."""
    return [
        (s, statistics.median(result["byoc_lab"][s]), statistics.median(result["tvm"][s]))
        for s in result["byoc_lab"]
    ]


def misses(network: str, result: dict[str, Any]) -> list[str]:
    found = [f"{network}: not the same module {d}" for d in result["differences"]]
    for stage, here, there in medians(result):
        wanted = LEAST.get(stage, 1)
        if there / here < wanted:
            ratio = f"{there / here:.1f} times as fast, claimed {wanted:g}"
            found.append(f"{network}, {stage}: {ratio}")
    return found


def plot(results: dict[str, Any], path: Path) -> None:
    """A bar chart of the speed-up of each stage, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    height = 0.8 / len(results)
    for k, (network, result) in enumerate(results.items()):
        rows = medians(result)
        places = [n + k * height for n in range(len(rows))]
        ratios = [there / here for _, here, there in rows]
        bars = axes.barh(places, ratios, height, label=network)
        axes.bar_label(bars, [f"{r:.1f}" for r in ratios], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks([n + 0.4 - height / 2 for n in range(len(rows))], [r[0] for r in rows])
    axes.invert_yaxis()
    axes.set_xlabel("time of TVM 0.16 / time of byoc_lab (medians; right of 1: byoc_lab is faster)")
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"written: {path}")


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side")
    options = parser.parse_args()
    tvm = Tvm()
    results, missed = {}, []
    for network in options.networks:
        results[network] = compare(tvm, network, options.repeat)
        rows = [
            [s, seconds(here), seconds(there), f"{there / here:.1f}x"]
            for s, here, there in medians(results[network])
        ]
        print(table([network, "byoc_lab", tvm.version, "ratio"], rows), end="\n\n")
        missed += misses(network, results[network])
    tvm.close()
    write_json(
        options.out / "relay_vs_tvm.json",
        {"tvm": tvm.version, "claims": LEAST, "repeat": options.repeat, "results": results},
    )
    plot(results, options.out / "relay_vs_tvm.png")
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
