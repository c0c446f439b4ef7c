"""Workflows use existing targets, pinned actions and the package's Python versions; tags are
checked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from tools.release import notes

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
each = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
GITHUB_MAX = 125_000
"""Characters that the notes of a release may have."""
# The parts of a release: the action that publishes each, and the permission that it needs.
PUBLISHED = {
    "pypi": ("pypa/gh-action-pypi-publish", "id-token"),
    "pages": ("actions/deploy-pages", "pages"),
    "image": ("docker/build-push-action", "packages"),
    "release": ("", "contents"),
}


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"])


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def commands(path: Path) -> list[str]:
    """The command lines of the steps; for a matrix of targets, those of each target."""
    lines = []
    for job in jobs(path).values():
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [""]):
            for step in job["steps"]:
                text = step.get("run", "").replace("${{ matrix.target }}", target)
                lines += text.splitlines()
    return lines


def release() -> dict[str, dict[str, Any]]:
    return jobs(ROOT / ".github" / "workflows" / "release.yml")


@each
def test_every_action_is_pinned_to_a_commit_with_its_version(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    text = path.read_text(encoding="utf-8")
    assert used
    for name in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name), name
        assert re.search(rf"{re.escape(name)}  # v\d+\.\d+\.\d+$", text, re.M), name


def test_each_action_has_one_version() -> None:
    used = {step["uses"] for path in WORKFLOWS for step in steps(path) if "uses" in step}
    assert len({name.partition("@")[0] for name in used}) == len(used), sorted(used)


@each
def test_commands_call_existing_targets_and_files(path: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in commands(path):
        words = line.split()
        if words[0] == "make":
            assert words[1] in targets, line
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file(), line
        elif words[0].startswith("."):
            assert (ROOT / words[0]).is_file(), line


@each
def test_python_versions_are_those_of_the_package(path: Path) -> None:
    known = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    used = re.findall(r"\b3\.\d+\b", re.sub(r"#.*", "", path.read_text(encoding="utf-8")))
    assert used and set(used) <= set(known)
    if path.stem == "ci":
        assert {known[0], known[-1]} <= set(used), "the oldest and the newest are tested"


def test_each_part_is_published_after_all_are_built_and_only_for_a_tag() -> None:
    found = release()
    for name, (action, permission) in PUBLISHED.items():
        job = found[name]
        assert job["permissions"][permission] == "write", name
        assert {"wheels", "site"} <= set(needed(found, name)), name
        pushing = [s for s in job["steps"] if s.get("uses", "").startswith(action) and action]
        only_on_a_tag = "github.event_name == 'push'"
        assert job.get("if") == only_on_a_tag or only_on_a_tag in pushing[0]["with"]["push"], name
    others = [job for name, job in found.items() if name not in PUBLISHED]
    assert all("permissions" not in job for job in others), "the rest may read only"


def test_workflows_use_no_secrets() -> None:
    for path in WORKFLOWS:
        assert "secrets." not in path.read_text(encoding="utf-8")


def test_published_files_are_written_by_make_targets() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    for target, written in (("wheel", "dist"), ("docs", "build/site"), ("lite", "build/lite")):
        assert f"make {target}\n" in text and written in text
        (line,) = re.findall(rf"^{target}:.*(?:\n\t.*)*", makefile, re.M)
        assert written in line, f"make {target} no longer says {written}"


def needed(found: dict[str, dict[str, Any]], name: str) -> list[str]:
    """The jobs that a job waits for, directly or indirectly."""
    direct = found[name].get("needs", [])
    return [*direct, *(job for before in direct for job in needed(found, before))]


def test_tag_is_released_if_it_is_the_version_and_has_a_date() -> None:
    changelog = "## [0.2.0] - 2027-01-31\n\n### Added\n\n- News.\n\n## [0.1.0] - 2026-01-01\n"
    assert notes("v0.2.0", "0.2.0", changelog) == "### Added\n\n- News.\n"
    for tag, version, text, why in (
        ("v0.2.1", "0.2.0", changelog, "tag v0.2.0"),
        ("v0.3.0", "0.3.0", changelog, "no section"),
        ("v0.2.0", "0.2.0", changelog.replace("2027-01-31", "unreleased"), "write the date"),
    ):
        with pytest.raises(SystemExit, match=why):
            notes(tag, version, text)


def test_tag_of_this_version_can_be_released_once_the_changelog_has_its_date() -> None:
    version = byoc_lab.__version__
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    # The section of a new version has no entry yet.
    dated = changelog.replace(
        f"[{version}] - unreleased", f"[{version}] - 2026-01-01\n\n### Added\n\n- An entry."
    )
    found = notes(f"v{version}", version, dated)
    assert found.startswith("### ") and len(found) < GITHUB_MAX


def test_changelog_begins_with_the_version_of_the_package() -> None:
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert heads[0].startswith(f"[{byoc_lab.__version__}] - ")
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d|unreleased)", h) for h in heads)
    assert not any("unreleased" in head for head in heads[1:])
