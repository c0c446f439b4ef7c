"""`region.kernels`: how each operation of a compiled region runs, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from byoc_lab.display import text_in_full
from byoc_lab.errors import counted
from byoc_lab.markup import Markup, escaped, table
from byoc_lab.printing import columns, printable

HEAD = ("operation", "kernel", "layouts", "post-ops", "time", "share")
UNTIMED = "No times: region.set_profiling(True), run it, look again."


@dataclass(frozen=True)
class CompiledKernel:
    """The kernel that oneDNN compiled for one operation.

    impl: oneDNN's name of the kernel. layouts: of each operand, then of the result ("nChw16c":
    blocks of 16 channels). fused: the post-ops inside the kernel; separate: the post-ops run after
    it. time_us: in the last profiled call.
    """

    name: str
    impl: str
    layouts: dict[str, str]
    fused: tuple[str, ...]
    separate: tuple[str, ...]
    time_us: float | None

    @classmethod
    def of(cls, op: dict[str, Any]) -> CompiledKernel:
        """From an entry of the statistics (native/README.md)."""
        layouts = {**op["input_layouts"], "result": op["dst_layout"]}
        fused, separate = tuple(op["post_ops_fused"]), tuple(op["post_ops_separate"])
        return cls(op["name"], op["impl"], layouts, fused, separate, op["time_us"])

    def cells(self, total_us: float | None) -> tuple[str, ...]:
        """The cells under HEAD in a table; total_us: the time of all kernels together."""
        *operands, result = self.layouts.values()
        post_ops = [*self.fused, *(f"then {name}" for name in self.separate)]
        took, share = "", ""
        if self.time_us is not None:
            took = f"{self.time_us:,.0f} us"
            share = f"{100 * self.time_us / total_us:.0f} %" if total_us else ""
        layouts = f"{', '.join(operands)} -> {result}"
        return self.name, self.impl, layouts, ", ".join(post_ops), took, share

    @printable
    def __str__(self) -> str:
        return ", ".join(filter(None, self.cells(None)))


class CompiledKernels(tuple[CompiledKernel, ...]):
    """The kernels of a region in execution order; displayed as a table."""

    @property
    def time_us(self) -> float | None:
        """The total time in the last profiled call; None without one."""
        times = [kernel.time_us for kernel in self if kernel.time_us is not None]
        return sum(times) if times else None

    def _rows(self) -> list[tuple[str, ...]]:
        return [kernel.cells(self.time_us) for kernel in self]

    def _foot(self) -> str:
        if self.time_us is None:
            return UNTIMED
        return f"{counted(len(self), 'kernel')}, {self.time_us:,.0f} us"

    @printable
    def __str__(self) -> str:
        lines = columns([HEAD, *self._rows()], right=(len(HEAD) - 2, len(HEAD) - 1))
        return "\n".join([*lines, self._foot()])

    __repr__ = __str__

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        rows = []
        for kernel, row in zip(self, self._rows(), strict=True):
            cells = [escaped(cell) for cell in row]
            cells[1:3] = [f"<code>{cell}</code>" for cell in cells[1:3]]
            cells = [Markup(f"{NO_WRAP}{cell}</span>") for cell in cells]
            cells[-1] = _bar(kernel.time_us, self.time_us, row[-1])
            rows.append(cells)
        return f"{table(HEAD, rows, numbers=(len(HEAD) - 2,))}<p>{escaped(self._foot())}</p>"


NO_WRAP = '<span style="white-space:nowrap">'


def _bar(time_us: float | None, total_us: float | None, label: str) -> str:
    """A share of the time as a bar, followed by the number."""
    if time_us is None or not total_us:
        return label
    return Markup(
        f'{NO_WRAP}<span style="display:inline-block;height:0.7em;margin-right:0.5em;'
        f'background:#0072b2;width:{120 * time_us / total_us:.0f}px"></span>{escaped(label)}</span>'
    )
