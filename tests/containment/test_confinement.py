"""System calls that a confined process is refused, and those that it is allowed."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.linux

REFUSED = {
    "a socket": "import socket; socket.socket()",
    "a Unix socket": "import socket; socket.socket(socket.AF_UNIX)",
    "a pair of datagram sockets": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)",
    "a file in memory": "os.memfd_create('x')",
    "shared memory": "import mmap; mmap.mmap(-1, 4096)",
}
ALLOWED = {
    "a pair of sockets": "import socket; socket.socketpair()",
    "an event loop": "import asyncio; asyncio.run(asyncio.sleep(0))",
    "a process": "import subprocess; subprocess.run(['true'], check=True)",
    "a thread": "import threading; t = threading.Thread(target=len, args='x'); t.start(); t.join()",
    "private memory": "import mmap; mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)",
    "a fork": "os.waitpid(os.fork() or os._exit(0), 0)",
}
CONFINED = f"""
import os
from byoc_lab.containment.confinement import confine
confine()
for name, code in {[*REFUSED.items(), *ALLOWED.items()]}:
    try:
        exec(code)
    except PermissionError:
        print(name)
"""


def test_confined_process_is_refused_some_calls_and_allowed_others() -> None:
    done = subprocess.run([sys.executable, "-c", CONFINED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(REFUSED)
