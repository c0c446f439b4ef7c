"""The cases of the comparison: each is one definition that both sides execute.

A case is named either "module.function", a builder `function(tvm, relay, np) -> IRModule` in a
module of this package, or "folder/file", a text `folder/file.relay` in this folder.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class NoSuchCase(LookupError):
    """No case has this name."""


def load(name: str, tvm: Any, relay: Any, np: Any) -> Any:
    """Builds the case `name` with the caller's tvm and relay.

    Raises NoSuchCase, and any error of the builder.
    """
    if "/" in name:
        path = HERE / f"{name}.relay"
        if not path.exists():
            raise NoSuchCase(f"no case {name!r}: {path.name} is not in {path.parent}")
        return parse(path.read_text(encoding="utf-8"), tvm, relay, np)
    module, _, function = name.partition(".")
    if not (HERE / f"{module}.py").exists():
        raise NoSuchCase(f"no case {name!r}: {module}.py is not in {HERE}")
    builder = getattr(import_module(f".{module}", __package__), function, None)
    if builder is None:
        raise NoSuchCase(f"no case {name!r}: {module}.py has no {function!r}")
    return builder(tvm, relay, np)


def parse(text: str, tvm: Any, relay: Any, np: Any) -> Any:
    """The module that `text` describes."""
    return relay.parse(text)


def texts(folder: str) -> list[str]:
    """The names of all text cases in `folder`, sorted."""
    return sorted(f"{folder}/{path.stem}" for path in (HERE / folder).glob("*.relay"))
