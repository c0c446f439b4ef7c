"""Hostile names of functions, variables, back ends and symbols: never treated as code, markup or
paths."""

from __future__ import annotations

import random as _random
import tempfile
from pathlib import Path

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends.c_source import c_source
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.terminal import visible
from tests.fuzz.examine import Steps, limited
from tests.hostile_names import FIXED, PIECES

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TAGS = ("</script>", "</title>", "</style>", "-->", "<!--", "<b>", '" onload="', "&lt;", MARKUP)
LONGEST = 5_000  # property tests use the full names, which would take too long here


def make(random: _random.Random) -> bytes:
    pieces = [random.choice([*PIECES, *FIXED[:-2], *TAGS]) for _ in range(random.randint(1, 5))]
    return "".join(pieces)[:LONGEST].encode("utf-8", "surrogatepass")


def examine(data: bytes) -> int:
    name = data.decode("utf-8", "surrogatepass")
    steps = Steps()
    with limited():
        mod = steps.do(named, name)
        if mod is not None:
            _show(mod, name, steps)
            _write(mod, name, steps)
    return steps.done


def named(name: str) -> relay.IRModule:
    """A partitioned module in which every function, variable and back end has this name."""
    x = relay.var(name, shape=(2, 3))
    y = relay.var("y", shape=(2, 3))
    attrs = {"Primitive": 1, "Compiler": name, "global_symbol": name, "note": name}
    region = relay.Function([y], relay.nn.relu(y)).with_attr(attrs)
    external = relay.GlobalVar(name or "f")
    mod = relay.IRModule({external: region})
    mod["main"] = relay.Function([x], external(relay.exp(x)))
    return relay.transform.InferType()(mod)


def _show(mod: relay.IRModule, name: str, steps: Steps) -> None:
    """Texts, tables and pages that quote the name."""
    shown = [mod.astext, lambda: str(byoc_lab.lint(mod)), lambda: str(byoc_lab.diff(mod, mod))]
    shown += [lambda: str(byoc_lab.explain(mod, "dnnl"))]
    for text in shown:
        said = steps.do(text)
        if said is not None:
            assert "\x1b" not in visible(said)
    text = steps.do(mod.astext)
    again = text is not None and steps.do(relay.parse, text)
    if again:
        assert relay.structural_equal(again, mod), "the text is that of another module"
    for tool in (lambda: byoc_lab.lint(mod), lambda: byoc_lab.explain(mod, "dnnl")):
        found = steps.do(tool)
        page = found._repr_html_() if hasattr(found, "_repr_html_") else ""
        assert MARKUP not in page and "<img src=x" not in page, "a name is markup"


def _write(mod: relay.IRModule, name: str, steps: Steps) -> None:
    """Writes files that contain the name: saved traces, pages, and generated C."""
    trace = steps.do(byoc_lab.trace, mod, ["InferType", "SimplifyExpr"])
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder, "inside")
        inside.mkdir()
        if trace is not None:
            saved = steps.do(trace.save, inside / "trace.byoc")
            if saved is not None:
                steps.do(byoc_lab.load_trace, saved)
            page = steps.do(trace.save_html, inside / "page.html")
            if page is not None:
                written = page.read_text(encoding="utf-8")
                assert "<script>alert" not in written and "<img src=x" not in written
        assert [p.name for p in Path(folder).iterdir()] == ["inside"], "a name is a path"
    (function,) = (f for g, f in mod.functions.items() if g.name_hint != "main")
    source = steps.do(c_source, function, name)
    if source is not None:
        assert name.isidentifier() and name.isascii(), "a symbol is not an identifier of C"
    assert sum(1 for _ in post_order(function)) == 4
