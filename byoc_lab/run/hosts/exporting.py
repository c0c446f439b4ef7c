"""Exporting a compiled module with the code of its regions linked in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.run.hosts.host import LinkedRegion


def export_compiled(compiled: Any, regions: Sequence[LinkedRegion], path: Path) -> None:
    """Write a compiled module of TVM and the code of its regions into one shared library.

    Raises BuildError for a region whose code cannot be saved, and when TVM cannot write the file.
    """
    loaded: list[tuple[Any, Any]] = []  # (module, its `link_into`) of the regions to link in
    for region in regions:
        code: Any = region.compiled
        if code is None or (code.module is not None and _is_saved(code.module)):
            continue
        link_into = getattr(code, "link_into", getattr(code.module, "link_into", None))
        if link_into is None:
            why = "its module cannot be saved" if code.module is not None else "it is Python"
            raise BuildError(
                f"the code that {region.compiler} made of @{region.symbol} cannot be exported: "
                f"{why}. What byoc_lab.backends.c_library compiles can be exported, and so can "
                "the module before partitioning (a module of Relay also with "
                f"byoc_lab.build(mod, offload=False))"
            )
        loaded.append((code.module, link_into))
    with tempfile.TemporaryDirectory(prefix="byoc_lab_") as folder:
        objects: list[str] = []
        options: dict[str, None] = {}
        for n, (_, link_into) in enumerate(loaded):
            own = Path(folder, f"region_{n}")
            own.mkdir()
            files, needed = link_into(own)
            objects += map(str, files)
            options.update(dict.fromkeys(needed))
        more = {"addons": objects, "options": list(options)} if loaded else {}
        with _without(compiled, [module for module, _ in loaded]):
            try:
                compiled.export_library(str(path), **more)
            except (RuntimeError, ValueError, OSError) as error:
                raise BuildError(f"TVM cannot export to {path}: {error}") from error


@contextmanager
def _without(compiled: Any, modules: list[Any]) -> Iterator[None]:
    """Inside the context, `modules` are removed from a compiled module and from all modules that it
    imports."""
    before: list[tuple[Any, list[Any]]] = []
    todo = [compiled]
    while todo:
        part = todo.pop()
        imported = list(part.imports)
        kept = [m for m in imported if m not in modules]
        if len(kept) < len(imported):
            before.append((part, imported))
            _import(part, kept)
        todo += kept
    try:
        yield
    finally:
        for part, imported in before:
            _import(part, imported)


def _import(compiled: Any, modules: list[Any]) -> None:
    compiled.clear_imports()
    for module in modules:
        compiled.import_module(module)


def _is_saved(module: Any) -> bool:
    """Whether an exported library includes a TVM-FFI module; a loaded library is not included."""
    saved: bool = module.is_binary_serializable() or module.is_compilation_exportable()
    return saved and module.kind != "library"
