"""Measures the time to prepare a region: creating primitives, reordering weights, trying layouts.

MobileNet v1's regions are created from their graphs and constants, once in each of `--repeat`
processes (oneDNN caches primitives within a process); the extension is loaded before. The result is
the median over the processes of the sum over the regions.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys

from report import arguments, seconds, table, timed, verdict, write_json

LIMIT = 0.1  # limit in seconds
THREADS = (1, 2)


def prepare(threads: int) -> tuple[float, str]:
    """In a separate process: (seconds, the chosen layouts of the convolutions)."""
    from byoc_lab.backends import dnnl
    from byoc_lab.lessons import mobilenet
    from byoc_lab.run.build import external_calls

    mod = dnnl.partition_for_dnnl(*mobilenet.workload())
    graphs = [dnnl.region_graph(mod[gv], gv.name_hint) for gv in external_calls(mod)]
    dnnl.native.set_num_threads(threads)
    regions, spent = timed(lambda: [dnnl.native.DnnlRegion(g.graph, g.constants) for g in graphs])
    return spent, regions[0].stats()["layouts"]


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=7, help="processes for each thread count")
    options = parser.parse_args()
    found, rows, missed = {}, [], []
    for threads in THREADS:
        runs = []
        for _ in range(options.repeat):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                runs.append(pool.apply(prepare, (threads,)))
        taken, layouts = [spent for spent, _ in runs], [layout for _, layout in runs]
        found[threads] = {"seconds": taken, "layouts": layouts}
        median = statistics.median(taken)
        rows.append([threads, seconds(median), ", ".join(sorted(set(layouts)))])
        if median >= LIMIT:
            missed.append(f"{threads} threads: {seconds(median)}, limit {seconds(LIMIT)}")
    print(table(["threads", "preparing MobileNet v1", "layouts"], rows))
    write_json(options.out / "preparing.json", {"limit": LIMIT, "threads": found})
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
