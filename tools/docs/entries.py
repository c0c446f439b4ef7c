"""Reference entries: adds signature, parameters and errors below headings that are dotted names.

A page of docs/reference has a heading `## byoc_lab.trace` for each entry and an example below it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from byoc_lab.passes import Pass
from tools.docs.docstrings import parts
from tools.docs.error_classes import error_classes
from tools.docs.source import Sources

HEADING = re.compile(r"^## (byoc_lab(?:\.\w+)+)$", re.M)
WIDTH = 88
ERROR = re.compile(r"\b[A-Z]\w+Error\b")
CODE = re.compile(r"`([\w.]+)(?:\(\))?`")


def resolve(name: str) -> Any:
    """The object of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def names(text: str) -> list[str]:
    """The names of the entries on a page."""
    return HEADING.findall(text)


class Entries:
    """The entries of all reference pages; makes their text and the links between them."""

    def __init__(self, pages: Mapping[str, str], sources: Sources):
        """pages: text by file name."""
        self._sources = sources
        self._pages = pages
        self._anchors: dict[str, str] = {}  # {unambiguous name: page and anchor}
        ambiguous = set()
        for page, text in pages.items():
            for name in names(text):
                owned = [f"{name}.{m}" for m, _ in members(resolve(name))]
                for full in (name, *owned):
                    start = len(name.rpartition(".")[0]) + 1
                    for short in {full, full.removeprefix("byoc_lab."), full[start:]}:
                        ambiguous |= {short} & set(self._anchors)
                        self._anchors[short] = f"{page}#{full}"
        for short in ambiguous:
            del self._anchors[short]

    def expanded(self, page: str) -> str:
        """The text of a page, with its entries."""
        return HEADING.sub(lambda match: "\n\n".join(self._entry(match[1])), self._pages[page])

    def linked(self, text: str) -> str:
        """Text with links for names of entries in backticks."""

        def link(match: re.Match[str]) -> str:
            target = self._anchors.get(match[1])
            return f"[{match[0]}]({target})" if target else match[0]

        return CODE.sub(link, text)

    def _entry(self, name: str) -> Iterator[str]:
        obj = resolve(name)
        short = name.removeprefix("byoc_lab.")
        yield f"## {short} {{ #{name} }}"
        yield from self.body(obj, short)
        for member, value in members(obj) if inspect.isclass(obj) else ():
            owner = short.rpartition(".")[2]
            yield f"### {owner}.{member} {{ #{name}.{member} }}"
            yield from self.body(value, f"{owner}.{member}")

    def body(self, obj: Any, short: str) -> Iterator[str]:
        """The paragraphs below a heading: signature, description, parameters, errors, source."""
        shape = _Shape(obj)
        yield f"```python\n{shape.signature(short)}\n```"
        found = parts(inspect.getdoc(obj) or "", shape.names)
        yield from (self.linked(_escaped(paragraph)) for paragraph in found.description)
        told = found.parameters
        silent = [] if shape.is_data else [n for n in shape.given if not any(n in k for k in told)]
        if told or silent:
            yield "**Attributes**" if shape.is_data else "**Parameters**"
            rows = [*(((name,), "") for name in silent), *told.items()]
            yield "\n".join(self._parameter(shape, labels, text) for labels, text in rows)
        if shape.returns not in ("", "None"):
            yield f"**{'Type' if shape.is_property else 'Returns'}**: {self._type(shape.returns)}"
        for sentence in found.raises:
            yield f"**Raises**: {self._errors(_escaped(sentence.removeprefix('Raises ')))}"
        source = self._sources.link(shape.function)
        if source:
            yield f"Source: {source}"

    def _parameter(self, shape: _Shape, labels: tuple[str, ...], text: str) -> str:
        types = {shape.types.get(label, "") for label in labels} - {""}
        typed = f" ({self._type(types.pop())})" if len(types) == 1 else ""
        told = self.linked(_escaped(text)).replace("\n", "\n    ")
        return f"* {', '.join(f'`{n}`' for n in labels)}{typed}{': ' if told else ''}{told}"

    def _type(self, text: str) -> str:
        return " or ".join(self.linked(f"`{part}`") for part in text.split(" | "))

    def _errors(self, text: str) -> str:
        def link(match: re.Match[str]) -> str:
            known = match[0] in error_classes()
            return f"[`{match[0]}`](errors.md#{match[0]})" if known else f"`{match[0]}`"

        return ERROR.sub(link, text)


