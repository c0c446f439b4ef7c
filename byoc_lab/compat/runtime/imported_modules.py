"""`lib.imported_modules`: the generated code of the regions, for inspection."""

from __future__ import annotations

import json
from typing import Any

from byoc_lab.backends.dnnl.cpp.source import cpp_source
from byoc_lab.backends.dnnl.native import DnnlRegion
from byoc_lab.errors import BuildError
from byoc_lab.run.executable import Executable
from byoc_lab.run.hosts.host import LinkedRegion


class RegionModule:
    """The code of one region. `type_key`: "c" for C or C++, "<compiler>_json" for a graph.

    `name` is the region's symbol; `format` is the format of `get_source()`: "c", "cc", "json".
    """

    def __init__(self, region: LinkedRegion):
        self.name = region.symbol
        self._sources = _sources(region.compiled)
        self.format = next(iter(self._sources), "")
        graph = f"{region.compiler}_json"
        self.type_key = graph if "json" in self._sources else "c" if self._sources else "library"
        self.imported_modules: list[RegionModule] = []

    def get_source(self, fmt: str = "") -> str:
        """The source in the given format, by default the module's own. Raises BuildError for other
        formats."""
        if not self._sources:
            raise BuildError(f"region @{self.name} was generated as a library: it has no source")
        if fmt and fmt not in self._sources:
            raise BuildError(
                f"region @{self.name} has a source as {', '.join(map(repr, self._sources))}, "
                f"not as {fmt!r}"
            )
        return self._sources[fmt or self.format]

    inspect_source = get_source

    def __repr__(self) -> str:
        return f"Module({self.type_key}, {self.name})"


def _sources(compiled: Any) -> dict[str, str]:
    """{format: code that the back end keeps}, the main format first."""
    if isinstance(compiled, DnnlRegion):
        return {"json": json.dumps(compiled.graph), "cc": cpp_source(compiled.graph)}
    if hasattr(compiled, "source"):
        return {getattr(compiled, "format", "c"): compiled.source}
    return {}


def imported_modules(executable: Executable) -> list[RegionModule]:
    """One module per region that a back end compiled, in the order of the regions' calls."""
    return [RegionModule(r) for r in executable.linked if r.compiled is not None]
