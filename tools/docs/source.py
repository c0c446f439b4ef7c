"""Pages with the source of modules, whose lines can be linked."""

from __future__ import annotations

import inspect
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


class Sources:
    """Links to lines of the source; knows afterwards which files need a page."""

    def __init__(self) -> None:
        self._files: set[Path] = set()

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
        page = f"{up}{FOLDER}/{path.with_suffix('.html').as_posix()}"
        # HTML, since MkDocs does not know the anchors that highlighting makes.
        return f'<a class="source" href="{page}#__codelineno-0-{line}">{path.as_posix()}:{line}</a>'

    def write(self, folder: Path) -> None:
        """Write the page of each file that is linked."""
        for path in self._files:
            target = folder / FOLDER / path.with_suffix(".md")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = (ROOT / path).read_text(encoding="utf-8")
            target.write_text(PAGE.format(name=path.as_posix(), text=text), encoding="utf-8")
