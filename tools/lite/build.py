"""Make the laboratory in one file: `python -m tools.lite.build` (`make lite`).

Writes build/lite: byoc_lab.html, which opens from disk, and a site for any web server.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from byoc_lab.lab.view.assets import esm
from byoc_lab.lessons.table import SCRIPT as CASE_TABLE
from byoc_lab.version import VERSION
from tools.docs.source import Sources
from tools.lite.articles import Article, articles_of, notebook_source
from tools.lite.choices import choices, sample_state
from tools.lite.documentation import documentation, linked_sources
from tools.lite.guest_files import guest_files
from tools.lite.ingredients import PYTHON, ROOT, WEB, fetch
from tools.lite.licences import licences
from tools.lite.stored import stored_outputs

NOTEBOOKS = ROOT / "notebooks"
OUT = ROOT / "build" / "lite"
MAX_BYTES = 50_000_000
ONE_FILE, SITE = "byoc_lab.html", "index.html"
POLICY = (
    "default-src 'none'; script-src {digests} blob: 'wasm-unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:; "
    "connect-src {connect}; form-action 'none'; base-uri 'none'"
)


def articles(sources: Sources) -> list[Article]:
    """The tutorials, the exercises and the documentation; `sources` creates links to source
    lines."""
    folders = (("Tutorials", NOTEBOOKS), ("Exercises", NOTEBOOKS / "exercises"))
    course = [
        notebook_source(path, group)
        for group, folder in folders
        for path in sorted(folder.glob("*.ipynb"))
    ]
    return articles_of([*course, *documentation(sources)])


def bundled(name: str) -> str:
    """A script of web/ bundled with its imports."""
    options = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--legal-comments=none"]
    esbuild = WEB / "node_modules" / ".bin" / "esbuild"
    made = subprocess.run([esbuild, WEB / name, *options], check=True, capture_output=True)
    return made.stdout.decode()


def shared() -> dict[str, str]:
    """The parts that the single file and the site share, by their placeholders in page.html."""
    sources = linked_sources()
    found = articles(sources)
    script = bundled("main.js")
    notebooks = {a.name: a.notebook for a in found if a.notebook}
    return {
        "version": VERSION,
        "digests": f"{_digest(script)} {_digest(CASE_TABLE)}",  # a frame has the policy of its page
        "style": (WEB / "page.css").read_text(encoding="utf-8"),
        "navigation": _navigation(found),
        "articles": "\n".join(_article(a) for a in found),
        "playground": (WEB / "playground.html").read_text(encoding="utf-8"),
        "choices": _json(choices()),
        "sample_state": _packed(json.dumps(sample_state())),
        "licence_texts": _packed(licences()),
        "sources": _packed(json.dumps(sources.texts)),
        "notebooks": _packed(json.dumps(notebooks)),
        "stored": _json(stored_outputs(NOTEBOOKS)),
        "view": _json(esm()),
        "worker": _json(bundled("worker.js")),
        "script": script,
    }


def page(parts: dict[str, str], ingredients: dict[str, str], connect: str) -> str:
    """The page. parts: the result of `shared`. ingredients: "python" and "files", each as gzip data
    in base64, or as a file name beside the page. connect: the allowed sources of connections:
    "'self'" or "'none'"."""
    policy = POLICY.format(digests=parts["digests"], connect=connect)
    values = {**parts, "policy": html.escape(policy), **ingredients}
    text = (WEB / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], text)


def _digest(script: str) -> str:
    """The source of a content security policy that allows an inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _packed(text: str) -> str:
    """A text compressed by gzip, in base64."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _json(value: object) -> str:
    """JSON for a script element, which would end at the first `</script>`."""
    return json.dumps(value).replace("<", "\\u003c")


def _article(article: Article) -> str:
    label = html.escape(article.title)
    return f'<article id="{article.name}" aria-label="{label}" hidden>\n{article.html}\n</article>'


def _navigation(found: list[Article]) -> str:
    groups = dict.fromkeys(article.group for article in found)
    return "\n".join(
        f'<section id="group-{group.lower().replace(" ", "-")}">\n<h2>{group}</h2>\n<ul>'
        + "".join(
            f'<li><a href="#{a.name}">{html.escape(a.title)}</a></li>'
            for a in found
            if a.group == group
        )
        + "</ul></section>"
        for group in groups
    )


def main() -> int:
    ingredients = fetch()
    packed = {
        "python": (ingredients / PYTHON).read_bytes(),
        "files": gzip.compress(guest_files(ingredients), mtime=0),
    }
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    inside = {name: base64.b64encode(data).decode() for name, data in packed.items()}
    parts = shared()  # runs notebooks
    write(OUT / ONE_FILE, page(parts, inside, "'none'"))
    beside = {}
    for name, data in packed.items():
        beside[name] = f"{name}.bin"
        (OUT / beside[name]).write_bytes(data)
    write(OUT / SITE, page(parts, beside, "'self'"))
    size = (OUT / ONE_FILE).stat().st_size
    assert size <= MAX_BYTES, f"{ONE_FILE} has {size:,} bytes, and {MAX_BYTES:,} is the limit"
    print(f"wrote {(OUT / ONE_FILE).relative_to(ROOT)} ({size / 1e6:.1f} MB)")
    return 0


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
