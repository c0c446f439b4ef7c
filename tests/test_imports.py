"""Import directions: no cycles between modules, and folders import only those that the table
allows.

An import inside a function counts like one at the top of the file, because it only postpones a
cycle; so does one under `if TYPE_CHECKING`, which couples the types. The implicit import of a
module's parent packages does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import byoc_lab

NAME = byoc_lab.__name__
ROOT = Path(byoc_lab.__file__).parent

# For each folder (or module), the others that its modules may import, lowest layer first. A name
# includes everything below it. A module belongs to the longest matching name, and `relay.*` means
# the modules directly in `relay/`.
LAYERS = {
    "version": "",
    "printing": "",
    "errors": "printing",
    "late": "",
    "display": "late",
    "markup": "",
    "files": "errors",
    "terminal": "printing",
    "seeds": "errors",
    "processor_time": "",
    "containment": "errors printing processor_time",
    "output": "version",
    "plugins": "errors",
    "relay.ir": "errors late printing display",
    "relay.op.framework": "errors relay.ir",
    "relay.typing": "errors relay.ir relay.op.framework",
    "relay.text": "errors files relay.ir relay.typing",
    "relay.analysis": "errors printing relay.ir relay.typing",
    "relay.patterns": "errors printing relay.ir relay.typing relay.analysis",
    "relay.op": "errors relay.ir relay.op.framework",
    "relay.*": "errors relay.ir relay.op relay.patterns",
    "relay.qnn": "relay.op",
    "relay.testing": "seeds relay.ir relay.op relay.typing relay.analysis relay.*",
    "relay": (
        "relay.ir relay.op relay.typing relay.text relay.analysis relay.patterns relay.* "
        "relay.qnn relay.testing"
    ),
    "passes.framework": "errors printing plugins relay",
    "passes.byoc": "errors relay passes.framework",
    "passes.fold": "errors relay passes.framework",
    "passes.layout": "errors relay passes.framework",
    "passes.simplify": "errors relay passes.framework passes.fold",
    "passes.normal_form": "errors relay passes.framework passes.simplify",
    "passes.quantize": "errors relay passes.framework passes.fold passes.layout",
    "passes": "errors relay passes",
    "run": "errors printing seeds plugins display files markup relay passes",
    "backends": "errors plugins containment processor_time relay passes run",
    "backends.dnnl": "errors printing display markup relay passes run backends",
    "lab.language": "errors late relay",
    "lab.diffing": "errors printing output display relay",
    "lab.linting": (
        "errors printing output display relay passes run backends lab.language lab.diffing"
    ),
    "lab.tracing": (
        "errors printing display files relay passes lab.language lab.diffing lab.linting"
    ),
    "lab.explaining": (
        "errors printing display markup relay passes backends lab.language lab.tracing lab.linting"
    ),
    "lab.comparing": "errors printing display relay lab.diffing lab.tracing",
    "lab.checking": (
        "errors printing output seeds display files markup terminal relay "
        "passes run backends lab.language lab.tracing lab.explaining"
    ),
    "lab.relay_module": "lab.language lab.tracing lab.linting lab.explaining lab.checking",
    "lab.reducing": (
        "errors printing plugins display files containment relay passes run backends lab.diffing "
        "lab.linting lab.explaining lab.checking"
    ),
    "lab.view": "errors printing display files containment relay passes run backends lab",
    "lab": "",
    "relax": "errors printing plugins display markup relay passes run backends lab importers",
    "importers": "errors files relay passes run backends lab",
    "lessons.tools": "relay passes backends",
    "lessons.solutions": "errors relay passes run backends lab lessons.tools byoc_lab transform",
    "lessons": (
        "errors printing seeds display files containment relay passes run backends lab importers "
        "lessons.tools"
    ),
    "lessons.grading": "errors printing files processor_time containment relay run lab lessons",
    "transform": "passes",  # this and the next four: other modules under the names of TVM
    "relay.transform": "passes",
    "relay.qnn.transform": "passes",
    "relay.op.contrib.dnnl": "backends",
    "relay.frontend": "importers",
    "jobs": "errors printing containment relay passes lab importers",
    "byoc_lab": (
        "version errors display relay passes run backends relax lab importers jobs transform "
        "relay.transform relay.qnn.transform relay.op.contrib.dnnl relay.frontend"
    ),
    "demo": "errors relay passes run backends lab lessons byoc_lab",
    "doctor": "errors printing plugins containment run backends lab lessons relax byoc_lab",
    "commands": (
        "errors output files terminal containment relay lab importers lessons byoc_lab demo doctor"
    ),
    "cli": "errors plugins commands terminal byoc_lab",
    "compat": "errors printing display relay passes run backends lab importers transform byoc_lab",
}

# Modules with TVM's names that belong to a higher layer than their folder; modules of the folder
# must not import them. If one may be imported, the table lists it separately.
ABOVE_THEIR_FOLDER = {
    "relay.transform", "relay.qnn.transform", "relay.op.contrib.dnnl", "relay.frontend",
}  # fmt: skip

NOTEBOOK_PACKAGES = {
    "anywidget", "graphviz", "graphviz_pure", "ipywidgets", "IPython", "matplotlib", "traitlets",
}  # fmt: skip
TVM_PACKAGES = {"tvm", "tvm_ffi"}
# `relay.op` because the definition of an operator contains its translation to Relax.
MAY_IMPORT_TVM = {
    "run", "backends", "backends.dnnl", "relax", "importers", "compat", "relay.op",
    "relay.op.framework", "lessons.solutions",
}  # fmt: skip


# Old scripts, and answers as students write them: they import TVM at the top.
ON_TOP = {"compat", "lessons.solutions"}


class Imported(NamedTuple):
    name: str
    lazy: bool  # inside a function
    for_types: bool  # under `if TYPE_CHECKING`


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join((NAME, *parts)).removesuffix(".__init__")] = path
    return found


MODULE_PATHS = _modules()


def _statements(
    node: ast.AST, lazy: bool = False, for_types: bool = False
) -> Iterator[tuple[ast.stmt, bool, bool]]:
    """Every import statement below a node, with whether it is inside a function, and whether it
    is for types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, lazy, for_types
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(ast.Module(child.body, []), lazy, True)
            yield from _statements(ast.Module(child.orelse, []), lazy, for_types)
        elif not isinstance(child, ast.expr):  # nodes without statements
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _statements(child, lazy or function, for_types)


