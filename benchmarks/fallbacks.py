"""Checks that no operator that DNNL accepts is slower on DNNL than on the host.

Measures operators alone and after a convolution, in float32, bfloat16 and quantized, with sizes of
real networks, in the initial layout of a network: the oneDNN kernel that runs, and its time
compared with the same module compiled by LLVM. One thread, the minimum of alternating runs,
processor time. The instruction set is the machine's, or the one in ONEDNN_MAX_CPU_ISA.

    python benchmarks/fallbacks.py
    ONEDNN_MAX_CPU_ISA=AVX2 python benchmarks/fallbacks.py --only softmax
    python benchmarks/fallbacks.py --kernels   # times nothing: which kernels run, on each set
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
from dnnl_forms import FORMS
from report import arguments, least, table, verdict, write_json
from turns import set_threads

MAX_RATIO = 1.2  # limit for the ratio of DNNL's time to LLVM's
LEVELS = ("SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16")
MIN_SECONDS = 50e-6  # seconds on the host; in shorter forms, calls cost more than the computation


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    from byoc_lab.relay.ir.ndarray import numpy_dtype

    random, kind = np.random.default_rng(1), numpy_dtype(dtype)
    if "int" in dtype:
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, shape, kind, endpoint=True)
    return random.standard_normal(shape).astype(kind)


def partitioned(body: Any) -> tuple[Any, Any]:
    """The module of a form, before and after partitioning."""
    from byoc_lab import relay
    from byoc_lab.backends.dnnl import partition_for_dnnl
    from byoc_lab.transform import InferType

    params = relay.analysis.free_vars(body)
    mod = InferType()(relay.IRModule.from_expr(relay.Function(params, body)))
    return mod, partition_for_dnnl(mod, prune_subgraphs=False)


def kernels_here() -> dict[str, str]:
    """The kernels of each form, including separate post-ops, on this process's instruction set."""
    from byoc_lab.backends.dnnl import compile_region

    found = {}
    for name, make in FORMS.items():
        _, cut = partitioned(make())
        regions = [f for f in cut.functions.values() if "Compiler" in f.attrs]
        ops = [op for f in regions for op in compile_region(f, "r").stats()["ops"]]
        names = [k for op in ops for k in (op["impl"], *op["post_ops_separate_impls"])]
        found[name] = " ".join(name.replace(" ", "_") for name in names if name != "view")
    return found


def kernels_by_level() -> str:
    """A table of the kernels of each form on each instruction set, with one process per set."""
    columns = []
    for level in LEVELS:
        done = subprocess.run(
            [sys.executable, __file__, "--kernels-here"], check=True, capture_output=True,
            env={**os.environ, "ONEDNN_MAX_CPU_ISA": level},
        )  # fmt: skip
        columns.append(json.loads(done.stdout))
    return table(["form", *LEVELS], [[name, *(c[name] for c in columns)] for name in FORMS])


def measured(body: Any, turns: int) -> dict[str, Any]:
    """The kernels of the regions, and the times on DNNL and on the host, in seconds."""
    import byoc_lab

    mod, cut = partitioned(body)
    (param,) = mod["main"].params
    inputs = [drawn(param.checked_type.concrete_shape, param.checked_type.dtype)]
    programs = {"dnnl": byoc_lab.build(cut), "host": byoc_lab.build(mod, offload=False)}
    runs = {name: partial(program.run, inputs) for name, program in programs.items()}
    best = least(runs, turns)
    kernels = [op.impl for card in programs["dnnl"].cards() for op in card.ops]
    return {"kernels": kernels, **best}


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", default="", help="only forms whose names contain this text")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--kernels", action="store_true", help="only which kernels run")
    parser.add_argument("--kernels-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kernels_here:
        print(json.dumps(kernels_here()))
        return 0
    if options.kernels:
        (options.out / "dnnl_kernels.txt").write_text(kernels_by_level() + "\n")
        return 0
    if os.environ.get("OMP_NUM_THREADS") != "1":
        set_threads(1)  # libraries read these when a process starts
        os.execv(sys.executable, [sys.executable, *sys.argv])
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA") or "machine"
    results, rows, misses = {}, [], []
    for name, make in FORMS.items():
        if options.only not in name:
            continue
        found = results[name] = measured(make(), options.turns)
        ratio = found["dnnl"] / found["host"]
        times = [f"{found[which] * 1e3:.2f}" for which in ("dnnl", "host")]
        rows.append([name, *times, f"{ratio:.2f}", " ".join(found["kernels"])])
        if ratio > MAX_RATIO and found["host"] > MIN_SECONDS:
            misses.append(f"{name}: {ratio:.1f} times the host's time")
    print(table([f"instruction set: {isa}", "dnnl ms", "host ms", "ratio", "kernels"], rows))
    write_json(options.out / f"fallbacks_{isa.lower()}.json",
               {"limit": MAX_RATIO, "turns": options.turns, "results": results})  # fmt: skip
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
