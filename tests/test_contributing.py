"""CONTRIBUTING.md: each recipe is executed in a copy of the repository."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from byoc_lab.backends.system_compiler import compiler_command
from tests.test_imports import ABOVE_THEIR_FOLDER, LAYERS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
PYTHON = ".venv/bin/python"

# For each recipe, an expression that shows that its result was found: by discovery, or by an
# import.
FOUND = {
    "Add an operator": "from byoc_lab import relay; relay.cube",
    "Add a pass": "from byoc_lab.passes import make_pass; make_pass('RemoveDoubleNegative')",
    "Add a lint rule": (
        "from byoc_lab.lab.linting import all_rules; "
        "assert 'BYL090' in [rule.code for rule in all_rules()]"
    ),
    "Add a back end": (
        "import byoc_lab.backends.chain; byoc_lab.backends.get('chain'); "
        "assert 'chain' in byoc_lab.passes.pipeline_names()"
    ),
    "Add an importer": (
        "from byoc_lab.importers import importers; "
        "assert 'dense layers' in [i.name for i in importers()]"
    ),
    "Add a case": (
        "from byoc_lab.lessons.cases import all_cases; "
        "assert 'forgotten-end' in [case.name for case in all_cases()]"
    ),
    "Add an exercise": (
        "from byoc_lab.lessons.exercises import all_exercises; "
        "assert 'offload-the-tanh' in [e.name for e in all_exercises()]"
    ),
}

# For each recipe, a change after which its own command must fail.
MISTAKES = {
    "Add an operator": ("x * x * x)", "x * x)"),
    "Add a pass": ("return inner.args[0] if", "return inner if"),
    "Add a lint rule": ('node.is_op("nn.dropout")', 'node.is_op("nn.relu")'),
    "Add a back end": ("fabsf(x)", "-fabsf(x)"),
    "Add an importer": ("relay.nn.relu(out) if number else out", "out"),
    "Add a case": ('codes = ("BYL002",)', 'codes = ("BYL001",)'),
    "Add an exercise": ('regions = (("dnnl", ("tanh",)),)', 'regions = (("dnnl", ("abs",)),)'),
}

# The tests that check the whole repository's structure.
STRUCTURE = (
    "tests/test_mirror.py", "tests/test_mirror_lab.py", "tests/test_imports.py",
    "tests/test_files.py", "tests/test_errors.py", "tests/test_repository.py",
    "tests/lab/linting/test_pages.py", "tests/relay/op/test_table.py",
    "tests/notebooks/test_links.py", "tests/lessons/grading/test_handout.py",
    "tests/importers/test_importers.py", "tests/docs/test_symptoms.py",
)  # fmt: skip

# A development installation puts a finder before PYTHONPATH. This module is imported at startup
# and removes it, so that the copy is tested.
SITECUSTOMIZE = """\
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
"""


@dataclass(frozen=True)
class Recipe:
    """A section of CONTRIBUTING.md: files to write, changes to make, commands to run."""

    name: str
    files: dict[str, str]
    changes: dict[str, str]
    commands: tuple[str, ...]

    def follow(self, folder: Path) -> None:
        for path, text in self.files.items():
            target = folder / path
            assert not target.exists(), f"{path} exists already"
            assert target.parent.is_dir() or path.startswith("tests/"), f"no folder for {path}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for path, change in self.changes.items():
            target = folder / path
            target.write_text(_changed(target.read_text(encoding="utf-8"), change, path))


def _recipes() -> list[Recipe]:
    _, _, text = TEXT.partition("\n## Recipes\n")
    found = []
    for section in text.split("\n### ")[1:]:
        name, _, body = section.partition("\n")
        blocks = BLOCK.findall(body)
        found.append(
            Recipe(
                name,
                {path: text for kind, path, text in blocks if kind == "python"},
                {path: text for kind, path, text in blocks if kind == "diff"},
                tuple(c for kind, _, text in blocks if kind == "sh" for c in text.splitlines()),
            )
        )
    return found


def _changed(text: str, change: str, path: str) -> str:
    """The text after a change whose lines begin with a space, + or -."""
    lines = change.splitlines(keepends=True)
    before, after = ("".join(n[1:] for n in lines if n[0] in kept) for kept in (" -", " +"))
    assert text.count(before) == 1, f"{path} has {text.count(before)} places for the change"
    return text.replace(before, after)


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def _run_commands(recipe: Recipe, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the recipe's commands, up to the first that fails."""
    for command in recipe.commands:
        python, *arguments = shlex.split(command)
        assert python == PYTHON, command
        done = _run(folder, *arguments)
        if done.returncode:
            break
    return done


RECIPES = _recipes()
QUICK = {"Add a lint rule", "Add an importer"}  # the other recipes run in the slow tests


