"""Pages with the source of modules, whose lines can be linked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "source"
PAGE = """---
search: {{exclude: true}}
hide: [navigation, toc]
---
# {name}

```````python linenums="1"
{text}
```````
"""


def _on_site(path: Path, line: int, up: str) -> str:
    # MkDocs does not know the anchors that highlighting makes.
    return f"{up}{FOLDER}/{path.with_suffix('.html').as_posix()}#__codelineno-0-{line}"


class Sources:
    """Links to lines of the source; knows afterwards which files they lead to.

    address: of a line of a file, from a page below `up`.
    """

    def __init__(self, address: Callable[[Path, int, str], str] = _on_site) -> None:
        self._address = address
        self._files: set[Path] = set()

    @property
    def texts(self) -> dict[str, str]:
        """The text of each file that is linked, by its path."""
        files = {path.as_posix(): ROOT / path for path in sorted(self._files)}
        return {path: file.read_text(encoding="utf-8") for path, file in files.items()}

    def link(self, obj: Any, up: str = "../") -> str:
        """A link to the line where `obj` is defined, from a page below `up`; "" if it has none."""
        try:
            file = Path(inspect.getsourcefile(inspect.unwrap(obj)) or "")
            _, line = inspect.getsourcelines(obj)
        except (TypeError, OSError):
            return ""
        return self.line(file, line, up) if file.is_relative_to(ROOT / "byoc_lab") else ""

    def line(self, file: Path, line: int, up: str = "../") -> str:
        """A link to a line of a file of the package, from a page below `up`."""
        path = file.relative_to(ROOT)
        self._files.add(path)
        address = self._address(path, line, up)
        return f'<a class="source" href="{address}">{path.as_posix()}:{line}</a>'

    def write(self, folder: Path) -> None:
        """Write the page of each file that is linked."""
        for path, text in self.texts.items():
            target = folder / FOLDER / Path(path).with_suffix(".md")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(PAGE.format(name=path, text=text), encoding="utf-8")
