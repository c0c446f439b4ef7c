"""The code generators of `register` in the form that RunCodegen calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from byoc_lab.backends.python_region import linkable
from byoc_lab.errors import BuildError
from byoc_lab.relax.ir.types import unknown_sizes_of
from byoc_lab.relax.reference import region_in_relay
from byoc_lab.run.backends import Codegen
from byoc_lab.run.build import checked_region, generated
from byoc_lab.run.hosts.host import LinkedRegion


def compile_functions(
    name: str, codegen: Codegen, functions: Any, options: Any, constant_names: Any
) -> list[Any]:
    """Compile each function to a module, as RunCodegen expects."""
    return [_module(name, codegen, function) for function in functions]


def _module(name: str, codegen: Codegen, function: Any) -> Any:
    unknown = [size for param in function.params for size in unknown_sizes_of(param)]
    if unknown:
        raise BuildError(
            f"region @{function.attrs['global_symbol']} of {name} has unknown sizes "
            f"({', '.join(sorted(set(map(str, unknown))))}), but code generators of "
            f"byoc_lab.relax.register compile only known sizes: set them with "
            f"relax.transform.BindSymbolicVars"
        )
    made, symbol = region_in_relay(function, composites=True), str(function.attrs["global_symbol"])
    region = checked_region(generated(codegen, name, made, symbol), name, made, symbol)
    collected = _collected.get()
    if collected is not None:
        collected.append(LinkedRegion(symbol, name, made, region, None, codegen))
    return linkable(region)


_collected: ContextVar[list[LinkedRegion] | None] = ContextVar("compiled_regions", default=None)


@contextmanager
def compiled_regions() -> Iterator[list[LinkedRegion]]:
    """Within this context, collects the regions that code generators of `register` compile."""
    regions: list[LinkedRegion] = []
    token = _collected.set(regions)
    try:
        yield regions
    finally:
        _collected.reset(token)
