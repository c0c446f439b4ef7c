"""The usual files of a repository exist, and their statements are true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab.run.tvm_runtime import REQUIREMENT

ROOT = Path(__file__).parents[1]
PAGES = ("CONTRIBUTING.md", "README.md", "CHANGELOG.md", "SECURITY.md")
FILES = ("LICENSE", "NOTICE", "CITATION.cff", ".pre-commit-config.yaml", "Makefile", *PAGES)
# Folders and files in the root with which a path in a page begins.
PATH = re.compile(
    r"`((?:byoc_lab|tests|docs|tools|notebooks|native|benchmarks|\.github)/[\w./-]*"
    r"|[A-Z]+(?:\.md|\.cff)|pyproject\.toml|Makefile|LICENSE|NOTICE)`"
)
MODULE = re.compile(r"`(byoc_lab(?:\.\w+)+)`")
REGISTRIES = ("pypi.org", "pythonhosted.org", "conda.anaconda.org", "anaconda.org", "index-url")
CODE = {".py", ".js", ".cc", ".h", ".ipynb"}
WRITTEN_HERE = {".md", ".toml", ".yml", ".yaml", ".cff", ".sh", ".py", ".txt", ".ipynb", ".cfg", ""}


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_usual_file_exists(name: str) -> None:
    assert _text(name).strip()


def test_licence_equals_the_declared_one() -> None:
    assert "Apache License" in _text("LICENSE") and "Version 2.0" in _text("LICENSE")
    assert 'license = "Apache-2.0"' in _text("pyproject.toml")
    for work in ("Apache TVM", "oneDNN"):
        assert work in _text("NOTICE"), "whose work is used is named"


def test_messages_name_the_declared_version_of_apache_tvm() -> None:
    assert f'"{REQUIREMENT}"' in _text("pyproject.toml")


def test_citation_names_this_version() -> None:
    fields = dict(re.findall(r"^([a-z-]+): +(.*)$", _text("CITATION.cff"), re.M))
    assert fields["cff-version"] == "1.2.0"
    assert fields["license"] == "Apache-2.0" and fields["type"] == "software"
    assert fields["version"] == byoc_lab.__version__
    assert fields["title"] and fields["message"] and "authors:" in _text("CITATION.cff")


def test_changelog_has_its_format() -> None:
    text = _text("CHANGELOG.md")
    assert text.startswith("# Changelog\n")
    versions = re.findall(r"^## \[(.*?)\]", text, re.M)
    assert versions and len(set(versions)) == len(versions)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= kinds


@pytest.mark.parametrize(
    "path",
    sorted(
        [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]
    ),
    ids=lambda path: path.name,
)
def test_yaml_files_can_be_parsed(path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_pages_and_hooks_call_existing_targets_and_tools() -> None:
    """Targets of make, scripts, and tools in the environment of `make setup`."""
    targets = set(re.findall(r"^(\w+):", _text("Makefile"), re.M))
    for name in (".pre-commit-config.yaml", *PAGES):
        called = set(re.findall(r"(?:run: |entry: |`|^)make (\w+)", _text(name), re.M))
        assert called <= targets, f"{name} names {called - targets}"
    tools = set(re.findall(r"entry: \.venv/bin/(\w+)", _text(".pre-commit-config.yaml")))
    assert tools <= {"ruff", "python"}


@pytest.mark.parametrize("page", [*PAGES, "docs/explanation/architecture.md"])
def test_paths_that_a_page_names_exist(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", _text(page), flags=re.M | re.S)
    if page == "CONTRIBUTING.md":
        text = text.partition("## Recipes")[0] + "".join(re.findall(r"^\w.*$", text, re.M))
    named = set(PATH.findall(text))
    assert named
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing, f"{page} names {', '.join(missing)}"


def test_modules_that_the_changelog_names_exist() -> None:
    rows = re.findall(r"^  \| (.*?) \| (.*?) \|$", _text("CHANGELOG.md"), re.M)
    now = {name for _, after in rows for name in MODULE.findall(after)}
    assert len(now) > 10
    names = "\n".join(f"import {name}" for name in sorted(now))
    done = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_no_package_registry_is_named() -> None:
    """pip's configuration defines where packages are downloaded from."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout of git")
    found = [
        f"{name}: {registry}"
        for name in filter(None, listed.split("\0"))
        if Path(name).suffix in WRITTEN_HERE
        and (ROOT / name).is_file()
        and (ROOT / name) != Path(__file__)
        for registry in REGISTRIES
        if registry in (ROOT / name).read_text(encoding="utf-8", errors="ignore")
    ]
    assert not found, found


def test_smoke_target_names_existing_paths() -> None:
    text = _text("Makefile").replace("\\\n", " ")
    (line,) = re.findall(r"^SMOKE\s*=\s*(.*)$", text, re.M)
    for path in line.split():
        assert (ROOT / path).exists(), path


def test_make_help_lists_every_target() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    text = _text("Makefile").replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.M)
    defined = set(re.findall(r"^(\w+):", text, re.M))
    assert set(phony.split()) == defined
    for target in defined:
        assert re.search(rf"^  make {target}\s{{2,}}\S", done.stdout, re.M), target


# Words whose plain form is used instead: fix, match, permute, supported, recorded, MAX_.
UNCLEAR = re.compile(r"\b(mend(s|ed|ing)?|unpick(s|ed)?|twins?|heard)\b|\b(MOST|LARGEST)_[A-Z]")


def test_names_and_texts_use_plain_words() -> None:
    folders = ("byoc_lab", "native", "notebooks", "docs", "benchmarks", "tools", "tests")
    files = [p for f in folders for p in (ROOT / f).rglob("*") if p.suffix in {".md", *CODE}]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (*files, *(ROOT / page for page in PAGES))
        if path != Path(__file__)
        for match in UNCLEAR.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
