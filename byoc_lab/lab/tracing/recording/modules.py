"""The modules of a recording, as texts that share arrays; each array is recorded once."""

from __future__ import annotations

import json
from typing import Any

from byoc_lab.errors import ByocLabError, ParseError
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.json.metadata import MetaTable, decode_array
from byoc_lab.relay.text.json.reader import read_table
from byoc_lab.relay.text.parser import parse

State = int
"""The number of a recorded module: the module before or after a pass."""


class Modules:
    """The modules of one recording, each parsed once. name: the name of the recording, for
    spans."""

    def __init__(self, name: str):
        self.name = name
        self._arrays: dict[str, NDArray] = {}
        self._lines: list[dict[str, Any]] = []
        self._states: dict[tuple[str, str], State] = {}
        self._last: State | None = None
        self._parsed: dict[State, IRModule] = {}

    def add_array(self, key: str, data: str) -> None:
        """Keep an array that later modules refer to by its key. Raises ValueError for damaged
        data."""
        self._arrays[key] = NDArray(decode_array(data))

    def state(self, line: dict[str, Any]) -> State:
        """The state that a line describes. Raises LookupError if the first line says "same"."""
        if line.get("same"):
            if self._last is None:
                raise LookupError(
                    "a module is marked as equal to the previous one, but no module precedes it"
                )
            return self._last
        if "unprintable" not in line and not isinstance(line["module"], str):
            raise TypeError(f"a module must be a text, found {type(line['module']).__name__}")
        said = line.get("unprintable") or line["module"]
        key = (said, json.dumps(line.get("metadata")))
        if key not in self._states:
            self._states[key] = len(self._lines)
            self._lines.append(line)
        self._last = self._states[key]
        return self._last

    def module(self, state: State, name: str) -> IRModule:
        """The module of a state with which pass `name` began or ended; an `UnparsedModule` if its
        text does not parse."""
        if state not in self._parsed:
            self._parsed[state] = self._read(self._lines[state], f"{self.name} at pass {name}")
        return self._parsed[state]

    def _read(self, line: dict[str, Any], place: str) -> IRModule:
        if "unprintable" in line:
            return UnparsedModule("", f"TVM could not print it ({line['unprintable']})")
        text = line["module"]
        try:
            table = self._table(line["metadata"]) if "metadata" in line else None
            mod = _parsed(text, place, table)
        except ByocLabError as error:
            return UnparsedModule(text, f"byoc_lab cannot parse it ({error})")
        unknown = [key for key, values in (table or {}).items() if any(map(_is_elided, values))]
        if unknown:
            mod.notes.append(f"values of {', '.join(unknown)} in its metadata are not known here")
        return mod

    def _table(self, graph: dict[str, Any]) -> MetaTable:
        keys = graph.get("b64ndarrays", ())
        missing = [key for key in keys if key not in self._arrays]
        if missing:
            raise LookupError(f"array {missing[0]!r:.50} was not recorded")
        return read_table(graph, [self._arrays[key] for key in keys])


def _is_elided(value: Any) -> bool:
    return bool(getattr(value, "elided", False))


def _parsed(text: str, place: str, table: MetaTable | None) -> IRModule:
    """The module parsed from a text; without types if their inference fails."""
    try:
        return parse(text, place, init_meta_table=table)
    except ParseError:
        raise
    except ByocLabError as error:
        mod = parse(text, place, init_meta_table=table, infer=False)
        mod.notes.append(f"its types cannot be inferred: {error}")
        return mod
