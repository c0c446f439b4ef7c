"""Time to the first picture, per step and to the saved page, for modules of growing size.

    python benchmarks/view_scaling.py [operators ...]     (default: 1000 5000 20000)

Each module is a chain of element-wise operators, annotated and partitioned for DNNL. The columns:
picture (the first stage that changed, from the finished trace), step (each other stage, the
longest), text (differences and findings of a stage, the longest; the picture does not wait for
them), page (seconds and MB; skipped beyond 5000 operators).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from byoc_lab import relay
from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.lab.view.parts import Parts
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn

PAGE_UP_TO = 5000


def chain(operators: int) -> Trace:
    x: relay.Expr = relay.var("data", shape=(1, 8, 8, 8))
    for n in range(operators):
        x = relay.add(x, x) if n % 7 == 3 else relay.erf(x) if n % 5 == 2 else nn.relu(x)
    mod = relay.IRModule.from_expr(x)
    return trace(mod, [InferType(), AnnotateTarget("dnnl"), PartitionGraph()], title="Chain")


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = act()
    return time.perf_counter() - started, result


def sent(act: Callable[[], Any]) -> float:
    """Seconds to make a part and its JSON."""
    return timed(lambda: json.dumps(act()))[0]


def measured(operators: int) -> tuple[str, ...]:
    made = chain(operators)
    parts = Parts(made)
    first = sent(parts.outline) + sent(lambda: parts.picture(0))
    steps = [sent(partial(parts.picture, n)) for n in (1, 2)]
    texts = [sent(partial(parts.whole, n)) for n in (1, 2)]
    row = (f"{first:.2f}", f"{max(steps):.2f}", f"{max(texts):.2f}")
    if operators > PAGE_UP_TO:
        return row
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.html"
        seconds, _ = timed(lambda: made.save_html(path))
        return (*row, f"{seconds:.2f}", f"{path.stat().st_size / 1e6:.1f}")


def main() -> None:
    names = ("operators", "picture", "step", "text", "page", "MB")
    print(" ".join(f"{name:>9}" for name in names))
    for operators in [int(a) for a in sys.argv[1:]] or [1000, 5000, 20000]:
        row = (str(operators), *measured(operators))
        print(" ".join(f"{cell:>9}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
