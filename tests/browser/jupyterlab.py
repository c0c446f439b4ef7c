"""A private JupyterLab for tests: opens and runs notebooks and evaluates code in their kernels.

The server keeps all its files in one folder and stops with the test session. Notebooks are driven
through JupyterLab's application object, because menus move between versions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SETTINGS = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}

_RUN_ALL = """async () => {
  await jupyterapp.commands.execute("notebook:run-all-cells");
}"""

_READY = """async (path) => {
  await jupyterapp.restored;
  for (;;) {
    const widget = jupyterapp.shell.currentWidget;
    if (widget?.context?.path === path) {
      await widget.context.ready;
      await widget.context.sessionContext.ready;
      await widget.context.sessionContext.session.kernel.info;
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}"""

_CELLS = """() => jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(
  (cell) => cell.toJSON())"""

_SHUT_DOWN = """async () => {
  for (const widget of jupyterapp.shell.widgets("main")) {
    await widget.context?.sessionContext?.shutdown();
  }
}"""

_ASK = """async (code) => {
  const kernel = jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code, store_history: false });
  const said = [];
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream") said.push(content.text);
    if (header.msg_type === "error") said.push(`${content.ename}: ${content.evalue}`);
  };
  await future.done;
  return said.join("");
}"""


class JupyterLab:
    """`with JupyterLab(folder) as lab:` runs a server on `folder`; `lab.url` is its address."""

    def __init__(self, root: Path, start_seconds: float = 300.0):
        self.root = root
        self.start_seconds = start_seconds
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> JupyterLab:
        home = self.root / ".jupyter-test"
        folders = {
            name: home / name.lower()
            for name in (
                "JUPYTER_CONFIG_DIR",
                "JUPYTER_DATA_DIR",
                "JUPYTER_RUNTIME_DIR",
                "IPYTHONDIR",
            )
        }
        settings = home / "settings" / "@jupyterlab" / "apputils-extension"
        for folder in (*folders.values(), settings, home / "workspaces"):
            folder.mkdir(parents=True, exist_ok=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(_SETTINGS))
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser",
            "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}", "--IdentityProvider.token=",
            "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
            "--ServerApp.terminals_enabled=False", "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly", "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            f"--LabApp.workspaces_dir={home / 'workspaces'}",
            f"--LabApp.user_settings_dir={home / 'settings'}",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        self.data, self.log = folders["JUPYTER_DATA_DIR"], home / "server.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **{k: str(v) for k, v in folders.items()}},
                start_new_session=True,  # a process group: kernels stop with the server
            )
        try:
            self.url = self._address(folders["JUPYTER_RUNTIME_DIR"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def _address(self, runtime: Path) -> str:
        deadline = time.monotonic() + self.start_seconds
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            for info in runtime.glob("jpserver-*.json"):
                try:
                    return str(json.loads(info.read_text())["url"])
                except json.JSONDecodeError:
                    pass  # the file is being written
            time.sleep(0.05)
        tail = self.log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"JupyterLab did not start within {self.start_seconds:g} s:\n{tail}")

    def __exit__(self, *exc: object) -> None:
        if self._process is None:
            return
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, sign)
                self._process.wait(timeout=60)
                break
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._process = None

    def open(self, page: Any, path: str, app: str = "JupyterLab") -> None:
        """Opens the notebook at `path` (below `root`) in `page`, and waits for its kernel.

        app: "JupyterLab" or "Notebook", which is Jupyter Notebook 7 on the same server.
        """
        place = {"JupyterLab": f"lab/tree/{path}?reset", "Notebook": f"notebooks/{path}"}[app]
        page.goto(f"{self.url}{place}", wait_until="load")
        page.wait_for_function("() => window.jupyterapp !== undefined", timeout=300_000)
        page.evaluate(_READY, path)

    def run_all(self, page: Any) -> None:
        """Runs every cell; raises AssertionError with the traceback of the first failed cell."""
        page.evaluate(_RUN_ALL)
        for cell in page.evaluate(_CELLS):
            for output in cell.get("outputs", ()):
                if output["output_type"] == "error":
                    trace = "\n".join(output["traceback"])
                    raise AssertionError(f"cell failed:\n{cell['source']}\n\n{trace}")

    def shut_down(self, page: Any) -> None:
        """Shuts down the kernels of the notebooks that are open in `page`."""
        page.evaluate(_SHUT_DOWN)

    def ask(self, page: Any, code: str) -> str:
        """The text that Python code prints in the kernel of the open notebook."""
        return str(page.evaluate(_ASK, code))

    def wait_for(self, page: Any, code: str, wanted: str, tries: int = 600) -> None:
        """Repeats `code` until it prints `wanted`; raises AssertionError with the last text.

        A widget delays a change until the kernel has answered the previous one, so a question can
        overtake the change.
        """
        for _ in range(tries):
            told = self.ask(page, code).strip()
            if told == wanted:
                return
            page.wait_for_timeout(100)
        raise AssertionError(f"{code} prints {told!r}, expected {wanted!r}")


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of code cells."""
    path.write_text(
        json.dumps(
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "id": f"cell-{n}",
                        "metadata": {},
                        "execution_count": None,
                        "outputs": [],
                        "source": source,
                    }
                    for n, source in enumerate(cells)
                ],
                "metadata": {
                    "kernelspec": {
                        "name": "python3",
                        "display_name": "Python 3",
                        "language": "python",
                    }
                },
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        )
    )