def imports_of(source: str, package: str) -> set[Imported]:
    """The dotted names that a module's text imports; relative ones are resolved from `package`."""
    found = set()
    for statement, lazy, for_types in _statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            names = {alias.name for alias in statement.names}
        else:
            assert isinstance(statement, ast.ImportFrom)
            parents = package.split(".")
            start = parents[: len(parents) + 1 - statement.level] if statement.level else []
            origin = [*start, *([statement.module] if statement.module else [])]
            names = {".".join((*origin, alias.name)) for alias in statement.names}
        found |= {Imported(name, lazy, for_types) for name in names}
    return found


@cache
def _imports() -> dict[str, set[Imported]]:
    found = {}
    for module, path in MODULE_PATHS.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        found[module] = imports_of(path.read_text(encoding="utf-8"), package)
    return found


def _defining(name: str) -> str | None:
    """The module of this package that an imported name is, or that defines it; None for any
    other."""
    while name and name not in MODULE_PATHS:
        name = name.rpartition(".")[0]
    return name or None


@cache
def _graph(types: bool = False) -> dict[str, set[str]]:
    """For each module, the modules of this package that it imports; `types`: including those for
    types only."""
    return {
        module: {m for n in names if (types or not n.for_types) and (m := _defining(n.name))}
        - {module}
        for module, names in _imports().items()
    }


def layer_of(module: str) -> str:
    """The name in the table that a module belongs to."""
    inner = module.removeprefix(f"{NAME}.")
    if inner in LAYERS:
        return inner
    folder = inner
    while "." in folder:
        folder = folder.rpartition(".")[0]
        if MODULE_PATHS[module].name != "__init__.py" and folder == inner.rpartition(".")[0]:
            folder = f"{folder}.*" if f"{folder}.*" in LAYERS else folder
        if folder in LAYERS:
            return folder
    raise AssertionError(f"{module} is in no folder of LAYERS: add it")


