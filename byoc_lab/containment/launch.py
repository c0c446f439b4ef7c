"""Starts a command in namespaces: `python launch.py ROOT PLAN COMMAND...`, without bubblewrap.

It runs as a script and imports nothing from the package. ROOT: an empty folder, on which the file
system of the command is built. PLAN: JSON, the steps of `containment.plan`. The command is the
first process of its namespace and has no network. It ends with this process, which ends with its
parent.

Root needs no user namespace, and switches to an unused user id, because the kernel does not count
the processes of root. Other accounts keep their user id in a user namespace.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import sys
from contextlib import suppress

NEW_USER, NEW_PROCESSES, NEW_MOUNTS = 0x10000000, 0x20000000, 0x00020000
NEW_NETWORK, NEW_IPC, NEW_HOST_NAME, NEW_CGROUP = 0x40000000, 0x08000000, 0x04000000, 0x02000000
NO_SET_UID, NO_DEVICES, BIND, RECURSIVE, PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
DETACH, DEATH_SIGNAL = 2, 1
MOUNT_SETATTR, AT_RECURSIVE, AT_FDCWD, ATTRIBUTE_READ_ONLY = 442, 0x8000, -100, 1
NOBODY, OF_NOBODY = 60578, 600  # first and number of user ids that systemd leaves free
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

libc = ctypes.CDLL(None, use_errno=True)


def main(root: str, plan: str, *command: str) -> int:
    parent = os.getppid()
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return 1
    user, group = os.geteuid(), os.getegid()
    kinds = NEW_PROCESSES | NEW_MOUNTS | NEW_NETWORK | NEW_IPC | NEW_HOST_NAME | NEW_CGROUP
    if user == 0:
        user = group = NOBODY + os.getpid() % OF_NOBODY
        checked(libc.unshare(kinds), "new namespaces")
    else:
        checked(libc.unshare(kinds | NEW_USER), "new namespaces")
        for name, text in (
            ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):  # fmt: skip
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    child = os.fork()
    if child == 0:
        try:
            build(root, json.loads(plan), f"uid={user},gid={group}")
            if user != os.geteuid():
                os.setgroups([])
                os.setresgid(group, group, group)
                os.setresuid(user, user, user)
            # changing the user clears this setting
            libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            os.execvp(command[0], command)
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


def build(root: str, plan: list[list[str]], owner: str) -> None:
    """Build the file system of a plan on `root` and make it the root of this process.

    owner: the owner of writable folders, as an option of tmpfs.
    """
    mount("none", "/", "none", PRIVATE | RECURSIVE)
    mount("tmpfs", root, "tmpfs", NO_SET_UID | NO_DEVICES, "size=1m,mode=755")
    for kind, *given in plan:
        target = root + given[-1]
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if kind == "link":
            os.symlink(given[0], target)
            continue
        if kind in ("visible", "device") and not os.path.isdir(given[0]):
            with suppress(FileExistsError):
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        else:
            os.makedirs(target, exist_ok=True)
        if kind == "writable":
            mount("tmpfs", target, "tmpfs", NO_SET_UID | NO_DEVICES, f"size={given[0]},{owner}")
        elif kind == "processes":
            mount("proc", target, "proc", NO_SET_UID | NO_DEVICES)
            read_only(target)
        else:
            mount(given[0], target, "none", BIND | RECURSIVE)
            if kind == "visible":
                read_only(target, AT_RECURSIVE)
    os.mkdir(f"{root}/old")
    number = PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the system call pivot_root is not known for {platform.machine()}")
    checked(libc.syscall(number, os.fsencode(root), os.fsencode(f"{root}/old")), "a new root")
    os.chdir("/")
    checked(libc.umount2(b"/old", DETACH), "no old root")
    os.rmdir("/old")
    read_only("/")
    os.chdir("/tmp")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    names = (os.fsencode(each) for each in (source, target, kind))
    checked(libc.mount(*names, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def read_only(path: str, flags: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(ATTRIBUTE_READ_ONLY, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    checked(
        libc.syscall(
            MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, ctypes.byref(attributes), size
        ),
        f"a read-only {path}",
    )


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: {what}")


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:
        sys.exit(str(error))
