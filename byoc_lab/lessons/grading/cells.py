"""Runs the cells of a notebook as Jupyter does: in IPython's own shell, which shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets import Type, default
from traitlets.config import Config

CONFIG = Config(
    HistoryManager={"enabled": False},  # no file, no thread
    InteractiveShell={"xmode": "Minimal", "colors": "nocolor"},
)


class _Nothing(DisplayFormatter):
    """Shows no value: a large one costs neither time nor the limit of output."""

    def format(self, obj: Any, include: Any = None, exclude: Any = None) -> Any:
        return {}, {}


class _Unseen(DisplayHook):
    """Keeps the values of cells (`_`, `Out`) without a prompt."""

    def write_output_prompt(self) -> None:
        pass


class Shell(InteractiveShell):
    """The shell of a graded notebook: IPython's magics, `display`, `await` and `task?` work.

    Commands of the system are refused with a line of output, and the cell goes on.
    """

    displayhook_class = Type(_Unseen)

    @default("display_formatter")
    def _shows_nothing(self) -> DisplayFormatter:
        return _Nothing(parent=self)

    def init_display_formatter(self) -> None:
        self.configurables.append(self.display_formatter)

    def init_magics(self) -> None:
        super().init_magics()
        for name in self.magics_manager.registry["ScriptMagics"].magics["cell"]:
            self.magics_manager.register_function(self._refuse_script, "cell", name)

    def _refuse_script(self, line: str, cell: str) -> None:
        self.system(f"{line} {cell}")

    def system(self, cmd: str) -> None:
        print(f"not run here: {cmd:.100}")

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        self.system(cmd)
        return SList() if split else ""

    def enable_gui(self, gui: str | None = None) -> None:
        """A graded notebook has no windows."""

    def ask_exit(self) -> None:
        """`exit()` does nothing, so that the cells after it are graded."""


def prepare_shell() -> None:
    """Make the shell, which forks of this process then have, each its own."""
    Shell.instance(config=CONFIG)


def run_cells(cells: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Run cells; returns their variables, and an error for each cell that ends with one.

    A cell with an error does not stop those after it. Call it once in a process: the shell is
    IPython's global one, which `get_ipython()` returns.
    """
    shell = Shell.instance(config=CONFIG)
    errors = []
    for number, cell in enumerate(cells, 1):
        result = shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, UsageError):  # of a magic: Jupyter continues
            errors.append(f"cell {number}: {_told(error)}"[:500])
    return shell.user_ns, errors


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "it ends the program"
    if isinstance(error, SyntaxError):  # its text names a file that IPython makes up
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    return f"{type(error).__name__}: {error}"