def _label(recipe: Recipe) -> str:
    return recipe.name.replace(" ", "-")


each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=_label)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files that the recipes need."""
    folder = tmp_path / "copy"
    unneeded = shutil.ignore_patterns("golden", "browser", "data", "*.tmp")
    for name in ("byoc_lab", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=unneeded if name == "tests" else None)
    (folder / "docs").mkdir()
    (folder / "notebooks").mkdir()
    for name in ("pyproject.toml", "docs/operators.md", "notebooks/03_annotating_by_hand.ipynb"):
        shutil.copy2(ROOT / name, folder / name)
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return folder


def test_layer_imports_only_earlier_layers() -> None:
    """The list of layers has the order of the table in test_imports.py."""
    section = TEXT.partition("\n## Layers\n")[2].partition("\n## ")[0]
    listed = re.findall(r"`byoc_lab/(\w+)/`", section)
    assert listed[0] == "relay" and listed[-1] == "compat" and len(listed) == len(set(listed))
    for name, allowed in LAYERS.items():
        if name.split(".")[0] in listed and name not in ABOVE_THEIR_FOLDER:
            later = set(listed[listed.index(name.split(".")[0]) + 1 :])
            used = {other.split(".")[0] for other in allowed.split()}
            assert not used & later, f"{name} imports {used & later}, listed after it"


def test_every_recipe_has_a_check_and_a_mistake() -> None:
    names = [recipe.name for recipe in RECIPES]
    assert names == list(FOUND) == list(MISTAKES)
    assert all(recipe.files and recipe.commands for recipe in RECIPES)


@pytest.mark.slow
@each_recipe
def test_recipe_works(recipe: Recipe, copy: Path) -> None:
    if recipe.name == "Add a back end":
        _needs_a_compiler()
    check = f"import byoc_lab; assert byoc_lab.__file__.startswith({str(copy)!r})\n"
    recipe.follow(copy)
    done = _run_commands(recipe, copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[1-9]\d* passed", done.stdout) and "skipped" not in done.stdout
    done = _run(copy, "-c", check + FOUND[recipe.name])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(r, marks=[] if r.name in QUICK else [pytest.mark.slow]) for r in RECIPES],
    ids=_label,
)
def test_recipe_with_a_mistake_fails_its_own_tests(recipe: Recipe, copy: Path) -> None:
    if recipe.name == "Add a back end":
        _needs_a_compiler()
    old, new = MISTAKES[recipe.name]
    files = {path: text.replace(old, new) for path, text in recipe.files.items()}
    assert files != recipe.files, f"{old!r} is not in the recipe"
    wrong = Recipe(recipe.name, files, recipe.changes, recipe.commands)
    wrong.follow(copy)
    done = _run_commands(wrong, copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"\b[1-9]\d* failed", done.stdout), done.stdout


@pytest.mark.slow
def test_all_recipes_together_pass_the_checks_and_structure_tests(tmp_path: Path) -> None:
    """In a complete copy, after `make generate`, as for any change."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    _needs_a_compiler()
    copy = tmp_path / "copy"
    unneeded = shutil.ignore_patterns(".venv", ".git", "build", "dist", "node_modules", "*.tmp")
    shutil.copytree(ROOT, copy, ignore=unneeded, symlinks=True)  # with mypy's cache
    (copy / "sitecustomize.py").write_text(SITECUSTOMIZE)
    for recipe in RECIPES:
        recipe.follow(copy)
    (lines,) = re.findall(r"^generate:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    generate = [line.removeprefix("\t$(BIN)/python ").split() for line in lines.splitlines()]
    checks = (
        ["ruff", "check", "byoc_lab", "tests"],
        ["ruff", "format", "--check", "byoc_lab"],
        ["mypy"],
    )
    tests = ["pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *STRUCTURE]
    for arguments in (*generate, *(["-m", *check] for check in checks), ["-m", *tests]):
        done = _run(copy, *arguments)
        assert done.returncode == 0, f"{arguments}\n{done.stdout[-5000:]}{done.stderr[-2000:]}"


def test_code_of_recipes_has_the_style_of_the_repository(copy: Path) -> None:
    pytest.importorskip("ruff", reason="ruff is not installed")
    for recipe in RECIPES:
        recipe.follow(copy)
    written = [path for recipe in RECIPES for path in recipe.files]
    for arguments in (["check"], ["format", "--check", "--diff"]):
        done = _run(copy, "-m", "ruff", *arguments, *written)
        assert done.returncode == 0, done.stdout + done.stderr


def _needs_a_compiler() -> None:
    pytest.importorskip("tvm_ffi", reason="TVM-FFI is not installed")
    if not compiler_command():
        pytest.skip("no C compiler is installed")
