"""Runs the cells of a notebook as Jupyter does: in the shell of its kernel, but without output of
values."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from ipykernel import zmqshell
from ipykernel.ipkernel import IPythonKernel
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets import Type, default
from traitlets.config import Config

CONFIG = Config(
    HistoryManager={"enabled": False},  # history without a file and without a thread
    InteractiveShell={"xmode": "Minimal", "colors": "nocolor"},
)
OF_FRONT_END = ("less", "more", "man", "clear", "subshell")
"""Magics that need features which a container or a kernel without connections lacks."""


class _Nothing(DisplayFormatter):
    """Does not show values, because a large value would cost time and use up the output limit."""

    def format(self, obj: Any, include: Any = None, exclude: Any = None) -> Any:
        return {}, {}


class _Unseen(DisplayHook):
    """Keeps the values of cells (`_`, `Out`) without a prompt."""

    def write_output_prompt(self) -> None:
        pass


class ZMQInteractiveShell(zmqshell.ZMQInteractiveShell):
    """The shell of a graded notebook: Jupyter's magics, `display`, `await` and `task?` work.

    System commands are refused with a line of output, and the cell continues. It has the name of
    Jupyter's shell, because programs check this name to detect a notebook.
    """

    displayhook_class = Type(_Unseen)
    display_pub_class = Type(DisplayPublisher)
    _showtraceback = InteractiveShell._showtraceback

    @default("display_formatter")
    def _shows_nothing(self) -> DisplayFormatter:
        return _Nothing(parent=self)

    def init_display_formatter(self) -> None:
        self.configurables.append(self.display_formatter)

    def init_magics(self) -> None:
        super().init_magics()
        for name in self.magics_manager.registry["ScriptMagics"].magics["cell"]:
            self.magics_manager.register_function(self._refuse_script, "cell", name)
        for name in OF_FRONT_END:
            self.magics_manager.register_function(self._show_nothing, "line", name)

    def _refuse_script(self, line: str, cell: str) -> None:
        self.system(f"{line} {cell}")

    def _show_nothing(self, line: str) -> None:
        """A magic whose effect is only visible on a screen."""

    def system(self, cmd: str) -> None:
        print(f"not run here: {cmd:.100}")

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        self.system(cmd)
        return SList() if split else ""

    def enable_gui(self, gui: str | None = None) -> None:
        """Does nothing, because a graded notebook has no windows."""

    def ask_exit(self) -> None:
        """`exit()` does nothing, so that the cells after it are graded."""


def prepare_shell() -> None:
    """Create a kernel without connections and its shell; forks of this process inherit both."""
    shell = IPythonKernel(shell_class=ZMQInteractiveShell, config=CONFIG).shell
    shell.extension_manager.load_extension("storemagic")  # as in Jupyter


async def run_cells(cells: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Run cells in the running event loop, as a kernel does; returns their variables, and the error
    of each cell that failed.

    A failed cell does not stop later cells. Call it once per process, after `prepare_shell`: the
    shell is IPython's global one, which `get_ipython()` returns.
    """
    shell = ZMQInteractiveShell.instance()
    errors = []
    for number, cell in enumerate(cells, 1):
        error = await _error_of(shell, cell)
        # an error of a magic: Jupyter continues
        if error is not None and not isinstance(error, UsageError):
            errors.append(f"cell {number}: {_told(error)}"[:500])
        await asyncio.sleep(0)  # tasks continue between cells
    return shell.user_ns, errors


async def _error_of(shell: InteractiveShell, cell: str) -> BaseException | None:
    """Run a cell as `IPythonKernel.do_execute` does; returns the exception that ended it."""
    code, wrong = cell, None
    try:
        code = shell.transform_cell(cell)
    except Exception:
        wrong = sys.exc_info()  # the shell reports it as the error of the cell
    try:
        result = await shell.run_cell_async(
            cell, store_history=True, transformed_cell=code, preprocessing_exc_tuple=wrong
        )
    # an error of the shell itself, for example for a text with half a surrogate pair
    except Exception as fault:
        return fault
    shell.events.trigger("post_execute")
    shell.events.trigger("post_run_cell", result)
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"{type(error).__name__}: it ended the cell, and the cells after it were run"
    if isinstance(error, SyntaxError):  # its text contains a file name that IPython invents
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    return f"{type(error).__name__}: {error}"
