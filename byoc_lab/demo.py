"""`byoc-lab demo`: MobileNet through the DNNL pipeline, validated and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from byoc_lab.backends.dnnl import native
from byoc_lab.errors import counted
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.checking.validation import Report, validate
from byoc_lab.lab.linting import lint
from byoc_lab.lab.tracing import trace
from byoc_lab.lessons import mobilenet
from byoc_lab.relay.ir.expr import Call, Function, Tuple
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import Executable, Timing, build, compare_times

DNNL, HOST = "DNNL regions", "LLVM only (Relax's own schedules)"
REPEAT = 15
Say = Callable[[str], object]


def run_demo(html: Path, say: Say = print, *, image_size: int = 224, repeat: int = REPEAT) -> bool:
    """Trace, lint, build, run, validate and time MobileNet v1; write the trace to `html`.

    `say` is called with each line of output; `repeat` is the number of timed runs of each build.
    Returns whether the results are correct. If the DNNL extension or apache-tvm is missing, NumPy
    computes in its place, and its runs are not timed. Raises OffloadError if a region did not run
    on DNNL although the extension is installed, and the errors of tracing and building.
    """
    started = time.perf_counter()

    def step(text: str) -> None:
        say(f"[{time.perf_counter() - started:5.1f} s] {text}")

    before, image = _with_logits(mobilenet.module(image_size)), mobilenet.image(image_size)
    size = "x".join(map(str, image.shape))
    step(f"MobileNet v1, {size}, fixed random weights and batch norm statistics; its logits too")
    recorded = trace(before, pipeline="dnnl", title="MobileNet v1 on DNNL")
    after = recorded.result
    stages = (s.name if s.changed else f"({s.name})" for s in recorded)
    step(f"pipeline dnnl: {', '.join(stages)}")
    findings = lint(recorded["PartitionGraph"].before)
    step(f"linter before partitioning: {findings}")
    offloaded = build(after)
    host = build(after, offload=False)
    step("built twice: regions with DNNL and the rest with LLVM; everything with LLVM")
    report = validate(before, offloaded, [image])
    offloaded.assert_offloaded(accept_numpy=True)
    step("validated against the original module, evaluated with NumPy in float64")
    times = compare_times({DNNL: offloaded, HOST: host}, [image], repeat=repeat)
    recorded.save_html(html)
    step(f"{'timed; ' if not offloaded.stand_ins else ''}the trace is written to {html}")
    say("")
    for card in offloaded.cards():
        say(_card_line(card.symbol, card.operators, [op.impl for op in card.ops]))
    say("")
    say(_table(offloaded, report, times))
    if not report.ok:
        say(f"\n{report}")
    return report.ok and not findings.errors


def _with_logits(mod: IRModule) -> IRModule:
    """The network with two outputs: the logits, and their softmax."""
    main = mod["main"]
    softmax = main.body
    assert isinstance(softmax, Call)
    return infer_module(IRModule.from_expr(Function(main.params, Tuple([*softmax.args, softmax]))))


def _card_line(symbol: str, operators: int, impls: Sequence[str | None]) -> str:
    words = f"@{symbol}: {counted(operators, 'operator')}"
    if not impls:
        return words
    kernels = ", ".join(sorted({impl or "none" for impl in impls}))
    return f"{words} in {counted(len(impls), 'kernel')} ({kernels})"


def _table(exe: Executable, report: Report, times: dict[str, Timing]) -> str:
    cards = exe.cards()
    total = sum(c.operators for c in cards) + exe.host_operators
    logits, probabilities = map(_errors, report.outputs)
    where, ratio = "; ".join(exe.stand_ins), ""
    if not exe.stand_ins:
        where = f"all run on DNNL with {native.get_num_threads()} threads"
        ratio = f", {times[HOST].median / times[DNNL].median:.1f} times as long"
    rows = [
        ("regions", f"{len(cards)}, {where}"),
        ("operators in regions", f"{sum(c.operators for c in cards)} of {total}"),
        ("largest error of the logits", logits),
        ("largest error of the probabilities", probabilities),
        (f"time per inference, {DNNL}", str(times[DNNL])),
        (f"time per inference, {HOST}", f"{times[HOST]}{ratio}"),
        ("verdict", "correct" if report.ok else "WRONG"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)


def _errors(found: Comparison) -> str:
    return (
        f"{found.largest_error:.2e} of values up to {found.scale:.3g}; nearest to its tolerance: "
        f"{found.error:.2e} of {found.tolerance:.2e}"
    )
