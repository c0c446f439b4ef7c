"""Writes the types of the messages to the page, for the type checker of its JavaScript.

    python tools/message_types.py    writes tools/frontend/messages.d.ts

The types are those of `byoc_lab/lab/view/messages.py`.
"""

from __future__ import annotations

import inspect
import textwrap
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from byoc_lab.lab.view import messages

FILE = Path(__file__).parent / "frontend" / "messages.d.ts"
HEAD = "// Written by tools/message_types.py from byoc_lab/lab/view/messages.py.\n"
NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def declarations() -> str:
    """The text of the file: one interface in the namespace `Sent` for each public message."""
    found = [x for x in vars(messages).values() if is_typeddict(x) and x.__name__[0] != "_"]
    return f"{HEAD}declare namespace Sent {{\n" + "\n".join(map(_interface, found)) + "}\n"


def _interface(message: Any) -> str:
    doc = textwrap.wrap(inspect.getdoc(message) or "", 96)
    hints = get_type_hints(message)
    fields = [
        f"    {name}{'' if name in message.__required_keys__ else '?'}: {_type(hint)};"
        for name, hint in hints.items()
    ]
    lines = [f"  /** {doc[0]}", *(f"   * {line}" for line in doc[1:])]
    head = "\n".join(lines) + " */"
    return "\n".join([head, f"  interface {message.__name__} {{", *fields, "  }", ""])


def _type(hint: Any) -> str:
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return " | ".join(map(_type, inner))
    if kind is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if kind is list or inner[1:] == (...,):
        item = _type(inner[0])
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind is tuple:
        return f"[{', '.join(map(_type, inner))}]"
    if kind is dict:
        return f"Record<string, {_type(inner[1])}>"
    if hint is Any:
        return "any"
    return NAMES.get(hint) or str(hint.__name__)


if __name__ == "__main__":
    FILE.write_text(declarations(), encoding="utf-8")