class _Shape:
    """The signature of a function, class or property."""

    def __init__(self, obj: Any):
        self.is_property = not callable(obj)
        self.function = getattr(obj, "fget", None) or getattr(obj, "func", None) or obj
        self.is_data = dataclasses.is_dataclass(obj) or self.is_property
        self._of_class = inspect.isclass(obj)

    @cached_property
    def _signature(self) -> inspect.Signature | None:
        if self._of_class and issubclass(self.function, Pass) and not _has_options(self.function):
            return inspect.Signature()
        try:
            return inspect.signature(self.function)
        except (TypeError, ValueError):
            return None

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of parameters and attributes, by name."""
        found = {n: v for c in getattr(self.function, "__mro__", ()) for n, v in _annotated(c)}
        given = self._signature.parameters.values() if self._signature else ()
        return found | {p.name: _name(p.annotation) for p in given}

    @property
    def given(self) -> list[str]:
        """The names of the parameters."""
        kept = self._signature.parameters if self._signature and not self._of_class else ()
        return [name for name in kept if name not in ("self", "cls")]

    @property
    def names(self) -> set[str]:
        """The names of parameters and attributes."""
        found = {n for n, _ in members(self.function)} if self._of_class else set()
        return found | set(self.types) - {"self"}

    @property
    def returns(self) -> str:
        """The type of the result."""
        if self._of_class or self._signature is None:
            return ""
        return _name(self._signature.return_annotation)

    def signature(self, name: str) -> str:
        """The signature; if it is long, with one line per parameter."""
        if self.is_property or self._signature is None:
            return f"{name}: {self.returns}".removesuffix(": ")
        given = list(self._signature.parameters.values())
        if given and given[0].name == "self":
            given = given[1:]
        returned = f" -> {self.returns}" if self.returns else ""
        whole = f"{name}{inspect.Signature(list(map(_plain, given)))}{returned}"
        if len(whole) <= WIDTH:
            return whole
        rows, keyword = [], False
        for parameter in given:
            if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
                rows, keyword = [*rows, "*"], True
            keyword = keyword or parameter.kind is parameter.VAR_POSITIONAL
            rows.append(str(_plain(parameter)))
        return f"{name}(\n" + "".join(f"    {row},\n" for row in rows) + f"){returned}"


def members(obj: Any) -> list[tuple[str, Any]]:
    """The public methods and properties of a class, in source order."""
    found: dict[str, Any] = {}
    for cls in reversed(getattr(obj, "__mro__", ())):
        if cls.__module__.startswith("byoc_lab."):
            for name, value in vars(cls).items():
                plain = getattr(value, "__func__", value)
                kind = callable(plain) or hasattr(plain, "fget") or hasattr(plain, "func")
                if not name.startswith("_") and kind and not inspect.isclass(plain):
                    found[name] = plain
    return list(found.items())


def _has_options(cls: type[Pass]) -> bool:
    """Whether a pass has an initializer; without one, Pass itself refuses options."""
    return cls.__init__ is not object.__init__


def _annotated(cls: type) -> list[tuple[str, str]]:
    return [(name, _name(value)) for name, value in inspect.get_annotations(cls).items()]


def _name(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


class _Text(str):
    """A text whose repr is the text itself: an annotation without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as written in the source: annotation without quotes, a function by its name."""
    kept = parameter.default
    if inspect.isfunction(kept):
        kept = _Text(kept.__name__)
    annotation = _Text(_name(parameter.annotation)) or parameter.empty
    return parameter.replace(annotation=annotation, default=kept)


def _escaped(text: str) -> str:
    """The prose of a docstring as Markdown: outside code, nothing is markup."""
    if text.startswith("    "):
        return text
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_\[|])", r"\\\1", p) for p in pieces)
