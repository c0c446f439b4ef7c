"""`many`: runs validate, bisect or coverage for lists of models, back ends and seeds, in parallel.

Each job runs in a guarded process (`containment/guarded.py`), separate from the executor's worker,
so a job that crashes or never ends also gives an outcome.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from byoc_lab.containment.children import ChildError
from byoc_lab.containment.guarded import guarded
from byoc_lab.containment.workers import pool
from byoc_lab.errors import ArgumentError, nearest
from byoc_lab.importers import load
from byoc_lab.lab.checking.bisection import bisect
from byoc_lab.lab.checking.covering import coverage
from byoc_lab.lab.checking.validation import validate
from byoc_lab.lab.tracing import trace
from byoc_lab.passes import Pass
from byoc_lab.printing import printable
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "validate": validate,
    "bisect": bisect,
    "coverage": coverage,
}
TIME_LIMIT = 600.0  # processor time limit of one job, in seconds
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS")
Model = Any  # IRModule, path, or a function that returns a module


@dataclass(frozen=True)
class Job:
    """One check of one model, which pickle supports.

    function: a name of FUNCTIONS: "validate", "bisect" or "coverage". model: an IRModule; the path
    of a file that an importer reads; or a function without parameters, defined in an importable
    module, that returns a module, or a module and its parameters. backend: the pipeline of `trace`
    and `bisect`, the back end of `coverage`. seed: the seed of the inputs, for functions that take
    one. options: other arguments of the function. imports: modules to import first, which register
    back ends.
    """

    function: str
    model: Model
    name: str = ""
    backend: Any = "dnnl"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    imports: tuple[str, ...] = ()

    def run(self) -> Any:
        """Call the function in this process and return its result. Raises the exceptions of the
        function."""
        for name in self.imports:
            import_module(name)
        mod = _module(self.model)
        call = FUNCTIONS[self.function]
        options = dict(self.options)
        if "seed" in inspect.signature(call).parameters:
            options.setdefault("seed", self.seed)
        if self.function == "validate":
            return call(mod, trace(mod, self.backend).result, **options)
        return call(mod, self.backend, **options)

    @printable
    def __str__(self) -> str:
        return f"{self.function} {self.name}, {self.backend}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one job.

    result: the result of its function. kind: "done", "failed" (it raised an error), "crashed" (its
    process died), "timed out", or "lost" (its executor gave no answer). error: the error in words,
    if not done. seconds: the duration.
    """

    job: Job
    kind: str = "done"
    result: Any = None
    error: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the job finished with a good result: valid, or no difference found."""
        if self.kind != "done":
            return False
        return bool(getattr(self.result, "ok", not getattr(self.result, "found", False)))

    @printable
    def __str__(self) -> str:
        shown = self.error if self.kind != "done" else str(self.result).partition("\n")[0]
        return f"{self.job}: {self.kind} in {self.seconds:.1f} s: {shown}"


def many(
    function: str,
    models: Mapping[str, Model] | Iterable[Model] | Model,
    *,
    backends: Iterable[Any] = ("dnnl",),
    seeds: Iterable[int] = (0,),
    executor: Executor | None = None,
    time_limit: float = TIME_LIMIT,
    imports: Sequence[str] = (),
    **options: Any,
) -> Iterator[Outcome]:
    """Run a check for each model with each back end and seed; yields outcomes as they arrive.

        for outcome in byoc_lab.many("validate", {"a": mod, "b": "net.onnx"}, seeds=range(8)):
            print(outcome)

    function: "validate", "bisect" or "coverage". models: one or several models, named or not: see
        `Job.model`. backends: names of back ends or pipelines. options: other arguments of the
        function, such as `detail="operator"`.
    executor: any `concurrent.futures.Executor`, such as `client.get_executor()` of Dask; it is not
        shut down. None: a pool of spawned processes, which needs `if __name__ == "__main__":` in a
        script.
    time_limit: seconds of processor time for one job. imports: modules that register the back ends.

    If a job raises an error, crashes its process or does not end, its outcome says so; the other
    jobs continue. Raises ArgumentError for invalid arguments.
    """
    if not isinstance(function, str) or function not in FUNCTIONS:
        hint = nearest(str(function), FUNCTIONS)
        raise ArgumentError(
            f"many: function must be the name of a check, found {function!r:.80}; {hint}"
        )
    if not isinstance(time_limit, (int, float)) or not time_limit > 0:
        raise ArgumentError(f"many: time_limit must be seconds above 0, found {time_limit!r}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ArgumentError(
            f"many: executor must have the methods of concurrent.futures.Executor, found "
            f"{type(executor).__name__}; of a Dask client give client.get_executor()"
        )
    names = _listed("imports", imports, str)
    each = (
        _named(models),
        _listed("backends", backends, str, Pass, list, tuple),
        _listed("seeds", seeds, int),
    )
    jobs = [
        Job(function, model, name, backend, seed, options, tuple(names))
        for (name, model), backend, seed in product(*each)
    ]
    return outcomes(jobs, executor, time_limit)


def outcomes(
    jobs: Sequence[Job], executor: Executor | None = None, time_limit: float = TIME_LIMIT
) -> Iterator[Outcome]:
    """The outcomes of jobs as they arrive. executor, time_limit: as in `many`."""
    if executor is not None:
        yield from _submitted(jobs, executor, time_limit)
        return
    cores = os.cpu_count() or 1
    workers = max(1, min(len(jobs), cores))
    with pool(workers, _share_cores, max(1, cores // workers)) as own:
        yield from _submitted(jobs, own, time_limit)


def _submitted(jobs: Sequence[Job], executor: Executor, time_limit: float) -> Iterator[Outcome]:
    waiting: dict[Future[Outcome], Job] = {}
    try:
        for job in jobs:
            waiting[executor.submit(outcome_of, job, time_limit)] = job
        for future in as_completed(waiting):
            job = waiting[future]
            try:
                yield future.result()
            # an error of the executor: a lost worker, or a job that pickle does not support
            except Exception as error:
                yield Outcome(job, "lost", error=f"{type(error).__name__}: {error}")
    finally:
        for future in waiting:
            future.cancel()


def outcome_of(job: Job, time_limit: float) -> Outcome:
    """Run one job in a guarded process; called in a worker of an executor."""
    start = time.monotonic()

    def outcome(kind: str, result: Any = None, error: str = "") -> Outcome:
        return Outcome(job, kind, result, error, time.monotonic() - start)

    try:
        return outcome("done", guarded(Job.run, job, time_limit=time_limit))
    except ChildError as error:
        return outcome(error.kind, error=str(error))
    except Exception as error:
        return outcome("failed", error=f"{type(error).__name__}: {error}")


def _share_cores(threads: int) -> None:
    """Give each job of a pool its share of the cores, in variables that its process inherits."""
    for name in THREADS:
        os.environ.setdefault(name, str(threads))


def _listed(name: str, given: Any, *kinds: type) -> list[Any]:
    """An argument of `many` as a list: a single value of `kinds`, or several values. Raises
    ArgumentError."""
    one = isinstance(given, kinds) and not isinstance(given, (list, tuple))
    found = [given] if one else list(given) if isinstance(given, Iterable) else [given]
    for item in found:
        if not isinstance(item, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise ArgumentError(
                f"many: {name} must be a list of {wanted}, found {type(item).__name__} {item!r:.80}"
            )
    return found


def _named(models: Any) -> list[tuple[str, Model]]:
    if isinstance(models, Mapping) and not isinstance(models, IRModule):
        found = [(str(name), model) for name, model in models.items()]
    else:
        several = isinstance(models, Iterable) and not isinstance(models, (IRModule, str, PathLike))
        listed = list(models) if several else [models]
        found = [(_name_of(model, n), model) for n, model in enumerate(listed)]
    for name, model in found:
        if not isinstance(model, (IRModule, str, PathLike)) and not callable(model):
            raise ArgumentError(
                f"many: a model must be an IRModule, the path of a file, or a function that gives "
                f"a module, found {type(model).__name__} for {name}"
            )
    return found


def _name_of(model: Model, number: int) -> str:
    if isinstance(model, (str, PathLike)):
        return Path(model).name
    return getattr(model, "__name__", f"model {number}")


def _module(model: Model) -> IRModule:
    made = model
    if isinstance(model, (str, PathLike)):
        made = load(model)
    elif callable(model):
        made = model()
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], IRModule):
        made, params = made
        if params:
            made = made.copy()
            made["main"] = bind_params_by_name(made["main"], params)
    if not isinstance(made, IRModule):
        raise ArgumentError(f"a model must give an IRModule, found {type(made).__name__}")
    return made


__all__ = ["FUNCTIONS", "Job", "Outcome", "many", "outcomes"]
