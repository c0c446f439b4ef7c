"""The Python side of the widget, the HTML page, and displays in Jupyter."""

from __future__ import annotations

import ast
import base64
import gzip
import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import traitlets

from byoc_lab import lint, relay
from byoc_lab.errors import PassError
from byoc_lab.lab.diffing import diff
from byoc_lab.lab.view import Stepper, assets, bundles, export_html, mimebundle
from byoc_lab.lab.view.html import page
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.lab.view.states.state import trace_state
from byoc_lab.passes.framework.infer_type import InferType
from tests.lab.view.samples import annotated, chain, lists, network

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_state_is_sent_and_the_index_stays_in_range() -> None:
    stepper = Stepper(chain())
    assert stepper.state == trace_state(chain())
    stepper.index = 2
    assert stepper.stage is chain().stages[2]
    for wrong in (-1, 3):
        with pytest.raises(traitlets.TraitError, match=r"index must be in \[0, 3\)"):
            stepper.index = wrong
    assert stepper.index == 2


def test_text_of_the_stepper_follows_its_index() -> None:
    stepper = Stepper(chain(), index=0)
    assert "[0] InferType" in str(stepper)
    stepper.index = 1
    assert "[1] Annotate" in str(stepper)
    assert "Conv, batch norm, relu: 3 stages" in str(stepper)


def test_no_other_traits_are_synchronized() -> None:
    synced = set(Stepper(chain()).trait_names(sync=True, help=None))
    own = {n for n in synced if not n.startswith("_")}
    ours = own - {"comm", "keys", "layout", "tabbable", "tooltip"}
    shown = {"state", "index", "selected_id", "rewrite", "asked", "answer", "overlays"}
    assert ours == {*shown, "saved_as", "script"}


def test_javascript_modules_are_joined_without_imports() -> None:
    source = assets.esm()
    assert not re.search(r"^\s*import\b", source, re.MULTILINE)
    assert re.findall(r"^export .*", source, re.MULTILINE) == ["export default { render, open };"]
    assert {
        str(f.relative_to(assets.STATIC).with_suffix("")) for f in assets.STATIC.rglob("*.js")
    } == set(assets.MODULES)


def test_widget_sends_the_script_compressed() -> None:
    sent = Stepper(chain())._esm
    (data,) = re.findall(r'unpacked\("([^"]+)"\)', sent)
    assert gzip.decompress(base64.b64decode(data)).decode() == assets.esm()
    assert len(sent) < 65_000
    assert len(assets.css()) < 35_000


def test_script_contains_the_style_sheet() -> None:
    before, style = assets.esm().split("const STYLE = ")
    assert json.JSONDecoder().raw_decode(style)[0] == assets.css()
    assert assets.css() not in before


def test_style_sheet_keeps_its_rules_without_comments() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in assets.STATIC.rglob("*.css"))
    assert assets.css().count("{") == re.sub(r"/\*.*?\*/", "", sources, flags=re.DOTALL).count("{")
    assert "/*" not in assets.css() and "*/" in sources


def test_script_never_writes_html_from_strings() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", assets.esm())


def test_script_loads_nothing() -> None:
    for text in (assets.esm(), assets.css(), page(trace_state(chain()))):
        addresses = set(re.findall(r"https?://[\w./]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_page_contains_the_state() -> None:
    state = trace_state(chain())
    document = page(state, "the text")
    packed = re.search(r'id="state">([^<]*)</script>', document)
    assert packed
    assert json.loads(gzip.decompress(base64.b64decode(packed[1]))) == lists(state)
    assert '<pre id="text">the text</pre>' in document
    assert len(html.escape(document)) - len(packed[1]) - len(assets.script()) < 2_500
    assert "default-src 'none'" in document


def test_equal_traces_give_equal_bytes(tmp_path: Path) -> None:
    first = export_html(chain(), tmp_path / "a.html").read_bytes()
    assert export_html(chain(), tmp_path / "b.html").read_bytes() == first


def test_hostile_title_stays_text() -> None:
    state = {**trace_state(chain()), "title": "</title><script>alert(1)</script>"}
    assert "<script>alert(1)" not in page(state, "</pre><script>alert(1)</script>")


def test_jupyter_gets_widget_html_and_text() -> None:
    bundle = mimebundle(chain())
    assert {WIDGET, "text/html", "text/plain"} <= set(bundle)
    assert bundle["text/plain"].startswith("Conv, batch norm, relu: 3 stages")
    frame = re.search(
        r'<iframe class="byl-frame" sandbox="allow-scripts" loading="lazy" title="byoc_lab" '
        r'srcdoc="([^"]*)" style="[^"]*"></iframe>',
        bundle["text/html"],
    )
    assert frame and html.unescape(frame[1]).startswith("<!doctype html>")


def test_nbconvert_writes_the_text_as_markdown_with_the_option_of_the_documentation() -> None:
    nbformat = pytest.importorskip("nbformat")
    exporters = pytest.importorskip("nbconvert.exporters")
    documented = (Path(__file__).parents[3] / "docs/view.md").read_text(encoding="utf-8")
    found = re.search(r'--NbConvertBase\.display_data_priority="(.*)"', documented)
    assert found is not None
    make = nbformat.v4
    bundle = mimebundle(chain())
    output = make.new_output("display_data", data=bundle)
    notebook = make.new_notebook(cells=[make.new_code_cell("recorded", outputs=[output])])
    wanted = {"NbConvertBase": {"display_data_priority": ast.literal_eval(found[1])}}
    exporter = exporters.MarkdownExporter(config=traitlets.config.Config(wanted))
    text, _ = exporter.from_notebook_node(notebook)
    assert "Conv, batch norm, relu: 3 stages" in text and "<iframe" not in text
    assert len(text) < 2 * len(bundle["text/plain"])


def test_every_displayable_object_has_a_widget() -> None:
    mod = annotated(fixed=False)
    for obj in (chain(), mod, mod["main"], lint(mod), diff(InferType()(network()), mod)):
        assert WIDGET in mimebundle(obj)


def test_state_of_an_unsupported_object_is_refused() -> None:
    with pytest.raises(PassError, match="found int"):
        state_of(3)


def test_page_too_large_for_a_notebook_is_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MAX_HTML", 1000)
    assert {WIDGET, "text/plain"} == set(mimebundle(chain()))


def test_modules_and_functions_are_displayed() -> None:
    assert WIDGET in annotated(fixed=True)._repr_mimebundle_()
    x = relay.var("x", shape=(2, 2))
    assert WIDGET in relay.Function([x], relay.nn.relu(x))._repr_mimebundle_()


def test_text_and_graphs_need_no_widget_packages() -> None:
    """`import byoc_lab.lab.view` does not import anywidget, ipywidgets and graphviz."""
    code = (
        "import sys, byoc_lab.lab.view;"
        "print(sorted({'anywidget', 'ipywidgets', 'graphviz', 'IPython'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_module_too_large_for_a_browser_is_displayed_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundles, "MAX_LINES", 10)
    bundle = mimebundle(chain())
    assert set(bundle) == {"text/plain"}
    assert "not drawn" in bundle["text/plain"]