def _allowed(layer: str) -> set[str]:
    """The layers that a layer may import."""
    named = LAYERS[layer].split()
    below = {
        other
        for other in LAYERS
        if other not in ABOVE_THEIR_FOLDER and any(other.startswith(f"{name}.") for name in named)
    }
    return {*named, *below} - {layer}


@pytest.mark.parametrize("types", [False, True], ids=["code", "types"])
def test_modules_import_each_other_without_cycles(types: bool) -> None:
    try:
        TopologicalSorter(_graph(types=types)).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}")


def test_layers_import_what_the_table_allows() -> None:
    refused = [
        f"{module} imports {other}: {layer} may not import {layer_of(other)}"
        for module, others in _graph().items()
        for other in sorted(others)
        if layer_of(other) not in {layer := layer_of(module), *_allowed(layer)}
    ]
    assert not refused, "\n".join(refused)


def test_table_has_no_cycles() -> None:
    TopologicalSorter({layer: _allowed(layer) for layer in LAYERS}).prepare()


def test_table_names_existing_modules() -> None:
    assert {layer_of(module) for module in MODULE_PATHS} == LAYERS.keys()
    assert {name for names in LAYERS.values() for name in names.split()} <= LAYERS.keys()


def test_drawing_of_the_architecture_places_every_folder_above_its_imports() -> None:
    page = (ROOT.parent / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("```text\n")[2].partition("```")[0]
    rows = [row.split("  ")[0].split(", ") for row in drawing.splitlines()]
    drawn = [name for row in rows for name in row]
    assert sorted(drawn) == sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
    height = {name: -depth for depth, row in enumerate(rows) for name in row}
    for layer in LAYERS.keys() - ABOVE_THEIR_FOLDER - {"transform"}:
        folder = layer.split(".")[0]
        for other in {name.split(".")[0] for name in _allowed(layer) - ABOVE_THEIR_FOLDER}:
            if folder in height and other in height:
                assert height[other] < height[folder] or other == folder, (layer, other)


def test_nothing_imports_compat() -> None:
    """The core is independent of old scripts; users import `compat` explicitly."""
    users = [
        module
        for module, others in _graph().items()
        if layer_of(module) != "compat" and any(layer_of(o) == "compat" for o in others)
    ]
    assert not users


def test_only_the_view_and_the_grading_of_notebooks_import_notebook_packages() -> None:
    users = _users_of(NOTEBOOK_PACKAGES)
    found = {layer_of(module) for module in users}
    assert found == {"lab.view", "lessons.grading"}, sorted(users)


def test_only_modules_that_run_code_import_tvm() -> None:
    users = _users_of(TVM_PACKAGES)
    assert {layer_of(module) for module in users} <= MAY_IMPORT_TVM, sorted(users)


def test_core_imports_tvm_only_inside_functions() -> None:
    eager = {m for m in _users_of(TVM_PACKAGES, lazy=False) if layer_of(m) not in ON_TOP}
    assert not eager, sorted(eager)


def _users_of(packages: set[str], lazy: bool = True) -> set[str]:
    """The modules that import one of the given packages; `lazy`: including imports inside
    functions."""
    return {
        module
        for module, names in _imports().items()
        if any(
            n.name.split(".")[0] in packages and (lazy or not n.lazy) and not n.for_types
            for n in names
        )
    }


def test_imports_are_found_at_every_position() -> None:
    source = """
import a.b
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from a import hidden
else:
    from a import shown
def f():
    from . import near
    class C:
        try:
            from ..up import thing
        except ImportError:
            from .near.inner import other
"""
    found = imports_of(source, "p.q")
    assert {n.name for n in found if n.for_types} == {"a.hidden"}
    rest = [n for n in found if not n.for_types]
    assert {n.name for n in rest if not n.lazy} == {"a.b", "typing.TYPE_CHECKING", "a.shown"}
    assert {n.name for n in rest if n.lazy} == {
        "p.q.near", "p.up.thing", "p.q.near.inner.other",
    }  # fmt: skip
