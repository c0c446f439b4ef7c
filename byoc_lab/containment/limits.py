"""Resource limits of an untrusted program, and the statuses of its end."""

from __future__ import annotations

from dataclasses import dataclass

from byoc_lab.printing import printable

RAN, CRASHED, TIMED_OUT = "ran", "crashed", "timed out"
ENDED = "ended Python"
"""The status of a program whose process exited without a reply."""
MUCH_MEMORY, MUCH_OUTPUT = "too much memory", "too much output"
MANY_PROCESSES = "too many processes"


@dataclass(frozen=True)
class Limits:
    """The resource limits of one program.

    seconds: processor time of all its processes together. memory: bytes of address space that one
    process adds after its start, and bytes in use that all processes add, including the files in
    their folder. processes: the number of processes at a time. output: bytes of printed output.
    reply: bytes of its answers. file: bytes of one file. folder: bytes of the folder that the
    programs of one container share.
    """

    seconds: float = 30.0
    memory: int = 2 << 30
    processes: int = 32
    output: int = 16 << 20
    reply: int = 32 << 20
    file: int = 64 << 20
    folder: int = 128 << 20

    @printable
    def __str__(self) -> str:
        return (
            f"{self.seconds:g} seconds of processor time, {self.memory >> 20} MiB, "
            f"{self.processes} processes, and {self.output >> 20} MiB of output"
        )
