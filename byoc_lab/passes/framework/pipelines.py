"""Named pipelines: lists of passes to run under one name.

Back ends register theirs (`byoc_lab.backends.dnnl` registers "dnnl").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from byoc_lab import plugins
from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Pass, pass_names
from byoc_lab.relay.op.contrib.vendors import unregistered

Factory = Callable[..., Sequence[Pass]]
_pipelines: dict[str, Factory] = {}
_levels: dict[str, int] = {}


def register_pipeline(
    name: str, factory: Factory | None = None, opt_level: int = 3
) -> Callable[[Factory], Factory]:
    """Register a function that returns the passes of a pipeline; also a decorator.

    factory: called without arguments, or with `era=...` for the pipeline of an earlier TVM version,
    if it has that parameter. opt_level: the level for running the pipeline without a PassContext.
    """

    def register(f: Factory) -> Factory:
        _pipelines[name], _levels[name] = f, opt_level
        return f

    if factory is not None:
        register(factory)
    return register


def unregister_pipeline(name: str) -> None:
    """Forget a pipeline, if there is one of this name."""
    _pipelines.pop(name, None)
    _levels.pop(name, None)


def named_pipeline(name: str, era: str | None = None) -> list[Pass]:
    """The passes of a pipeline, or of its variant for `era`, if given.

    An installed package that has a back end of this name is loaded first.

    Raises UnknownNameError, PassError for a pipeline without eras, and PlugInError.
    """
    if not plugins.has(_pipelines, name):
        if name in pass_names():
            raise UnknownNameError(f"{name!r} is a pass; a pipeline of it alone is [{name!r}]")
        raise UnknownNameError(
            f"no pipeline is named {name!r}; {unregistered(name, sorted(_pipelines))} "
            f"byoc_lab.passes.pipeline_names() lists all {len(_pipelines)}"
        )
    factory = _pipelines[name]
    if era is None:
        return list(factory())
    if "era" not in inspect.signature(factory).parameters:
        raise PassError(
            f"the pipeline {name!r} has no variant for an era, found era={era!r}; leave it out"
        )
    return list(factory(era=era))


def running_level(pipeline: object) -> int:
    """The opt_level at which `pipeline` would run now: the level of the active PassContext; without
    a context, the level registered for a named pipeline, or 2 (the default)."""
    if isinstance(pipeline, str) and not PassContext.is_active():
        return _levels[pipeline]
    return PassContext.current().opt_level


def pipeline_names() -> list[str]:
    """The names of all pipelines that `named_pipeline` knows."""
    return sorted(_pipelines)
