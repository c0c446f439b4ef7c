"""Limits that the documentation states still exist: each is tried, and the page has these words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay, transform
from byoc_lab.backends import PythonRegion
from byoc_lab.errors import ByocLabError, ParseError
from byoc_lab.lessons.cases.networks import typed
from byoc_lab.relay.dataflow_pattern import is_op, wildcard
from tests.docs.test_commands import ROOT

pytestmark = pytest.mark.usefixtures("processes_without_torch")
LIMITS: dict[tuple[str, str], Callable[[], None]] = {}


def limit(page: str, words: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers a check of a limit that a page states in these words."""

    def kept(function: Callable[[], None]) -> Callable[[], None]:
        LIMITS[page, words] = function
        return function

    return kept


@limit("README.md", "TVM removed Relay in version 0.20.")
def tvm_has_no_relay() -> None:
    tvm = pytest.importorskip("tvm")
    assert not hasattr(tvm, "relay")


@limit("docs/backends.md", "the executable cannot be exported")
def an_isolated_region_is_not_exported() -> None:
    x = typed(relay.nn.relu(relay.var("x", shape=(2, 3))))
    codegen = backends.isolated(lambda function, symbol: PythonRegion(lambda x: np.maximum(x, 0)))
    backends.register("alone", supports=["nn.relu"], codegen=codegen)
    try:
        program = byoc_lab.build(backends.partition(x, "alone"))
        with pytest.raises(ByocLabError, match="export"):
            program.export_library("alone.so")
    finally:
        backends.unregister("alone")


@limit("docs/backends.md", "Relax does not have `nn.bias_add`.")
def relax_has_no_bias_add() -> None:
    pytest.importorskip("tvm")
    from tvm import relax

    assert not hasattr(relax.op.nn, "bias_add")


@limit("docs/explaining.md", "no match crosses a let")
def no_match_crosses_a_let() -> None:
    x = relay.var("x", shape=(2, 3))
    inner = relay.var("inner")
    pattern = is_op("exp")(is_op("nn.relu")(wildcard()))
    merge = transform.MergeComposite([("mychip.relu_exp", pattern)])
    found = []
    for body in (relay.exp(relay.nn.relu(x)), relay.Let(inner, relay.nn.relu(x), relay.exp(inner))):
        merged = merge(typed(body))
        found.append("mychip.relu_exp" in merged.astext())
    assert found == [True, False]


@limit("docs/explanation/fidelity.md", "`relay.parse` refuses another operator by its name")
def an_unknown_operator_is_refused() -> None:
    text = relay.IRModule.from_expr(relay.nn.relu(relay.var("x", shape=(2,)))).astext()
    with pytest.raises(ParseError, match=r"nn\.nobody_knows"):
        relay.parse(text.replace("nn.relu", "nn.nobody_knows"))


@limit("docs/relax.md", "`MergeCompositeFunctions` stops at branches (`R.If`).")
def tvm_stops_at_branches() -> None:
    pytest.importorskip("tvm")
    from tvm import relax

    from tests.relax.test_passes import Branches

    table = [("mychip.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    mod = relax.transform.ConvertToDataflow(1)(Branches)
    matched = relax.transform.FuseOpsByPattern(table)(mod)
    with pytest.raises(Exception, match="If"):
        relax.transform.MergeCompositeFunctions()(matched)


@limit(
    "docs/relax.md",
    "The rewrites of `FuseOpsByPattern` and `MergeCompositeFunctions` come\n  from replays. Other "
    "passes have no steps inside",
)
def other_passes_of_tvm_have_no_rewrites() -> None:
    mod = _of_relax()
    stages = byoc_lab.trace(mod, ["LegalizeOps"]).stages
    assert [stage.is_reported for stage in stages] == [False]
    assert not stages[0].events
    partitioned = byoc_lab.trace(mod, "dnnl")
    assert [stage.name for stage in partitioned if stage.events] == [
        "FuseOpsByPattern",
        "MergeCompositeFunctions",
    ]


@limit(
    "docs/relax.md", "With `script(show_meta=True)`, TVM 0.27\n  crashes Python at such a constant."
)
def tvm_crashes_on_constants() -> None:
    tvm = pytest.importorskip("tvm")
    if not tvm.__version__.startswith("0.27"):
        pytest.skip(f"TVM {tvm.__version__} is installed")
    script = (
        "import numpy as np, tvm; from tvm import relax\n"
        "block = relax.BlockBuilder()\n"
        "x = relax.Var('x', relax.TensorType((2, 3), 'float32'))\n"
        "with block.function('main', [x]):\n"
        "    block.emit_func_output(relax.op.add(x, relax.const(np.ones((2, 3), 'float32'))))\n"
        "print(len(block.get().script()) > 0, flush=True)\n"
        "block.get().script(show_meta=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "True\n" and done.returncode < 0, done.stderr


@limit("docs/relax.md", "`board`, `reduce` and the annotation rules (BYL...) support only Relay.")
def the_board_and_reduce_refuse_relax() -> None:
    mod = _of_relax()
    with pytest.raises(ByocLabError):
        byoc_lab.board(mod)
    with pytest.raises(ByocLabError):
        byoc_lab.reduce(mod, lambda mod: True)


@limit(
    "docs/relax.md",
    "A loaded module does not contain\n  TVM's module, so passes cannot run on it.",
)
def a_loaded_trace_of_relax_has_no_module() -> None:
    byoc_lab.trace(_of_relax(), ["LegalizeOps"]).save("net.trace")
    with pytest.raises(ByocLabError):
        byoc_lab.trace(byoc_lab.load_trace("net.trace").result, ["LegalizeOps"])


@limit("docs/how-to/is-my-codegen-used.md", "Right numbers prove nothing")
def right_numbers_come_without_an_offload() -> None:
    mod = typed(relay.nn.relu(relay.var("x", shape=(2, 3))))
    partitioned = byoc_lab.trace(mod, [transform.AnnotateTarget("dnll"), "PartitionGraph"]).result
    program = byoc_lab.build(partitioned)
    assert byoc_lab.validate(mod, program).ok and not list(program.cards())


def _of_relax() -> object:
    tvm = pytest.importorskip("tvm")
    block = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tvm.relax.TensorType((1, 8), "float32"))
    with block.function("main", [x]):
        with block.dataflow():
            result = block.emit_output(tvm.relax.op.nn.relu(x))
        block.emit_func_output(result)
    return block.get()


@pytest.mark.parametrize("page, words", LIMITS, ids=[f.__name__ for f in LIMITS.values()])
def test_limit_that_a_page_states_exists(
    page: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert " ".join(words.split()) in text, "the page says it otherwise; change both"
    LIMITS[page, words]()
