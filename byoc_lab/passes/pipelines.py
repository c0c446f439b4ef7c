"""Named pipelines: lists of passes that people run under one name.

Back ends register theirs (`byoc_lab.dnnl` registers "dnnl").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byoc_lab.errors import UnknownNameError
from byoc_lab.passes.base import Pass

Factory = Callable[[], Sequence[Pass]]
_pipelines: dict[str, Factory] = {}


def register_pipeline(name: str, factory: Factory | None = None) -> Callable[[Factory], Factory]:
    """Register the function that makes the passes of a pipeline; also a decorator."""

    def register(f: Factory) -> Factory:
        _pipelines[name] = f
        return f

    if factory is not None:
        register(factory)
    return register


def named_pipeline(name: str) -> list[Pass]:
    """The passes of a pipeline. Raises UnknownNameError."""
    if name not in _pipelines:
        raise UnknownNameError(
            f"no pipeline is named {name!r}; there are {', '.join(pipeline_names()) or 'none'}"
        )
    return list(_pipelines[name]())


def pipeline_names() -> list[str]:
    return sorted(_pipelines)
