"""The process that runs the notebooks of one submission.

`python -m byoc_lab.lessons.grading.sandbox` reads one JSON request from its standard input and
writes a line of JSON for each notebook. It imports what notebooks need, enters namespaces, and
forks a process for each notebook, in which alone a student's code runs; what that process sends
back is data, which is judged elsewhere.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from byoc_lab.lessons.grading.cells import run_cells
from byoc_lab.lessons.grading.isolation import (
    ENDED,
    Limits,
    become_reaper,
    drop_privileges,
    enter_namespaces,
    finish_namespaces,
    limit_resources,
    refuse_by_hook,
)
from byoc_lab.lessons.grading.replies import encode
from byoc_lab.processes import below, die_with
from byoc_lab.processor_time import asleep_limit, process_seconds

POLL = 0.02  # seconds between two looks at the processes
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Serve one request: {"notebooks", "limits", "hidden", "folder", "namespaces",
    "parent"}."""
    request = json.loads(sys.stdin.read())
    die_with(request["parent"])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    import byoc_lab.lessons.exercises as exercises

    exercises.all_exercises()
    folder, hidden = Path(request["folder"]), [Path(path) for path in request["hidden"]]
    isolated = request.get("namespaces", True) and enter_namespaces(folder, hidden)
    become_reaper()
    # Namespaces of processes hold the children of this one: the first is their parent.
    child = os.fork()
    if child == 0:
        if isolated:
            finish_namespaces(folder)
        limits = Limits(**request["limits"])
        for notebook in [with_questions(each) for each in request.pop("notebooks")]:
            result = run_notebook(notebook, limits, folder, hidden, isolated)
            print(json.dumps({"isolated": isolated, **result}), file=out, flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def run_notebook(
    notebook: dict[str, Any], limits: Limits, folder: Path, hidden: list[Path], isolated: bool
) -> dict[str, Any]:
    """Run one notebook in a child; {"status", "printed", "reply"}, the last as the child wrote it.

    Status: "ran", "timed out", "too many processes", "too much memory", "too much output",
    "crashed", or ENDED if the process exited without a reply.
    """
    read_reply, write_reply = os.pipe()
    read_output, write_output = os.pipe()
    before, _, spent = _alive(isolated)
    child = os.fork()
    if child == 0:
        os.setsid()
        for number in (1, 2):
            os.dup2(write_output, number)
        os.closerange(3, write_reply)  # among them where the results of notebooks go
        os.closerange(write_reply + 1, 1024)
        _student(notebook, limits, folder, hidden, write_reply)
    os.close(write_reply)
    os.close(write_output)
    status, reply, printed, size = "", bytearray(), bytearray(), 0
    asleep = time.monotonic() + asleep_limit(limits.seconds)
    how: int | None = None  # how the child ended
    open_ends = {read_reply, read_output}
    while not status:
        ready, _, _ = select.select(list(open_ends), [], [], POLL)
        for end in ready:
            data = os.read(end, 1 << 16)
            if not data:
                open_ends.discard(end)
            elif end == read_reply:
                reply += data
            else:
                size += len(data)
                printed += data[: max(0, 4096 - len(printed))]
        if how is None:
            done, code = os.waitpid(child, os.WNOHANG)
            how = code if done else None
        elif not ready:  # it has ended, and all that it wrote is here
            status = "crashed" if os.WIFSIGNALED(how) else "ran" if reply else ENDED
        if status:
            break
        if size > limits.output or len(reply) > limits.reply:
            status = "too much output"
        else:
            processes, memory, seconds = _alive(isolated)
            if seconds - spent > limits.seconds or time.monotonic() > asleep:
                status = "timed out"
            elif processes - before > limits.processes:
                status = "too many processes"
            elif memory > limits.memory:
                status = "too much memory"
    _kill_all(child, isolated)
    os.close(read_reply)
    os.close(read_output)
    return {
        "status": status,
        "printed": printed.decode(errors="replace"),
        "reply": reply.decode(errors="replace") if status == "ran" else "",
    }


def _alive(isolated: bool) -> tuple[int, int, float]:
    """How many processes there are, the bytes of memory and the seconds of processor time that they
    use together: those in the namespace, or else those below this process.

    What a process shares with this one since its fork counts once."""
    ids = (
        [name for name in os.listdir("/proc") if name.isdigit()]
        if isolated
        else [str(number) for number in below(os.getpid())]
    )
    pages = shared = _pages("self") if ids else 0
    for name in ids:
        with suppress(OSError):
            own = _pages(name)
            pages += max(0, own - shared) if _command(name) == _command("self") else own
    return len(ids), pages * PAGE, sum(process_seconds(int(name)) for name in ids)


def _command(process: str) -> bytes:
    """The command line of a process: that of its parent until it runs another program."""
    return Path(f"/proc/{process}/cmdline").read_bytes()


def _pages(process: str) -> int:
    """The pages of a process that are in memory."""
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1])


def _kill_all(child: int, isolated: bool) -> None:
    """End the notebook's processes, all of them."""
    while True:
        if isolated:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            for process in below(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _student(
    notebook: dict[str, Any], limits: Limits, folder: Path, hidden: list[Path], write: int
) -> None:
    """The child: runs the cells and writes the replies. Never returns."""
    noticed: list[str] = []
    try:
        drop_privileges()
        limit_resources(limits)
        os.chdir(folder)
        os.environ.update(TMPDIR=str(folder), HOME=str(folder))
        refuse_by_hook(hidden, noticed)
        result = replies(notebook)
        data = json.dumps({**result, "noticed": sorted(set(noticed))}).encode()
        with os.fdopen(write, "wb") as file:
            file.write(data)
        sys.stdout.flush()
    except BaseException as error:
        with suppress(Exception):
            data = json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]}).encode()
            with os.fdopen(write, "wb") as file:
                file.write(data)
    finally:
        os._exit(0)


def with_questions(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the questions of its seeds, and without the seeds: no process in which a
    student's code runs has those of hidden variants, its own or another exercise's."""
    from byoc_lab.lessons.exercises import get

    exercise, seeds = get(notebook["exercise"]), notebook.pop("seeds")
    here = exercise.missing() is None
    return {**notebook, "questions": [exercise.question(seed) for seed in seeds] if here else []}


def replies(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run the cells, then the answer for each question: {"errors", "replies" or "missing"}, or
    {"errors", "not_here"} where what the exercise needs is not on this machine.

    A cell with an error does not stop those after it.
    """
    from byoc_lab.lessons.exercises import get

    exercise = get(notebook["exercise"])
    if (missing := exercise.missing()) is not None:
        return {"errors": [], "not_here": missing}
    respond, varies = exercise.respond, exercise.varies
    namespace, errors = run_cells(notebook["cells"])
    if "answer" not in namespace:
        return {"errors": errors, "missing": True}
    answer = namespace["answer"]
    found: list[Any] = []
    questions = notebook["questions"]
    for question in questions if varies(answer) else questions[:1]:
        try:
            if exercise.only_functions and not exercise.is_function(answer):
                found.append({"kind": type(answer).__name__})
            else:
                found.append({"value": encode(respond(answer, question))})
        except Exception as error:
            found.append({"raised": f"{type(error).__name__}: {error}"[:2000]})
    return {"errors": errors, "replies": found}


if __name__ == "__main__":
    sys.exit(main())
