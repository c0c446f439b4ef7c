"""The page of versions: the changes of each version, and a link to its documentation."""

from __future__ import annotations

from tools.release import SECTION

INTRODUCTION = """\
# Versions

This is the documentation of byoc_lab {version}. `byoc_lab.__version__` tells the installed one.
"""


def versions(changelog: str, current: str) -> str:
    """The page, from CHANGELOG.md. current: the version of this site, the first in the changelog.
    The sites of earlier versions are in folders named after them."""
    parts = [INTRODUCTION.format(version=current)]
    for version, date, changes in SECTION.findall(changelog):
        earlier = f'<a href="{version}/index.html">Documentation of {version}</a>\n'
        parts += [f"## {version} ({date})", "" if version == current else earlier, changes.strip()]
    return "\n\n".join(parts) + "\n"
