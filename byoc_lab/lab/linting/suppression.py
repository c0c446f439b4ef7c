"""Suppression of findings: by rule, by node, by line of the source text, and by comments in it.

%0 = nn.relu(%x);  // byoc-lab: ignore BYL001
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from byoc_lab.errors import ArgumentError, UnknownNameError
from byoc_lab.lab.linting.discovery import all_rules, rule_names
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.relay.ir.expr import Expr, Span
from byoc_lab.relay.ir.module import IRModule

_COMMENT = re.compile(r"(?://|/\*)\s*byoc-lab:\s*ignore\b([^*\n]*)")
_LINE = re.compile(r"(.+):(\d+)")

Ignored = str | Expr | Span


class Suppressions:
    """The findings that `lint` leaves out of its report.

    ignore: codes or names of rules, nodes, spans, and lines "file:line" of the source text.
    Comments in the source texts of the module count, too: `// byoc-lab: ignore BYL001, BYL002`, on
    the line of the node or on a separate line before it, suppresses the named rules; without names,
    it suppresses all rules.

    Raises ArgumentError and UnknownNameError.
    """

    def __init__(self, ignore: Iterable[Ignored], mod: IRModule):
        self.codes: set[str] = set()
        self.nodes: set[Expr] = set()
        self.lines: dict[tuple[str, int], set[str]] = {}
        for entry in [ignore] if isinstance(ignore, (str, Expr, Span)) else ignore:
            self._add(entry)
        self._read_comments(mod)

    def _add(self, entry: object) -> None:
        if isinstance(entry, Expr):
            self.nodes.add(entry)
        elif isinstance(entry, Span):
            self.lines[str(entry.source_name), entry.line] = {"*"}
        elif not isinstance(entry, str):
            raise ArgumentError(
                f"ignore must list codes or names of rules, nodes, spans or lines 'file:line', "
                f"found {type(entry).__name__} {entry!r:.80}"
            )
        elif entry in rule_names():
            self.codes.add(rule_names()[entry].code)
        elif found := _LINE.fullmatch(entry):
            self.lines[found[1], int(found[2])] = {"*"}
        else:
            known = ", ".join(f"{r.code} ({r.name})" for r in all_rules())
            raise UnknownNameError(
                f"ignore names {entry!r}, which is neither a rule nor a line 'file:line'; the "
                f"rules are {known}"
            )

    def _read_comments(self, mod: IRModule) -> None:
        for name, source in mod.source_map.source_map.items():
            if "byoc-lab:" not in source.text:
                continue
            for number, line in enumerate(source.text.split("\n"), 1):
                found = _COMMENT.search(line)
                if found is None:
                    continue
                alone = not line[: found.start()].strip()
                words = set(re.findall(r"[\w-]+", found[1]))
                codes = {rule_names()[w].code for w in words if w in rule_names()}
                key = str(name), number + alone
                self.lines.setdefault(key, set()).update(codes or {"*"})

    def __contains__(self, finding: Finding) -> bool:
        if finding.code in self.codes or finding.node in self.nodes:
            return True
        span = finding.span if self.lines else None
        if span is None:
            return False
        codes: Collection[str] = self.lines.get((str(span.source_name), span.line), ())
        return "*" in codes or finding.code in codes
