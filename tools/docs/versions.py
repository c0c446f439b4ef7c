"""The page of the versions: what changed in each, and its documentation."""

from __future__ import annotations

from tools.release import SECTION

INTRODUCTION = """\
# Versions

This is the documentation of byoc_lab {version}. `byoc_lab.__version__` tells the installed one.
"""


def versions(changelog: str, current: str) -> str:
    """The page, from CHANGELOG.md. current: the version of this site, which begins the changelog;
    the sites of earlier versions are in folders with their names."""
    parts = [INTRODUCTION.format(version=current)]
    for version, date, changes in SECTION.findall(changelog):
        earlier = f'<a href="{version}/index.html">Documentation of {version}</a>\n'
        parts += [f"## {version} ({date})", "" if version == current else earlier, changes.strip()]
    return "\n\n".join(parts) + "\n"
