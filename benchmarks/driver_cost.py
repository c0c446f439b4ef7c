"""Measures the cost of reporting rewrites if no listener is set.

Every pass runs on MobileNet v1 unchanged, and with all reporting removed from its source: a
separate process loads `byoc_lab.passes` without the statements that report rewrites or store data
for reports. Both run alternately, `--repeat` times; results are medians of the pairs, in processor
time. A third process sets a listener, to show the cost of listening.
"""

from __future__ import annotations

import ast
import importlib.machinery
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

LIMIT = 1.02  # limit for all passes: time with reporting / time without
ROUNDS = 5  # number of runs of each pass per process; the minimum counts
NEGLIGIBLE = 0.005  # seconds; for shorter passes a ratio is meaningless
WHOLE = "all passes"
REPORTING = {"report", "report_function", "keeps_in"}
KINDS = ("unchanged", "without", "listening")


class WithoutReporting(ast.NodeTransformer):
    """Removes the statements that only matter to a listener."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        return ast.copy_location(ast.Pass(), node) if named and call.func.id in REPORTING else node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        calls = [item.context_expr for item in node.items]
        names = [getattr(getattr(c, "func", None), "id", None) for c in calls]
        return node.body if names == ["rewriting"] else node


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:  # never the cached bytecode
        tree = ast.parse(self.get_data(self.path))
        return compile(ast.fix_missing_locations(WithoutReporting().visit(tree)), self.path, "exec")


class Finder:
    """Finds the modules of `byoc_lab.passes`, except the hook itself, for `Loader`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("byoc_lab.passes.") or name.endswith(".hook"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin:
            spec.loader = Loader(name, spec.origin)
        return spec


def measure(kind: str) -> None:
    """In a separate process: the minimum time of each pass, as JSON."""
    if kind == "without":
        sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
    from byoc_lab import relay, transform
    from byoc_lab.backends import dnnl
    from byoc_lab.lessons import mobilenet
    from byoc_lab.passes import PassContext, listening

    events: list[Any] = []
    with listening(events.append):
        transform.SimplifyInference()(transform.InferType()(mobilenet.module()))
    if bool(events) == (kind == "without"):
        raise AssertionError(f"passes {kind}: {len(events)} events were reported")
    events.clear()
    mod = transform.InferType()(mobilenet.module())
    simplified = transform.SimplifyInference()(mod)
    steps: list[tuple[Any, relay.IRModule]] = []
    current = mod
    with PassContext(opt_level=3):
        for p in dnnl.pipeline():
            steps.append((p, current))
            current = p(current)
        for name in ("SimplifyExpr", "ToANormalForm", "ToBasicBlockNormalForm"):
            steps.append((getattr(transform, name)(), simplified))
        times: dict[str, float] = {}
        for p, given in steps:
            rounds = []
            for _ in range(ROUNDS):
                if kind == "listening":
                    with listening(events.append):
                        rounds.append(
                            timed(lambda p=p, given=given: p(given), time.process_time)[1]
                        )
                    events.clear()
                else:
                    rounds.append(timed(lambda p=p, given=given: p(given), time.process_time)[1])
            times[p.name] = min(rounds)
    print(json.dumps({**times, WHOLE: sum(times.values())}))


def run(kind: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=9, help="processes of each kind")
    parser.add_argument("--measure", choices=KINDS, help="measure in this process (used by itself)")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return 0
    # The order changes from round to round.
    turns = [{k: run(k) for k in KINDS[:: 1 if n % 2 else -1]} for n in range(options.repeat)]
    rows, shares = [], {}
    for name in turns[0]["without"]:
        typical = {k: statistics.median(t[k][name] for t in turns) for k in KINDS}
        share = statistics.median(t["unchanged"][name] / t["without"][name] for t in turns)
        shares[name] = share
        shown = f"{share:.3f}" if typical["without"] >= NEGLIGIBLE else "-"
        rows.append([name, *(seconds(typical[k]) for k in KINDS), shown])
    print(table(["pass", *KINDS, "unchanged / without"], rows))
    write_json(options.out / "driver_cost.json", {"turns": turns, "shares": shares, "limit": LIMIT})
    miss = f"all passes take {shares[WHOLE]:.3f} times as long, limit {LIMIT:g}"
    return verdict([miss] * (shares[WHOLE] > LIMIT))


if __name__ == "__main__":
    sys.exit(main())
