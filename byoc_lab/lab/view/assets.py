"""The JavaScript and the style sheets of the view.

anywidget sends one ES module and one style sheet. The sources in `static/` are ordinary modules
that import each other; they are joined by removing these imports, so no bundler is needed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
# Each module is listed after the modules it imports.
MODULES = (
    "text/relay_text",
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
_BREAK = re.compile(r"(?<=[{(\[,;])\n|\n(?=[})\]])")  # line breaks that no statement needs
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


@cache
def esm() -> str:
    """The stepper as one ES module whose default export has `render({model, el})`; without
    comments, indentation and needless line breaks, since every widget sends it."""
    sources = ((STATIC / f"{name}.js").read_text(encoding="utf-8") for name in MODULES)
    joined = "\n".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)
    return _BREAK.sub("", _INDENT.sub("", _COMMENT.sub("", joined)))


@cache
def css() -> str:
    """The style sheet of the stepper, graph included."""
    names = ("graph/graph.css", "stepper.css", "graph/scene.css", "result_tables.css")
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)


@cache
def graph_css() -> str:
    """The style sheet of a graph alone."""
    return (STATIC / "graph" / "graph.css").read_text(encoding="utf-8")
