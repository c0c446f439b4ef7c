"""Pipelines of Relax: a TVM pass, a name, a function, or a list of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from byoc_lab.errors import PassError, UnknownNameError, nearest
from byoc_lab.relax import backends
from byoc_lab.relax.backends import RelaxBackend
from byoc_lab.run.tvm_runtime import import_tvm

CODE_GENERATION = "RunCodegen"
"""The pass that generates code for regions."""


def backend_of(target: Any, pipeline: Any, mod: Any) -> RelaxBackend:
    """The back end with a name, with the passes of the given pipeline, or with its own passes if
    that is None.

    Raises the errors of `backends.get` and `partitioning`.
    """
    backend = backends.get(target)
    if pipeline is None:
        return backend
    return replace(backend, passes=partial(list, partitioning(pipeline, mod)))


def partitioning(pipeline: Any, mod: Any) -> list[Any]:
    """The passes of a pipeline before code generation, with sequences flattened.

    Raises PassError for an invalid pipeline, UnknownNameError for an unknown name.
    """
    tvm = import_tvm()
    passes = list(single(tvm, as_pass(tvm, pipeline, mod)))
    names = [str(each.info.name) for each in passes]
    return passes[: names.index(CODE_GENERATION) if CODE_GENERATION in names else len(passes)]


def as_pass(tvm: Any, pipeline: Any, mod: Any) -> Any:
    """A pipeline as a single TVM pass for a module."""
    if isinstance(pipeline, str):
        return _named(tvm, pipeline, mod)
    if isinstance(pipeline, tvm.transform.Pass):
        return pipeline
    if callable(pipeline):
        return _member(tvm, pipeline, mod)
    if not isinstance(pipeline, Sequence):
        raise PassError(
            f"a pipeline of Relax is a pass of TVM, a name, a function from module to module, or a "
            f"list of these, found {type(pipeline).__name__} {pipeline!r:.80}"
        )
    return tvm.transform.Sequential([_member(tvm, p, mod) for p in pipeline])


def _member(tvm: Any, p: Any, mod: Any) -> Any:
    if isinstance(p, str | tvm.transform.Pass):
        return as_pass(tvm, p, mod)
    if isinstance(p, type) or not callable(p):
        raise PassError(
            f"a pipeline of Relax consists of passes of TVM, their names and functions, found "
            f"{p!r:.80}"
        )
    name = str(getattr(p, "__name__", type(p).__name__))
    return tvm.transform.module_pass(lambda mod, ctx: p(mod), opt_level=0, name=name)


def _named(tvm: Any, name: str, mod: Any) -> Any:
    """The pipeline or pass with a name."""
    relax = tvm.relax
    if backends.is_known(name):
        return tvm.transform.Sequential(backends.get(name).pipeline(mod), name=name)
    made = getattr(relax.transform, name, None) if name[:1].isupper() else None
    if made is not None:
        try:
            found = made()
        except TypeError as error:
            raise PassError(
                f"pass {name} needs arguments ({error}); give relax.transform.{name}(...)"
            ) from error
        if isinstance(found, tvm.transform.Pass):
            return found
    try:
        return relax.get_pipeline(name)
    except ValueError:
        backends.check_not_of_relay(name)
        passes = [n for n in dir(relax.transform) if n[:1].isupper()]
        raise UnknownNameError(
            f"no pass or pipeline of Relax is named {name!r}; "
            f"{nearest(name, [*backends.names(), *passes])}"
        ) from None


def sequences(tvm: Any, whole: Any) -> Iterator[str]:
    """The names of the sequences in a pipeline."""
    if isinstance(whole, tvm.transform.Sequential):
        yield str(whole.info.name)
        for member in whole.passes:
            yield from sequences(tvm, member)


def single(tvm: Any, whole: Any) -> Iterator[Any]:
    """The passes of a pipeline, with sequences flattened."""
    if not isinstance(whole, tvm.transform.Sequential):
        yield whole
        return
    for member in whole.passes:
        yield from single(tvm, member)
