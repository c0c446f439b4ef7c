"""Commands in containers: they see Python, its packages and /usr, and one small writable folder.

If bubblewrap is installed, it creates the container, because distributions that forbid user
namespaces may allow them for bubblewrap; otherwise `launch.py` creates the same container from the
same plan. A contained command has no network, sees no other process, and finds only the files of
its plan: no home, no /run, no socket.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from byoc_lab.containment.children import ChildError, run
from byoc_lab.containment.scratch import scratch_folder
from byoc_lab.errors import ByocLabError

FOLDER = "/tmp"
"""The only folder that a contained command can write to; it is empty at first."""

KINDS = ("bubblewrap", "namespaces")
"""The kinds of containers, in the order of trial. Root tries namespaces without bubblewrap first:
with bubblewrap it stays root, whose processes the kernel does not count."""

LAUNCHER = Path(__file__).with_name("launch.py")
SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/sbin")  # links to /usr, in most distributions
# the host's /dev/zero would allow shared memory
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
PROBE_SECONDS = 60.0
PROBE = "import os, sys, numpy; print(os.getpid(), *map(os.path.exists, ('/run', sys.argv[1])))"
PROBED = "1 False False"


class ContainmentError(ByocLabError, RuntimeError):
    """This machine cannot contain a process."""


@cache
def way() -> str:
    """The first kind of container (of KINDS) that works on this machine, found by trying. Raises
    ContainmentError if none works."""
    reasons = []
    for name in KINDS if os.geteuid() else reversed(KINDS):
        reason = failure(name)
        if not reason:
            return name
        reasons.append(f"{name}: {reason}")
    raise ContainmentError(
        f"this machine cannot contain a process ({'; '.join(reasons)}). Install bubblewrap (`apt "
        f"install bubblewrap`) or allow user namespaces (`unshare -rn true` must work)"
    )


def possible() -> bool:
    """Whether a kind of container works on this machine."""
    try:
        return bool(way())
    except ContainmentError:
        return False


def failure(name: str) -> str:
    """The reason why a kind of container (of KINDS) does not work on this machine; empty if it
    works."""
    if sys.platform != "linux":
        return f"needs Linux, found {sys.platform}"
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        return "bwrap is not installed"
    with scratch_folder("byoc-lab-probing-") as folder:
        command = contained([sys.executable, "-c", PROBE, str(folder)], name, folder)
        try:
            done = run(command, PROBE_SECONDS, PROBE_SECONDS, env=environment())
        except ChildError:
            return f"its trial did not end within {PROBE_SECONDS:g} seconds"
    if done.output.strip() == PROBED:
        return ""
    return (done.errors or done.output).strip().rpartition("\n")[2] or f"exit {done.code}"


def contained(
    command: Sequence[str],
    name: str,
    folder: Path,
    hidden: Iterable[Path] = (),
    size: int = 1 << 20,
) -> list[str]:
    """The command line that runs a command in a container.

    name: one of KINDS. folder: an empty folder for its preparation, which the command does not see.
    hidden: folders that appear empty to the command. size: the size in bytes of FOLDER, where the
    command starts.
    """
    root, empty = folder / "root", folder / "empty"
    root.mkdir()
    empty.mkdir()
    steps = plan(hidden, empty, size)
    if name == "namespaces":
        launcher = [sys.executable, "-I", "-S", str(LAUNCHER)]
        return [*launcher, str(root), json.dumps(steps), *command]
    spelled = {
        "visible": ["--ro-bind"], "device": ["--dev-bind"], "link": ["--symlink"],
        "processes": ["--proc"],
    }  # fmt: skip
    arguments = ["bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--as-pid-1"]
    arguments += ["--cap-drop", "ALL"]
    for kind, *given in steps:
        if kind == "writable":
            arguments += ["--size", given[0], "--tmpfs", given[1]]
        else:
            arguments += [*spelled[kind], *given]
    for path in ("/proc", "/"):
        arguments += ["--remount-ro", path]
    return [*arguments, "--chdir", FOLDER, "--", *command]


def plan(hidden: Iterable[Path], empty: Path, size: int) -> list[list[str]]:
    """The steps that build the file system: each has a kind, arguments, and the path inside."""
    steps = [["writable", str(size), FOLDER], ["processes", "/proc"]]
    for link in LINKS:
        if os.path.islink(link):
            steps.append(["link", os.readlink(link), link])
        elif os.path.isdir(link):
            steps.append(["visible", link, link])
    shown: list[Path] = []
    paths = [*SYSTEM, sys.prefix, sys.base_prefix, *packages(), str(Path(__file__).parents[1])]
    spelled = {Path(f(each)) for each in paths for f in (os.path.abspath, os.path.realpath)}
    for path in sorted(spelled):
        known = (*shown, *map(Path, LINKS))
        if path.exists() and not any(path.is_relative_to(each) for each in known):
            shown.append(path)
            steps.append(["visible", str(path), str(path)])
    for path in sorted(each.resolve() for each in hidden):
        if path.is_dir() and any(path != each and path.is_relative_to(each) for each in shown):
            steps.append(["visible", str(empty), str(path)])
    steps += [["device", path, path] for path in DEVICES]
    return [*steps, ["link", FOLDER, "/dev/shm"]]


def packages() -> list[str]:
    """The folders of Python's path that belong to Python or have installed packages; not a folder
    of scripts, and not the current folder."""
    own = (sys.prefix, sys.base_prefix)
    return [
        each
        for each in sys.path
        if any(Path(each).is_relative_to(prefix) for prefix in own)
        or (each and any(Path(each).glob("*.dist-info")))
    ]


def environment() -> dict[str, str]:
    """The environment variables of a contained command: the paths of programs and packages, and its
    folder."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")}
    if kept.get("PATH"):  # these folders may not exist
        kept["PATH"] += os.pathsep + os.defpath
    return {**kept, "PYTHONPATH": os.pathsep.join(packages()), "HOME": FOLDER, "TMPDIR": FOLDER}
