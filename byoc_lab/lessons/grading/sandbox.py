"""The process that runs the notebooks of one submission.

`python -m byoc_lab.lessons.grading.sandbox PARENT` writes an empty message once it is certain to
end with its grader, reads one request, and writes a message for each notebook. It forks a process
for each notebook; a student's code runs only there, and this process returns data, which is judged
elsewhere. A separate fork reads the request, so the seeds of hidden variants are never in the
memory that a notebook's process inherits. PARENT: the process with which it ends; 0 in a container,
which ends with its parent.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from byoc_lab.containment.children import read_message, write_message
from byoc_lab.containment.confinement import become_reaper, hide_from_others
from byoc_lab.containment.family import die_with
from byoc_lab.containment.guarded import forked
from byoc_lab.containment.limits import Limits
from byoc_lab.containment.supervised import supervised
from byoc_lab.lessons.grading.cells import prepare_shell, run_cells
from byoc_lab.lessons.grading.judging import prepare
from byoc_lab.lessons.grading.replies import encode
from byoc_lab.lessons.tools import library
from byoc_lab.lessons.verdict import NOT_HERE

NETWORK_EVENTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
READ_SECONDS = 120.0  # seconds of processor time, until the questions are drawn
FILE_EVENTS = ("open", "os.listdir", "os.scandir")


def main() -> int:
    """Serve one request: {"notebooks", "limits", "hidden", "folder"}."""
    parent = int(sys.argv[1])
    if parent:
        die_with(parent)
        become_reaper()
    else:
        hide_from_others()
    out = os.dup(1)
    write_message(out, b"")
    requests = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # what is imported stays until the end
    prepare()
    prepare_shell()
    gc.freeze()  # collections, in the forks and at the end, pass over it
    gc.enable()
    request = forked(read_request, requests, time_limit=READ_SECONDS)
    os.close(requests)
    if request is None:  # the grader has ended
        return 1
    folder, hidden = Path(request["folder"]), [Path(path) for path in request["hidden"]]
    limits = Limits(**request["limits"])
    for notebook in request.pop("notebooks"):
        if notebook["not_here"]:
            result = {"status": NOT_HERE, "printed": "", "reply": notebook["not_here"]}
        else:
            result = run_notebook(notebook, limits, folder, hidden, contained=not parent)
        write_message(out, json.dumps({"isolated": not parent, **result}).encode())
    return 0


def read_request(descriptor: int) -> dict[str, Any] | None:
    """The request, with seeds replaced by questions; None at the end of the input."""
    with os.fdopen(descriptor, "rb") as file:
        message = read_message(file)
    if message is None:
        return None
    request: dict[str, Any] = json.loads(message)
    return {**request, "notebooks": [with_questions(each) for each in request["notebooks"]]}


def run_notebook(
    notebook: dict[str, Any], limits: Limits, folder: Path, hidden: list[Path], contained: bool
) -> dict[str, str]:
    """Run one notebook in a fork; returns {"status", "printed", "reply"}, with the reply as the
    fork wrote it."""
    found = supervised(partial(_student, notebook, hidden), limits, folder, contained)
    return {
        "status": found.status,
        "printed": found.printed.decode(errors="replace"),
        "reply": found.reply.decode(errors="replace"),
    }


def _student(notebook: dict[str, Any], hidden: list[Path], written: int) -> None:
    """The fork: runs the cells and writes the replies. Never returns."""
    noticed: list[str] = []
    try:
        refuse_by_hook(hidden, noticed)
        # The loop is never closed: tasks that still run end with the process.
        result = asyncio.new_event_loop().run_until_complete(replies(notebook))
        data = json.dumps({**result, "noticed": sorted(set(noticed))}).encode()
        with os.fdopen(written, "wb") as file:
            file.write(data)
        sys.stdout.flush()
    except BaseException as error:
        with suppress(Exception):
            data = json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]}).encode()
            with os.fdopen(written, "wb") as file:
                file.write(data)
    finally:
        os._exit(0)


def refuse_by_hook(hidden: Sequence[Path], noticed: list[str]) -> None:
    """Refuse Python's sockets and access to hidden folders; attempts are recorded in `noticed`."""
    folders = tuple(str(path) for path in hidden)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in NETWORK_EVENTS:
            noticed.append("tried to use the network")
            raise PermissionError("the network cannot be used in a graded run")
        if event in FILE_EVENTS and args and isinstance(args[0], (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if any(path == each or path.startswith(each + os.sep) for each in folders):
                noticed.append("tried to read solutions, submissions or the grader's files")
                raise PermissionError(f"{path} cannot be read in a graded run")

    sys.addaudithook(hook)


def with_questions(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the questions drawn from its seeds, and without the seeds, because no
    process that runs a student's code may have the seeds of hidden variants.

    "not_here": a requirement of the exercise that this machine lacks; determined here, so that a
    student cannot claim it.
    """
    from byoc_lab.lessons.exercises import get

    exercise, seeds = get(notebook["exercise"]), notebook.pop("seeds")
    missing = exercise.missing()
    questions = [] if missing else [exercise.drawn(seed) for seed in seeds]
    return {**notebook, "questions": questions, "not_here": missing}


async def replies(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run the cells, then the answer for each question; returns {"errors", "replies" or "missing"}.

    A failed cell does not stop later cells.
    """
    from byoc_lab.lessons.exercises import get

    exercise = get(notebook["exercise"])
    respond, varies = exercise.respond, exercise.varies
    library()  # as in Jupyter, where `check` registers it together with the question
    questions = [exercise.made(each) for each in notebook["questions"]]
    namespace, errors = await run_cells(notebook["cells"])
    if "answer" not in namespace:
        return {"errors": errors, "missing": True}
    answer = namespace["answer"]
    found: list[Any] = []
    for question in questions if varies(answer) else questions[:1]:
        try:
            if exercise.only_functions and not exercise.is_function(answer):
                found.append({"kind": type(answer).__name__})
            else:
                found.append({"value": encode(respond(answer, question))})
        except BaseException as error:  # including the SystemExit of `exit()`
            found.append({"raised": f"{type(error).__name__}: {error}"[:2000]})
    return {"errors": errors, "replies": found}


if __name__ == "__main__":
    sys.exit(main())
