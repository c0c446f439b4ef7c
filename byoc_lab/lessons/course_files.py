"""The notebooks of the course and the pages that they link to, and copying them."""

from __future__ import annotations

from pathlib import Path

from byoc_lab.errors import MissingDependencyError

FIRST = Path("notebooks", "00_start_here.ipynb")
FILES = ("notebooks/*.ipynb", "notebooks/exercises/*.ipynb", "docs/**/*.md")
SITE = Path("docs", "index.md")  # the first page of the site, whose pictures are not copied
_PACKAGE = Path(__file__).parents[1]
# In a wheel the files are inside the package; in a clone, next to it.
_ROOTS = (_PACKAGE / "_course", _PACKAGE.parent)


def installed_course() -> Path:
    """The folder with the files of the course, as installed.

    Raises MissingDependencyError if this installation lacks them.
    """
    for root in _ROOTS:
        if (root / FIRST).is_file():
            return root
    raise MissingDependencyError(
        f"the notebooks are missing: expected {' or '.join(str(root / FIRST) for root in _ROOTS)}; "
        f"install a wheel of byoc-lab, or run `pip install .` in a clone"
    )


def copy_course(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the files of the course into a folder, below notebooks/ and docs/.

    Returns the files that were written, and existing files that differ and were therefore kept.
    Raises MissingDependencyError and OSError.
    """
    root = installed_course()
    written, kept = [], []
    found = {path for pattern in FILES for path in root.glob(pattern)} - {root / SITE}
    for source in sorted(found):
        target = folder / source.relative_to(root)
        content = source.read_bytes()
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("xb") as new:
                new.write(content)
            written.append(target)
        except FileExistsError:
            if target.read_bytes() != content:
                kept.append(target)
    return written, kept
