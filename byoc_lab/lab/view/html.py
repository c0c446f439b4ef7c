"""The self-contained HTML page: it needs no kernel and no network.

The page contains the JavaScript module of the widget and the state, as gzip in base64, which is
small and cannot contain `</script>`. The content policy of the page forbids every connection. Equal
states give equal bytes.
"""

from __future__ import annotations

import html
import json

from byoc_lab.lab.view.assets import packed, script
from byoc_lab.lab.view.messages import State

POLICY = "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
html, body {{ height: 100%; margin: 0; }}
body {{ background: light-dark(#fff, #17191e); }}
#stepper > .byl {{ height: 100vh; border: 0; border-radius: 0; resize: none; }}
#text {{ padding: 1em; margin: 0; overflow: auto; font: 12px/1.5 monospace; }}
.scripted #text {{ display: none; }}
.scripted h1 {{ position: absolute; clip-path: inset(50%); }}
</style>
</head>
<body>
<main id="stepper"><h1 class="byl-live">{title}</h1></main>
<pre id="text">{text}</pre>
<script type="text/plain" id="esm">{esm}</script>
<script type="text/plain" id="state">{state}</script>
<script>
"use strict";
// The text is shown where this script, or the module in it, is not allowed to run.
document.documentElement.classList.add("scripted");
async function unpacked(id) {{
  const packed = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}}
(async () => {{
  const source = new Blob([await unpacked("esm")], {{ type: "text/javascript" }});
  const {{ default: view }} = await import(URL.createObjectURL(source));
  view.open(JSON.parse(await unpacked("state")), document.getElementById("stepper"));
}})().catch((error) => {{
  document.documentElement.classList.remove("scripted");
  console.error(error);
}});
</script>
</body>
</html>
"""


def page(state: State, text: str = "") -> str:
    """The page for a state (`messages.State`). The address can name the view to open:
    "trace.html#stage=3&rewrite=2&node=n12", with stages and rewrites from 1.

    text: shown if scripts, or scripts from `blob:` addresses, may not run.
    """
    return _PAGE.format(
        policy=POLICY,
        title=html.escape(f"{state['title']} · byoc_lab"),
        text=html.escape(text),
        esm=script(),
        state=packed(json.dumps(state, ensure_ascii=False, separators=(",", ":"))),
    )


MAX_TEXT = 20_000  # maximum number of characters of the text below a frame

# The HTML follows the widget's output; the widget is visible if it works, otherwise the HTML. A
# frame gets the theme of its host, which the page inside sees as the system's preference.
_SAVED = """<style>
.jp-OutputArea-child:has(.byl) + .jp-OutputArea-child:has(.byl-saved) {{ display: none; }}
.jp-OutputArea-child:has(+ .jp-OutputArea-child .byl-saved):not(:has(.byl)):not(:has(.byl-saved))
  {{ display: none; }}
[data-jp-theme-light="false"] .byl-frame,
.vscode-dark .byl-frame, .dark .byl-frame, [data-theme="dark"] .byl-frame,
[data-md-color-scheme="slate"] .byl-frame {{ color-scheme: dark; }}
[data-jp-theme-light="true"] .byl-frame, .vscode-light .byl-frame, .light .byl-frame,
[data-theme="light"] .byl-frame, [data-md-color-scheme="default"] .byl-frame
  {{ color-scheme: light; }}
</style>
<div class="byl-saved" data-of="{of}">{shown}</div>"""


def saved(shown: str, text: str, name: str) -> str:
    """The HTML that replaces a widget without a kernel: `shown`, and the text.

    name: the `saved_as` of the widget, which hides this HTML while it is displayed.
    """
    both = shown if "<pre" in shown else shown + as_text(text, folded=True)
    return _SAVED.format(shown=both, of=html.escape(name))


def as_text(text: str, folded: bool = False) -> str:
    """The text of an object as HTML, cut to MAX_TEXT characters; `folded`: collapsed at first."""
    cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n…"
    shown = f"<pre>{html.escape(cut)}</pre>"
    return f"<details><summary>As text</summary>{shown}</details>" if folded else shown


def iframe(page_text: str, links: bool = False) -> str:
    """A frame that shows the page inside another page. It may only run its script; with `links`, a
    clicked link may also open in a new tab."""
    allowed = "allow-scripts"
    if links:
        allowed += " allow-popups allow-popups-to-escape-sandbox"
    return (
        f'<iframe class="byl-frame" sandbox="{allowed}" loading="lazy" title="byoc_lab" '
        f'srcdoc="{html.escape(page_text)}" '
        f'style="width:100%;height:640px;border:1px solid #8886;border-radius:8px"></iframe>'
    )
