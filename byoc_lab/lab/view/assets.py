"""The JavaScript and the style sheets of the view.

Widgets and pages have one ES module, which contains the style sheet. The sources in `static/` are
ordinary modules that import each other; they are joined by removing these imports, so no bundler is
needed.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
# Each module is listed after the modules it imports.
MODULES = (
    "text/relay_text",
    "style",
    "text/moves",
    "text/compare",
    "lineage",
    "text/diff_view",
    "graph/topology",
    "graph/layout_sizes",
    "graph/layout_placing",
    "graph/layout_paths",
    "graph/layout",
    "graph/layout_worker",
    "graph/scene_drawing",
    "graph/overlay",
    "graph/scene_search",
    "graph/camera",
    "graph/overview",
    "graph/scene_view",
    "stage_list",
    "panels",
    "store",
    "header",
    "heading",
    "text/virtual_list",
    "text/text_pane",
    "graph/graph_pane",
    "board_bar",
    "node_panel",
    "result_tables",
    "rewrites",
    "saved_copy",
    "saved_page",
    "player",
    "presenter",
    "borders",
    "keys",
    "help",
    "theme",
    "stepper",
)
_IMPORT = re.compile(r'^import .* from "\.{1,2}/[\w/]+\.js";\n', re.MULTILINE)
_COMMENT = re.compile(r"(?:^ *| +)// .*$|/\*\*(?:[^*]|\*(?!/))*\*/", re.MULTILINE)
_INDENT = re.compile(r"^\s+", re.MULTILINE)
_BREAK = re.compile(r"(?<=[{(\[,;])\n|\n(?=[})\]])")  # line breaks that JavaScript does not need
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_BREAK = re.compile(r"(?<=[{;,}])\n")
LEVEL = 7  # gzip level: 9 takes twice as long to save 2 %
_STYLE = 'const STYLE = "";'  # the placeholder in style.js
_UNPACKING = """async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const source = new Blob([await new Response(stream).text()], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  const { default: view } = await import(address);
  URL.revokeObjectURL(address);
  return view;
}
"""
_SHARED = """// The widgets of a page import the module once.
const views = (globalThis.byocLabViews ??= new Map());
async function viewOf(model) {
  const name = model.get("script").replace("IPY_MODEL_", "");
  const packed = (await model.widget_manager.get_model(name)).get("packed");
  if (!views.has(packed)) views.set(packed, unpacked(packed));
  return views.get(packed);
}
export default {
  async render({ model, el }) {
    const view = await viewOf(model).catch((error) => console.error(error));
    if (view) return view.render({ model, el });
    el.textContent = "The script of this view could not be loaded. Run the cell again.";
  },
};
"""


@cache
def esm() -> str:
    """The stepper and its style sheet as one ES module, without comments, indentation and needless
    line breaks. Its default export has `render({model, el})`, and `open(state, el)` for pages."""
    sources = ((STATIC / f"{name}.js").read_text(encoding="utf-8") for name in MODULES)
    joined = "\n".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)
    code = _BREAK.sub("", _INDENT.sub("", _COMMENT.sub("", joined)))
    return code.replace(_STYLE, f"const STYLE = {json.dumps(css(), ensure_ascii=False)};")


@cache
def script() -> str:
    """The module of `esm`, compressed."""
    return packed(esm())


@cache
def whole_esm() -> str:
    """A module for one widget. It contains the compressed module and unpacks it on import, in each
    browser that opens a saved page."""
    return f'{_UNPACKING}export default await unpacked("{script()}");\n'


def shared_esm() -> str:
    """A module for a widget that gets the compressed module from a separate widget
    (`SharedScript`)."""
    return _UNPACKING + _SHARED


def packed(text: str) -> str:
    """A text as gzip in base64; equal texts give equal bytes."""
    # UTF-8 cannot encode half of a surrogate pair; a backslash escape represents it in JSON.
    data = text.encode("utf-8", "backslashreplace")
    return base64.b64encode(gzip.compress(data, LEVEL, mtime=0)).decode("ascii")


@cache
def css() -> str:
    """The style sheet of the stepper and the graph, without comments and indentation."""
    names = ("graph/graph.css", "stepper.css", "graph/scene.css", "result_tables.css")
    joined = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
    return _CSS_BREAK.sub("", _INDENT.sub("", _CSS_COMMENT.sub("", joined)))


@cache
def graph_css() -> str:
    """The style sheet of a graph alone."""
    return (STATIC / "graph" / "graph.css").read_text(encoding="utf-8")
