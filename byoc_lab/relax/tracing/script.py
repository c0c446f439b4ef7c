"""The text of a Relax module, TVMScript, with the node of each line.

TVM's printer is configured to write a number after each binding (`obj_to_annotate`), which is then
parsed and removed. Functions are printed one by one, so that stages of a trace share the lines of
unchanged functions; Relax functions come first, then TIR functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from byoc_lab.relax.tracing.mirror import Mirror, Mirrored
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.text.printer_lines import Line
from byoc_lab.run.tvm_runtime import same_structure

_NUMBER = re.compile(r"(?:^|  )# byoc_lab:(\d+)$")
_DEFINES = re.compile(r"\s*(\w+)(?:: .*?)? = ")
_DEF = re.compile(r"\s*def (\w+)\(")
_NAMES = re.compile(r"(?<![\w.\"])(?:cls\.)?([^\W\d]\w*)")
_OPENS, _CLOSES = "([{", ")]}"
_BLOCK = "    @"  # a decorator of a function of the module


class Script:
    """Prints the functions of modules, each once: an unchanged copy of a function reuses the lines
    of the original."""

    def __init__(self, mirror: Mirror):
        self.mirror = mirror
        self._lines: dict[Any, list[Line]] = {}
        self._texts: dict[Any, str] = {}
        self._first: dict[Any, Any] = {}  # {function: equal function seen before}
        self._last: dict[str, Any] = {}  # {name: function seen last}

    def first(self, gv: Any, function: Any) -> Any:
        """The first of all functions that are equal to this one."""
        if function not in self._first:
            name = str(gv.name_hint)
            last = self._last.get(name)
            equal = last is not None and same_structure(last, function)
            self._first[function] = self._last[name] = last if equal else function
        return self._first[function]

    def mirrored(self, gv: Any, function: Any) -> Mirrored:
        """The nodes of a Relax or TIR function; TIR functions are identified by their text."""
        tvm = self.mirror.tvm
        function = self.first(gv, function)
        if isinstance(function, tvm.relax.Function):
            return self.mirror.function(function)
        if not self.mirror.knows(function):
            self._texts[function] = self._text(gv, function, {}, (), None)
        return self.mirror.code(self._texts[function], function)

    def lines(self, mod: Any) -> list[Line]:
        """The lines of a module."""
        made = list(map(Line, self._head(mod)))
        is_relax = self.mirror.tvm.relax.Function
        functions = sorted(
            mod.functions.items(),
            key=lambda item: (not isinstance(item[1], is_relax), str(item[0].name_hint)),
        )
        for gv, function in functions:
            same = self.first(gv, function)
            key = (str(gv.name_hint), same)
            if key not in self._lines:
                self._lines[key] = list(self._function(gv, same, mod.global_infos))
            made += self._lines[key]
        return made

    def _head(self, mod: Any) -> Iterator[str]:
        """The lines before the first function: the class, and the attributes of the module."""
        empty = self.mirror.tvm.IRModule({}, mod.attrs, mod.global_infos)
        for line in _kept(empty.script(show_meta=False)):
            if line.strip() != "pass":
                yield line

    def _function(self, gv: Any, function: Any, infos: Any) -> Iterator[Line]:
        name = str(gv.name_hint)
        found = self.mirrored(gv, function)
        if not isinstance(function, self.mirror.tvm.relax.Function):
            for n, line in enumerate(_kept(self._texts[function])):
                node = found.function if n == 1 else None  # the line after the decorator
                yield Line(line, node, name)
            return
        notes = {b: f"byoc_lab:{n}" for n, (b, _) in enumerate(found.bindings)}
        text = self._text(gv, function, notes, found.globals, infos)
        names = {str(g.name_hint): self.mirror.global_var(g) for g in found.globals}
        yield from _Reader(found, name, names).lines(_kept(text))

    def _text(
        self, gv: Any, function: Any, notes: dict[Any, str], others: Iterable[Any], infos: Any
    ) -> str:
        """The text of one function, printed in a module with the names of its callees and the
        devices that it uses."""
        tvm = self.mirror.tvm
        stubs = {other: tvm.relax.ExternFunc("f") for other in others}
        alone = tvm.IRModule({**stubs, gv: function}, None, infos)
        text = alone.script(show_meta=False, obj_to_annotate=notes)
        lines = text.split("\n")
        start = next(n for n, line in enumerate(lines) if line.startswith(_BLOCK))
        return _block(lines, start)


def _block(lines: Sequence[str], start: int) -> str:
    """The lines of a function that begins at a line, up to the next line of the class or the
    end."""
    found = [lines[start]]
    for n, line in enumerate(lines[start + 1 :]):
        if line.strip() and not line.startswith("     ") and n > 0:
            break
        found.append(line)
    return "\n".join(found)


def _kept(text: str) -> Iterator[str]:
    """The lines without imports, empty lines and notes on what is omitted."""
    for line in text.split("\n"):
        shown = line.strip()
        if shown and not shown.startswith(("# from tvm", "# Metadata omitted")):
            yield line


class _Reader:
    """Maps the lines of a function to nodes, and the names in these lines to their nodes."""

    def __init__(self, found: Mirrored, name: str, names: Mapping[str, Expr]):
        self.nodes = [node for _, node in found.bindings]
        self.whole = found.function
        self.functions = iter([found.function, *found.inner])
        self.function = name
        self.names: dict[str, Expr] = dict(names)

    def lines(self, texts: Iterator[str]) -> Iterator[Line]:
        waiting: Expr | None = None  # the node of the line after a number on a separate line
        for text in texts:
            number = _NUMBER.search(text)
            node = waiting
            waiting = None
            if number is not None:
                node = self.nodes[int(number[1])]
                if not text[: number.start()].strip():
                    waiting = node
                    continue
                text = text[: number.start()]
            yield self.line(text, node)

    def line(self, text: str, node: Expr | None) -> Line:
        if _DEF.match(text):
            return self.head(text)
        defined = _DEFINES.match(text)
        value = text[defined.end() :] if defined else text
        refs = {n: self.names[n] for n in _NAMES.findall(value) if n in self.names}
        name = defined[1] if defined else None
        if node is None and len(refs) == 1:
            (node,) = refs.values()  # an alias, or the result
        if name is not None and node is not None:
            self.names[name] = node
        return Line(text, node, self.function, refs, name if node is not None else None)

    def head(self, text: str) -> Line:
        """The line that begins a function."""
        function: Function = next(self.functions)
        names = list(_parameters(text))
        refs: dict[str, Expr] = dict(zip(names, function.params, strict=False))
        self.names |= refs
        begun = _DEF.match(text)
        assert begun is not None
        if function is not self.whole:
            self.names[begun[1]] = function
        inner = begun[1] if function is not self.whole else None
        return Line(text, function, self.function, refs, inner)


def _parameters(text: str) -> Iterator[str]:
    """The names of the parameters in the first line of a function."""
    depth, at = 0, 0
    for n, character in enumerate(text):
        if character in _OPENS:
            depth += 1
            at = n + 1 if depth == 1 else at
        elif character in _CLOSES:
            depth -= 1
            if depth == 0:
                break
        elif character == "," and depth == 1:
            at = n + 1
        elif character == ":" and depth == 1:
            yield text[at:n].strip()
