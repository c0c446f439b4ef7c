"""The grader's side of sandboxes: runs notebooks in them, and never waits without a limit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from byoc_lab.containment import containers, groups
from byoc_lab.containment.children import END_LIMIT, NOTHING, Child, ChildError
from byoc_lab.containment.family import end_with_all_below
from byoc_lab.containment.limits import MUCH_MEMORY, Limits
from byoc_lab.containment.scratch import scratch_folder
from byoc_lab.processor_time import asleep_limit
from byoc_lab.run.threads import OF_LIBRARIES

LOST = "sandbox lost"
"""The status of a notebook whose sandbox twice ended or did not answer."""

MUCH = {"status": MUCH_MEMORY, "reply": ""}  # the kernel killed the process
OF_SANDBOX = 16  # processes and threads of the sandbox itself, with a margin
SCRATCH = "byoc-lab-grading-"
TRIES = 2
START_SECONDS = 120.0  # seconds until a sandbox has imported the modules that notebooks need


def run_sandboxed(
    tasks: Sequence[dict[str, Any]], limits: Limits, hidden: Sequence[str], way: str | None
) -> Iterator[dict[str, Any]]:
    """Run notebooks in a sandbox; yields one result for each.

    way: one of `containers.KINDS`; None for no container. If the sandbox itself ends or does not
    answer, the running notebook and the remaining ones get a new sandbox; after `TRIES` sandboxes
    the notebook's status is LOST.
    """
    left, tries = list(tasks), 0
    while left:
        answered = 0
        with scratch_folder(SCRATCH) as place:
            folder = str(place)
            request = {
                "notebooks": left, "limits": asdict(limits), "hidden": list(hidden),
                "folder": containers.FOLDER if way else folder,
            }  # fmt: skip
            seconds = asleep_limit(limits.seconds) + START_SECONDS
            for result in _served(request, seconds, way, folder):
                yield result
                answered += 1
        left, tries = left[answered:], 1 if answered else tries + 1
        if left and tries == TRIES:
            yield {"status": LOST, "printed": "", "reply": "", "isolated": False}
            left, tries = left[1:], 0


def _served(
    request: dict[str, Any], seconds: float, way: str | None, folder: str
) -> Iterator[dict[str, Any]]:
    """The results of one sandbox, until it ends or gives no result for some seconds."""
    parent = 0 if way else os.getpid()
    command = [sys.executable, "-m", "byoc_lab.lessons.grading.sandbox", str(parent)]
    environment = containers.environment() | {name: "1" for name in OF_LIBRARIES}
    if way is None:
        environment |= {"TMPDIR": folder, "HOME": folder, "PATH": os.environ.get("PATH", "")}
    else:
        hidden = map(Path, request["hidden"])
        size = request["limits"]["folder"]
        command = containers.contained(command, way, Path(folder), hidden, size)
    with _counting(Limits(**request["limits"])) as group:
        if group is not None:
            command = group.entering(command)
        child = Child.started(command, stderr=NOTHING, env=environment, cwd=folder)
        killed = 0
        try:
            child.receive(seconds, seconds)
            child.send(json.dumps(request).encode(), seconds)
            for _ in request["notebooks"]:
                result = json.loads(child.receive(seconds, seconds))
                before, killed = killed, group.killed() if group else 0
                yield {**result, **MUCH} if killed > before else result
            child.ended(END_LIMIT)  # end it regularly, so that its processor time is added to ours
        except ChildError:
            if group is not None and group.killed() > killed:
                yield {"printed": "", "isolated": bool(way), **MUCH}
        finally:
            end_with_all_below(child.pid)
            child.end()


def _counting(limits: Limits) -> AbstractContextManager[groups.Group | None]:
    """A control group for a sandbox, if this machine supports one."""
    if groups.failure():
        return nullcontext()
    return groups.group(limits.memory, 2 * limits.processes + OF_SANDBOX)
