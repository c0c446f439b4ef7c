"""Measures the build time of MobileNet v1 with C regions.

The network has its batch norms folded into weights; the back end "ccompiler" gets all operators
except convolutions and poolings, including a classifier with a million weights. TVM's part of the
build is included; the imports of TVM are not. Wall time, the median of `--repeat` builds.
"""

from __future__ import annotations

import statistics
import sys

from report import arguments, seconds, table, timed, verdict, write_json

LIMIT = 5.0  # limit in seconds


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=3, help="builds")
    options = parser.parse_args()
    from byoc_lab import backends, build, relay
    from byoc_lab.passes import (
        FoldConstant,
        FoldScaleAxis,
        InferType,
        PassContext,
        Sequential,
        SimplifyInference,
    )

    mod, params = relay.testing.mobilenet.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    steps = [InferType(), SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]
    with PassContext(opt_level=3):
        mod = backends.partition(Sequential(steps)(mod), "ccompiler")
    build(relay.IRModule.from_expr(relay.exp(relay.var("x", shape=(1,)))))  # imports TVM
    runs = [timed(lambda: build(mod)) for _ in range(options.repeat)]
    cards = runs[0][0].cards()
    operators = sum(card.operators for card in cards)
    taken = statistics.median(spent for _, spent in runs)
    print(
        table(
            ["regions in C", "operators in C", "build"], [[len(cards), operators, seconds(taken)]]
        )
    )
    facts = {"seconds": [spent for _, spent in runs], "operators": operators, "limit": LIMIT}
    write_json(options.out / "c_build.json", facts)
    return verdict([f"{seconds(taken)}, limit {seconds(LIMIT)}"] * (taken >= LIMIT))


if __name__ == "__main__":
    sys.exit(main())
