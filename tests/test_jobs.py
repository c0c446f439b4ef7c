"""Jobs on executors: results arrive one by one, and a crash or an endless loop is an outcome."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab.containment.children import ChildError
from byoc_lab.containment.guarded import WorkerProcess
from byoc_lab.errors import ArgumentError
from byoc_lab.jobs import Job, Outcome, many, outcomes
from byoc_lab.relay.analysis.structural import structural_equal
from tests import job_models as jobs

BAD = {"segfault": jobs.segfaulting, "endless": jobs.hanging, "raise": jobs.raising}


def check(found: list[Outcome]) -> None:
    """Runs two valid models, and one of each invalid kind."""
    kinds = {o.job.name: o for o in found}
    assert len(found) == len(kinds) == 5
    assert kinds["a"].ok and kinds["b"].ok and not any(kinds[name].ok for name in BAD)
    assert kinds["segfault"].kind == "crashed" and "SIGSEGV" in kinds["segfault"].error
    assert "segfaulting" in kinds["segfault"].error  # the line of the crash
    assert kinds["endless"].kind == "timed out" and "within 4 s" in kinds["endless"].error
    assert kinds["raise"].kind == "failed" and "no model today" in str(kinds["raise"])


def models() -> dict[str, Any]:
    return {"segfault": BAD["segfault"], "a": jobs.small(), **BAD, "b": jobs.chatty}


@pytest.mark.slow
def test_many_runs_on_a_pool_of_spawned_processes() -> None:
    found = list(many("bisect", models(), time_limit=4, kernels=False))
    check(found)
    assert found[-1].job.name == "endless"  # other jobs did not wait for it


@pytest.mark.slow
def test_many_runs_on_a_dask_cluster(dask_client: Any) -> None:
    executor = dask_client.get_executor()
    check(list(many("bisect", models(), executor=executor, time_limit=4, kernels=False)))
    assert len(dask_client.nthreads()) == 2  # no worker was lost


@pytest.mark.slow
def test_many_runs_on_threads() -> None:
    with ThreadPoolExecutor(3) as threads:
        check(list(many("bisect", models(), executor=threads, time_limit=4, kernels=False)))
        assert threads.submit(int, "3").result() == 3  # the executor can still be used


@pytest.mark.slow
@pytest.mark.native
def test_validate_of_files_models_and_seeds_gives_one_outcome_each(tmp_path: Path) -> None:
    path = tmp_path / "small.relay"
    path.write_text(jobs.small().astext(), encoding="utf-8")
    with ThreadPoolExecutor(1) as thread:
        found = list(many("validate", [path, jobs.small], seeds=(3, 4), executor=thread))
    assert [o.ok for o in found] == [True] * 4, [str(o) for o in found]
    assert {(o.job.name, o.job.seed) for o in found} == {
        (name, seed) for name in ("small.relay", "small") for seed in (3, 4)
    }
    assert all("seed 3" in o.result.inputs[0] for o in found if o.job.seed == 3)


def test_job_is_pickled_and_runs_anywhere() -> None:
    job = Job("bisect", jobs.small(), "small", options={"seed": 7})
    copy = pickle.loads(pickle.dumps(job))
    assert structural_equal(copy.model, job.model) and copy.options == {"seed": 7}
    assert not copy.run().found and "seed 7" in str(copy.run())


def test_missing_module_of_a_back_end_is_a_failed_outcome() -> None:
    job = Job("bisect", jobs.small, backend="no such pipeline", imports=("no_such_module",))
    (found,) = outcomes([job], ThreadPoolExecutor(1))
    assert found.kind == "failed" and "no_such_module" in found.error


class Losing(Executor):
    """An executor whose workers die, as when a cluster's machine is switched off."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("the worker is gone"))
        return future


def test_job_that_the_executor_loses_is_reported() -> None:
    (found,) = many("bisect", jobs.small, executor=Losing())
    assert found.kind == "lost" and "the worker is gone" in found.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": "validat"}, "did you mean 'validate'"),
        ({"function": "validate", "time_limit": 0}, "seconds above 0, found 0"),
        ({"function": "validate", "seeds": ["a"]}, "seeds must be a list of int, found str"),
        ({"function": "validate", "models": [3]}, "a model must be an IRModule"),
        ({"function": "validate", "executor": 4}, r"client.get_executor\(\)"),
    ],
)
def test_wrong_arguments_raise_errors_that_name_them(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        many(**{"models": jobs.small, **arguments})


def test_coverage_of_several_back_ends_is_one_outcome() -> None:
    with ThreadPoolExecutor(1) as thread:
        (found,) = many("coverage", jobs.small, executor=thread)
    assert found.kind == "done", found.error
    assert "nn.relu" in str(found.result) or "100" in str(found.result)


def test_many_is_public() -> None:
    assert byoc_lab.many is many


# WorkerProcess ----------------------------------------------------------------------------------


def test_worker_process_serves_again_after_a_crash_and_a_hang() -> None:
    guard = WorkerProcess()
    first = guard.call(os.getpid, time_limit=9)
    assert guard.call(os.getpid, time_limit=9) == first
    with pytest.raises(ChildError, match="exit status 3"):
        guard.call(jobs.leaving, time_limit=9)
    with pytest.raises(ChildError, match=r"within 0\.2 s"):
        guard.call(jobs.hanging, time_limit=0.2)
    with pytest.raises(ValueError, match="no model today"):
        guard.call(jobs.raising, time_limit=9)
    last = guard.call(os.getpid, time_limit=9)
    assert last not in (first, os.getpid())
    guard.close()
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)


@pytest.mark.slow
def test_no_process_remains_when_the_parent_dies() -> None:
    """Even if its child is in an endless loop."""
    script = (
        "import os, threading, time\n"
        "from byoc_lab.containment.guarded import guarded\n"
        "from tests import job_models as jobs\n"
        "print(guarded(os.getpid, time_limit=9), flush=True)\n"
        "threading.Timer(0.3, os._exit, [0]).start()\n"
        "guarded(jobs.hanging, time_limit=60)\n"
    )
    root = Path(__file__).parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    child = int(ended.stdout)
    for _ in range(50):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{child}").exists()
