"""`decode`: explains an error message of TVM or byoc_lab, and locates its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, overload

from byoc_lab.display import text_in_full
from byoc_lab.errors import ArgumentError, ByocLabError
from byoc_lab.lab.explaining.log_text import plain
from byoc_lab.lab.explaining.messages import ALL, Message
from byoc_lab.lab.explaining.messages.partitioning import EARLIEST
from byoc_lab.lab.explaining.messages.raised import own_errors, own_message, recognizable
from byoc_lab.lab.explaining.naming import NodeNames, named
from byoc_lab.lab.linting import Finding, lint
from byoc_lab.lab.linting.external import compilers_of, external_functions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.foreign import ForeignModule, adopted
from byoc_lab.relay.ir.module import IRModule

BEFORE, AFTER = 400, 200_000
"""Number of examined characters around a fixed part of a message."""
LONGEST = 160_000
"""Maximum length of a recognized message, from its fixed part on."""

SHOWN = 200
"""Maximum number of shown characters of a message."""
FURTHER = 2_000
"""Number of characters after a message in which closing brackets are searched."""
BRACKETS = {"(": ")", "[": "]", "{": "}"}
QUOTES = {'"': '"', "'": "'", "`": "`'"}
"""Closing quotes by opening quotes; the linker writes `name'."""

OWN_ERROR = re.compile(r"(?:\bbyoc_lab\.errors\.|(?<![\w.]))(\w+Error): ")
OF_REGIONS = ("BYL027", "BYL026", "BYL020", "BYL034", "BYL035")
"""Rules about the input of a back end, whose findings explain the errors of that back end."""


def _variables(text: str) -> str:
    """The names in TVM's list of variables."""
    names = re.findall(r"Var\((\w+)", text) or re.findall(r"%(\w+)", text)
    return ", ".join(f"%{name}" for name in names)


def _call(text: str) -> str:
    """A call without its type comment."""
    return re.sub(r"\s*/\*.*?\*/", "", text)


_SHOWN = {"variables": _variables, "node": _call}
"""Formatters of values that TVM writes in a special form."""


class _Values(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class Meaning:
    """One error message that was found in a text.

    name: the name of the message. text: the message as found at `start` in the text, without line
    prefixes and colours. cause, what_to_do: in words. era: the versions with this message. rules:
    codes of the lint rules that find the location. lesson: the case that shows the bug, "" for
    none. findings: the findings of these rules in the given module; node: the node of the error
    object. place: the edge in words, with the name of its call in the text of the module.
    """

    message: Message
    text: str
    start: int
    cause: str
    what_to_do: str
    findings: tuple[Finding, ...] = ()
    node: Expr | None = field(default=None, repr=False)
    place: str = ""

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def era(self) -> str:
        return self.message.era

    @property
    def rules(self) -> tuple[str, ...]:
        return self.message.rules

    @property
    def lesson(self) -> str:
        return self.message.lesson

    @property
    def certain(self) -> bool:
        """Whether the message itself states the cause, or a rule found it in the given module. The
        text calls any other cause likely."""
        return self.message.stated or bool(self.findings)

    @property
    def rule(self) -> str:
        """The rule that found the location in the module, else the rule that fits best; "" for
        none."""
        if self.findings:
            return self.findings[0].code
        return self.rules[0] if self.rules else ""

    @property
    def edge(self) -> tuple[Expr, int | None] | None:
        """The call at fault and the position of its argument (None: the call as a whole), in the
        given module; None if the location is not known."""
        for finding in self.findings:
            if finding.node is not None:
                return finding.node, finding.argument
        return (self.node, None) if self.node is not None else None

    @printable
    def __str__(self) -> str:
        said = self.text.strip()
        lines = [
            said if len(said) <= SHOWN else f"{said[:SHOWN]} ...",
            f"  said by  {self.era}",
            f"  {'cause ' if self.certain else 'likely'}   {self.cause}",
            f"  to do    {self.what_to_do}",
        ]
        if self.rule:
            lines.append(f"  rule     {self.rule}")
        if self.lesson:
            lines.append(f"  lesson   {self.lesson}")
        if self.place:
            lines.append(f"  edge     {self.place}")
        lines += [f"  found    {str(f).splitlines()[0]}" for f in self.findings[:3]]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The message as plain data, for JSON."""
        return {
            "name": self.name,
            "text": self.text.strip(),
            "start": self.start,
            "era": self.era,
            "cause": self.cause,
            "certain": self.certain,
            "what_to_do": self.what_to_do,
            "rule": self.rule,
            "rules": list(self.rules),
            "lesson": self.lesson,
            "edge": self.place or None,
            "findings": [str(f) for f in self.findings],
        }


class Decoded(Sequence[Meaning]):
    """The messages that were found in a text, in text order; false if none is known.

    `cause`, `what_to_do`, `rule`, `lesson` and `edge` belong to the first message.
    """

    def __init__(self, found: Sequence[Meaning], size: int, looked: bool):
        self._found = list(found)
        self._size = size
        self._looked = looked

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Meaning]:
        return iter(self._found)

    @overload
    def __getitem__(self, index: int) -> Meaning: ...
    @overload
    def __getitem__(self, index: slice) -> list[Meaning]: ...
    def __getitem__(self, index: int | slice) -> Meaning | list[Meaning]:
        return self._found[index]

    @property
    def known(self) -> bool:
        """Whether any message of the text is known."""
        return bool(self._found)

    @property
    def cause(self) -> str:
        return self._found[0].cause if self._found else ""

    @property
    def what_to_do(self) -> str:
        return self._found[0].what_to_do if self._found else ""

    @property
    def rule(self) -> str:
        return self._found[0].rule if self._found else ""

    @property
    def lesson(self) -> str:
        return self._found[0].lesson if self._found else ""

    @property
    def edge(self) -> tuple[Expr, int | None] | None:
        return self._found[0].edge if self._found else None

    @printable
    def __str__(self) -> str:
        if not self._found:
            return (
                f"no known message in this text of {self._size} characters: {len(ALL)} messages of "
                f"TVM 0.6 to 0.27, and all errors of byoc_lab, are known. "
                f"byoc_lab.lint(mod) looks at a module without a message"
            )
        lines = [str(m) for m in self._found]
        if self._looked and not any(m.findings for m in self._found):
            lines.append("lint finds nothing of this kind in the module that was given")
        return "\n\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The messages as plain data, for JSON."""
        return {"known": self.known, "messages": [m.as_dict() for m in self._found]}

    def __repr__(self) -> str:
        return f"<Decoded: {', '.join(m.name for m in self) or 'unknown'}>"

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def decode(text: str | BaseException, mod: IRModule | None = None) -> Decoded:
    """Explain the error messages in `text`, of TVM 0.6 to 0.27 and of byoc_lab.

    text: a message, a log of any length that contains it, or an exception. mod: the annotated input
    module of the pass; with it the result has the edge at fault, as found by `lint`.

    Raises ArgumentError for a `text` or `mod` of a wrong type.
    """
    node = getattr(text, "node", None)
    own = type(text) if isinstance(text, ByocLabError) else None
    if isinstance(text, BaseException):
        text = f"{type(text).__name__}: {text}"
    if not isinstance(text, str):
        raise ArgumentError(
            f"decode takes the text of an error or the exception, found {type(text).__name__}"
        )
    mod = adopted(mod)
    if mod is not None and not isinstance(mod, IRModule):
        raise ArgumentError(
            f"decode: mod must be the module that the pass got, found {type(mod).__name__}"
        )
    findings = _findings(mod) if mod is not None else []
    names = NodeNames(mod if mod is not None else IRModule())
    size, (text, given) = len(text), plain(text)
    matches = _matches(text, ALL) or _own_matches(text, own, findings)
    if mod is not None and any(message.era == EARLIEST for _, _, message, _ in matches):
        findings = list(lint(mod, [PartitionGraph(era="2020-01")]))
    found = [
        _meaning(
            message, text[start : _closed(text, start, end)], given(start), values, findings, node,
            names,
        )
        for start, end, message, values in matches
    ]  # fmt: skip
    return Decoded(found, size, mod is not None)


def _findings(mod: IRModule) -> list[Finding]:
    """The findings of all rules that can be run on a module alone: with each back end that it names
    and, if it is partitioned, as a module that only needs to be built."""
    found = list(lint(mod))
    if isinstance(mod, ForeignModule):  # these rules need neither a back end nor a pipeline
        return found
    if any(external_functions(mod)):
        found += lint(mod, pipeline=[])
    for compiler in compilers_of(mod):
        found += lint(mod, backend=compiler)
    return list({(f.code, f.message, f.node, f.argument): f for f in found}.values())


Match = tuple[int, int, Message, dict[str, str]]


def _matches(text: str, messages: Sequence[Message]) -> list[Match]:
    """The first occurrence of each message, in order; of overlapping messages, only the first."""
    found: list[Match] = []
    for message in messages:
        place = _first(message, text)
        if place is None:
            continue
        start, end, values = place
        if all(end <= s or e <= start for s, e, _, _ in found):
            found.append((start, end, message, values))
    return sorted(found, key=lambda f: f[0])


def _own_matches(
    text: str, own: type[ByocLabError] | None, findings: Sequence[Finding]
) -> list[Match]:
    """The errors of byoc_lab in a text without messages of `ALL`. They are recognized by their
    class, named in a traceback or given by `own`, or by the fixed parts of their messages."""
    known = own_errors()
    named = [own] if own else [known[n] for n in OWN_ERROR.findall(text) if n in known]
    by_class = [
        own_message(error, (error.__name__,), rf"\b{error.__name__}: (?P<said>[^\n]+)")
        for error in dict.fromkeys(named)
    ]
    found = _matches(text, by_class or recognizable())
    rules = tuple(code for code in OF_REGIONS if any(f.code == code for f in findings))
    return [(s, e, replace(message, rules=rules), values) for s, e, message, values in found]


def _first(message: Message, text: str) -> tuple[int, int, dict[str, str]] | None:
    """The first occurrence of a message: its start, end and named values; None if the text lacks
    it. Only the surroundings of its fixed parts are searched, so the time is linear in the text
    length."""
    for anchor in message.anchors:
        at = text.find(anchor)
        while at >= 0:
            begin = max(0, at - BEFORE)
            hit = message.expression.search(text[begin : at + AFTER])
            if hit:
                values = {k: v.strip() for k, v in hit.groupdict().items() if v and v.strip()}
                return begin + hit.start(), begin + hit.end(), values
            at = text.find(anchor, at + AFTER - LONGEST)
    return None


def _closed(text: str, start: int, end: int) -> int:
    """The end of a text part, extended to the brackets and quotes that it opens if they are closed
    on the same line; else `end`."""
    missing: list[str] = []
    limit = end + len(text[end : end + FURTHER].partition("\n")[0])
    for at in range(start, limit):
        if at >= end and not missing:
            return at
        mark = text[at]
        if missing and mark in missing[-1]:
            missing.pop()
        elif missing and missing[-1] in QUOTES.values():
            continue
        elif mark in QUOTES and (mark != "'" or not text[at - 1 : at].isalnum()):
            missing.append(QUOTES[mark])
        elif mark in BRACKETS:
            missing.append(BRACKETS[mark])
    return end if missing else limit


def _meaning(
    message: Message,
    text: str,
    start: int,
    values: dict[str, str],
    findings: Sequence[Finding],
    node: object,
    names: NodeNames,
) -> Meaning:
    for key, shown in _SHOWN.items():
        if key in values:  # ends a part of a sentence
            values[key] = f": {shown(values[key])}"
    filled = _Values(values)
    mine = [
        f
        for code in message.rules
        for f in findings
        if code in (f.code, *(each.code for each in f.consequences))
    ]
    found = Meaning(
        message,
        text,
        start,
        message.cause.format_map(filled).rstrip(" :"),
        message.todo.format_map(filled),
        tuple(mine),
        node if isinstance(node, Expr) else None,
    )
    return replace(found, place=_in_words(found.edge, names))


def _in_words(edge: tuple[Expr, int | None] | None, names: NodeNames) -> str:
    """A location in words, such as "argument 1 of add (%3) at net.relay:5"."""
    if edge is None:
        return ""
    node, argument = edge
    of = "" if argument is None else f"argument {argument} of "
    return f"{of}{named(node, names, None)}" + (f" at {node.span}" if node.span else "")
