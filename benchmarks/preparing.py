"""How long does it take to get a region ready: primitives, weights reordered, layouts tried out?

MobileNet v1's regions are created from their graphs and constants, `--repeat` times for each number
of threads; what is told is the median of the sum over the regions.
"""

from __future__ import annotations

import statistics
import sys

from report import arguments, seconds, table, timed, verdict, write_json

from byoc_lab import dnnl
from byoc_lab.lessons import mobilenet
from byoc_lab.run.build import external_calls

LIMIT = 0.1  # seconds
THREADS = (1, 2)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    mod = dnnl.partition_for_dnnl(*mobilenet.workload())
    graphs = [dnnl.region_graph(mod[gv], gv.name_hint) for gv in external_calls(mod)]

    def prepare() -> list[dnnl.native.Region]:
        return [dnnl.native.Region(g.graph, g.constants) for g in graphs]

    prepare()  # loads the extension
    found, rows, missed = {}, [], []
    for threads in THREADS:
        dnnl.native.set_num_threads(threads)
        runs = [timed(prepare) for _ in range(options.repeat)]
        taken = [spent for _, spent in runs]
        layouts = [regions[0].stats()["layouts"] for regions, _ in runs]
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
