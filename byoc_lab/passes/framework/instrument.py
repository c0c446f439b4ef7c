"""Instruments are called before and after every pass. `tvm.ir.instrument` of TVM 0.16.

with PassContext(instruments=[timing := PassTimingInstrument()]):
    mod = Sequential([...])(mod)
    print(timing.render())
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.module import IRModule


@dataclass(frozen=True)
class PassInfo:
    """The metadata of a pass. required: names of passes that a Sequential runs before it."""

    opt_level: int
    name: str
    required: tuple[str, ...] = ()
    traceable: bool = False

    @printable
    def __str__(self) -> str:
        needs = "[\n" + "".join(f"{name}, " for name in self.required) + "]"
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
            f"required passes: {needs if self.required else '[]'}\n"
        )


class PassInstrument:
    """Override the methods you need. An exception in a method ends the pass and leaves the
    context."""

    def enter_pass_ctx(self) -> None:
        """Called when the context of this instrument is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context of this instrument is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass should run; if not, the module stays as it is."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called before a pass runs."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called after a pass has run; `mod` is its result."""


def pass_instrument(pi_cls: type | None = None) -> Any:
    """A decorator that makes an instrument of a class with some of its methods."""

    def wrap(cls: Any) -> type:
        if not isinstance(cls, type):
            raise ArgumentError(f"pi_cls must be a class, found {cls!r}")
        if issubclass(cls, PassInstrument):
            return cls
        made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})
        made.__module__ = cls.__module__
        return made

    return wrap if pi_cls is None else wrap(pi_cls)


class TraceInstrument(PassInstrument):
    """`PassContext(trace=...)`: a function that is called before and after each pass."""

    def __init__(self, trace: Callable[[IRModule, PassInfo, bool], object]):
        self.trace = trace

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.trace(mod, info, True)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.trace(mod, info, False)


@dataclass
class _Profile:
    """The begin and end of a pass, in seconds, and the passes that ran inside it."""

    name: str
    begin: float
    end: float | None = None  # None if the pass raised, or still runs
    inner: list[_Profile] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.inside if self.end is None else self.end - self.begin

    @property
    def inside(self) -> float:
        return sum(p.seconds for p in self.inner)


class PassTimingInstrument(PassInstrument):
    """Times every pass, and those inside it; call `render()` inside the context."""

    def __init__(self) -> None:
        self.enter_pass_ctx()

    def enter_pass_ctx(self) -> None:
        self._open = [_Profile("", 0.0)]

    exit_pass_ctx = enter_pass_ctx

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        profile = _Profile(info.name, time.perf_counter())
        self._open[-1].inner.append(profile)
        self._open.append(profile)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        now = time.perf_counter()
        while (profile := self._open.pop()).name != info.name:
            pass  # the pass raised, so it has no end
        profile.end = now

    def render(self) -> str:
        """A line for each pass: its total time, its own time in brackets, and its share of all time
        and of the enclosing pass. Empty if no pass has run in the context."""
        whole = self._open[0].seconds
        lines: list[str] = []
        stack = [(p, 0, whole) for p in reversed(self._open[0].inner)]
        while stack:
            p, depth, around = stack.pop()
            total, own = round(p.seconds * 1e6), round((p.seconds - p.inside) * 1e6)
            shares = [f"{p.seconds / part if part else 0:.2%}" for part in (whole, around)]
            lines.append("\t" * depth + f"{p.name}: {total}us [{own}us] ({'; '.join(shares)})\n")
            stack += [(q, depth + 1, p.seconds) for q in reversed(p.inner)]
        return "".join(lines)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes of these names."""

    def __init__(
        self, print_before_pass_names: Sequence[str], print_after_pass_names: Sequence[str]
    ):
        self.print_before_pass_names = print_before_pass_names
        self.print_after_pass_names = print_after_pass_names

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.print_before_pass_names:
            print(f"Print IR before: {info.name}\n{mod}\n\n")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.print_after_pass_names:
            print(f"Print IR after: {info.name}\n{mod}\n\n")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info}")
        print(mod)


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info}")
        print(mod)
