"""The process that runs the notebooks of one submission.

`python -m byoc_lab.lessons.grading.sandbox DESCRIPTOR` reads one JSON request from its standard
input, imports what notebooks need, and writes a line of JSON for each notebook. It forks a process
for each notebook, in which alone a student's code runs; what that process sends back is data, which
is judged elsewhere. It begins when it reads a byte from the descriptor, so none begins without a
grader.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from byoc_lab.containment.confinement import become_reaper, confine, hide_from_others, limit
from byoc_lab.containment.family import below, die_with
from byoc_lab.lessons.grading.cells import run_cells
from byoc_lab.lessons.grading.limits import ENDED, READY, Limits
from byoc_lab.lessons.grading.replies import encode
from byoc_lab.lessons.verdict import NOT_HERE
from byoc_lab.processor_time import asleep_limit, process_seconds

NETWORK_EVENTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
FILE_EVENTS = ("open", "os.listdir", "os.scandir")
POLL = 0.02  # seconds between two looks at the processes
BYTES_OF_A_FILE = 1024  # of the kernel's memory, of an empty file
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Serve one request: {"notebooks", "limits", "hidden", "folder", "parent"}; parent is None in a
    container, which ends with its parent."""
    request, go = json.loads(sys.stdin.read()), int(sys.argv[1])
    contained = request["parent"] is None
    if contained:
        hide_from_others()
    else:
        die_with(request["parent"])
        become_reaper()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    print(READY, file=out, flush=True)
    if not os.read(go, 1):
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import byoc_lab.lessons.exercises as exercises

    exercises.all_exercises()
    folder, hidden = Path(request["folder"]), [Path(path) for path in request["hidden"]]
    limits = Limits(**request["limits"])
    for notebook in [with_questions(each) for each in request.pop("notebooks")]:
        if notebook["not_here"]:
            result = {"status": NOT_HERE, "printed": "", "reply": notebook["not_here"]}
        else:
            result = run_notebook(notebook, limits, folder, hidden, contained)
        print(json.dumps({"isolated": contained, **result}), file=out, flush=True)
    return 0


def run_notebook(
    notebook: dict[str, Any], limits: Limits, folder: Path, hidden: list[Path], isolated: bool
) -> dict[str, Any]:
    """Run one notebook in a child; {"status", "printed", "reply"}, the last as the child wrote it.

    Status: "ran", "timed out", "too many processes", "too much memory", "too much output",
    "crashed", or ENDED if the process exited without a reply.
    """
    read_reply, write_reply = os.pipe()
    read_output, write_output = os.pipe()
    before, (_, spent) = len(_alive(isolated)), _used(isolated)
    here = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(here)
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
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
        elif len(_alive(isolated)) - before > limits.processes:
            status = "too many processes"  # at once: while they are counted, they become more
        else:
            memory, seconds = _used(isolated)
            memory += _bytes_in(folder) if isolated else 0
            if seconds - spent > limits.seconds or time.monotonic() > asleep:
                status = "timed out"
            elif memory > limits.memory:
                status = "too much memory"
    _kill_all(child, isolated)
    # A program that folders in folders do not stop; what it cannot remove stays. Python and its
    # packages are other file systems, where they are below the folder.
    find = shutil.which("find", path=os.defpath) or "find"  # whatever PATH is
    command = [find, str(folder), "-xdev", "-mindepth", "1", "-delete"]
    subprocess.run(command, timeout=asleep_limit(0), stderr=subprocess.DEVNULL)
    os.close(read_reply)
    os.close(read_output)
    return {
        "status": status,
        "printed": printed.decode(errors="replace"),
        "reply": reply.decode(errors="replace") if status == "ran" else "",
    }


def _alive(isolated: bool) -> list[str]:
    """The processes in the container, or else those below this process."""
    if isolated:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    return [str(number) for number in below(os.getpid())]


def _used(isolated: bool) -> tuple[int, float]:
    """The bytes of memory and the seconds of processor time that `_alive` use together.

    What a process shares with this one since its fork counts once."""
    ids = _alive(isolated)
    pages = shared = _pages("self") if ids else 0
    for name in ids:
        with suppress(OSError):
            own = _pages(name)
            pages += max(0, own - shared) if _command(name) == _command("self") else own
    return pages * PAGE, sum(process_seconds(int(name)) for name in ids)


def _bytes_in(folder: Path) -> int:
    """The bytes in a folder that is a file system in memory, with those of the names of files."""
    found = os.statvfs(folder)
    blocks, files = found.f_blocks - found.f_bfree, found.f_files - found.f_ffree
    return blocks * found.f_frsize + files * BYTES_OF_A_FILE


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
        limit(
            as_=limits.memory, fsize=limits.file, nproc=2 * limits.processes, core=0, nofile=256,
            cpu=2 * int(limits.seconds) + 1,  # should the parent be late to notice
        )  # fmt: skip
        confine()
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


def refuse_by_hook(hidden: Sequence[Path], noticed: list[str]) -> None:
    """Refuse Python's sockets and hidden folders; what was tried goes into `noticed`."""
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
    """The notebook with the questions of its seeds, and without the seeds: no process in which a
    student's code runs has those of hidden variants, its own or another exercise's.

    "not_here": what the exercise needs that is not on this machine; a student cannot claim it."""
    from byoc_lab.lessons.exercises import get

    exercise, seeds = get(notebook["exercise"]), notebook.pop("seeds")
    missing = exercise.missing()
    questions = [] if missing else [exercise.question(seed) for seed in seeds]
    return {**notebook, "questions": questions, "not_here": missing}


def replies(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run the cells, then the answer for each question: {"errors", "replies" or "missing"}.

    A cell with an error does not stop those after it.
    """
    from byoc_lab.lessons.exercises import get

    exercise = get(notebook["exercise"])
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
