"""Imports point one way: between modules, where no cycle is allowed, and between packages.

An import inside a function counts as one at the top does: it only puts a cycle off. What stands
under `if TYPE_CHECKING` does not count. That a module has its package imported first is Python's
doing and does not count either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import byoc_lab

NAME = byoc_lab.__name__
ROOT = Path(byoc_lab.__file__).parent

# For each package the others that its modules may import; a name stands for what is below it, too.
# `byoc_lab` is the package's own `__init__`.
MAY_IMPORT = {
    "errors": "",
    "display": "",
    "relay.ir": "errors display",
    "relay.op.framework": "errors relay.ir",
    "relay.typing": "errors relay.ir relay.op.framework",
    "relay.text": "errors relay.ir relay.typing",
    "relay.analysis": "errors relay.ir relay.typing",
    "relay.patterns": "errors relay.ir relay.typing relay.analysis",
    "relay.op": "errors relay.ir relay.op.framework",
    "relay.names": "errors relay.ir relay.op relay.typing relay.analysis",
    "relay.testing": "relay.ir relay.op relay.typing relay.analysis relay.names",
    "relay": (
        "relay.ir relay.op relay.typing relay.text relay.analysis relay.patterns relay.names "
        "relay.testing"
    ),
    "passes": "errors relay",
    "run": "errors relay passes",
    "backends": "errors relay passes run",
    "dnnl": "errors display relay passes run backends",
    "relax": "errors relay run dnnl",
    "diff": "errors display relay",
    "lint": "errors display relay",
    "trace": "errors display relay passes diff lint",
    "view": "errors relay dnnl diff lint trace",
    "lessons": "relay passes run",
    "demo": "run dnnl lessons lint trace",
    "ir": "relay passes",
    "byoc_lab": "errors display relay passes run backends dnnl relax diff lint trace ir",
    "doctor": "errors run dnnl view byoc_lab",
    "cli": "errors relay lint trace demo doctor",
    "compat": "errors relay passes run backends dnnl view byoc_lab",
}

# Packages whose modules are not in a folder of their own.
MODULES = {
    "relay.ir": (
        "adt attrs collector dataflow dims expr expr_functor hooks integers layout module ndarray "
        "node rules scope_builder scopes source_map span supply type_functor types variables visit "
        "with_fields diagnosis"
    ),
    "relay.op.framework": (
        "op.evaluate op.layout op.layout_rules op.namespace op.op_attrs op.registry op.relations "
        "op.relax_types op.shape_dependence op.support_levels op.windows"
    ),
    "relay.typing": "adt_kinds adt_matching infer infer_adt infer_calls infer_errors unify",
    "relay.text": (
        "dim_expressions lexer metadata node_json node_json_writer object_fields parser parser_adt "
        "parser_attrs parser_cursor parser_expr parser_meta parser_names parser_programs "
        "parser_spans printer printer_exact printer_lines printer_nodes printer_values"
    ),
    "relay.analysis": (
        "affine_type analysis annotate extraction features regions structural structural_hash"
    ),
    "relay.patterns": "dataflow_pattern",
    "relay.names": (
        "annotation build_module image loops nn prelude qnn random static_tensor_arrays "
        "tensor_arrays vision"
    ),
}
PLACED = {f"{NAME}.relay.{m}": package for package, names in MODULES.items() for m in names.split()}


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join((NAME, *parts)).removesuffix(".__init__")] = path
    return found


MODULE_PATHS = _modules()


def _statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import below a node, except those for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.orelse:
                yield from _statements(ast.Module([statement], []))
        else:
            yield from _statements(child)


def imported_names(source: str, package: str) -> set[str]:
    """The dotted names that a module's text imports; `package` is what relative ones start from."""
    names = set()
    for statement in _statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            names.update(alias.name for alias in statement.names)
            continue
        parents = package.split(".")
        start = parents[: len(parents) + 1 - statement.level] if statement.level else []
        origin = [*start, *([statement.module] if statement.module else [])]
        names.update(".".join((*origin, alias.name)) for alias in statement.names)
    return names


def _defining(name: str) -> str | None:
    """The module that an imported name is, or is in; None for one that is not ours."""
    while name and name not in MODULE_PATHS:
        name = name.rpartition(".")[0]
    return name or None


def _graph() -> dict[str, set[str]]:
    graph = {}
    for module, path in MODULE_PATHS.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        names = imported_names(path.read_text(encoding="utf-8"), package)
        graph[module] = {m for name in names if (m := _defining(name))} - {module}
    return graph


GRAPH = _graph()


def package_of(module: str) -> str:
    """The package of the table that a module belongs to."""
    name = module
    while name:
        if name in PLACED:
            return PLACED[name]
        inner = name.removeprefix(f"{NAME}.")
        if inner in MAY_IMPORT:
            return inner
        name = name.rpartition(".")[0]
    raise AssertionError(f"{module} is in no package of MAY_IMPORT: add it")


def _may_import(package: str, other: str) -> bool:
    allowed = (package, *MAY_IMPORT[package].split())
    return any(other == name or other.startswith(f"{name}.") for name in allowed)


def test_modules_import_each_other_without_cycles() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}")


def test_packages_import_what_the_table_allows() -> None:
    refused = [
        f"{module} imports {other}: {package_of(module)} may not import {package_of(other)}"
        for module, others in GRAPH.items()
        for other in sorted(others)
        if not _may_import(package_of(module), package_of(other))
    ]
    assert not refused, "\n".join(refused)


def test_the_table_has_no_cycles() -> None:
    """`relay` is above its own folders, but stands for all of them where others may import it."""
    TopologicalSorter({name: below.split() for name, below in MAY_IMPORT.items()}).prepare()


def test_the_table_names_what_exists() -> None:
    assert {package_of(module) for module in MODULE_PATHS} == MAY_IMPORT.keys()
    assert {package_of(module) for module in PLACED} == MODULES.keys()
    assert not PLACED.keys() - MODULE_PATHS.keys()


def test_imports_are_found_wherever_they_stand() -> None:
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
    assert imported_names(source, "p.q") == {
        "a.b", "typing.TYPE_CHECKING", "a.shown", "p.q.near", "p.up.thing", "p.q.near.inner.other",
    }  # fmt: skip
