"""Algebraic data types in text: definitions, patterns, `match`.

    typedef     := 'extern'? 'type' T ('[' A,* ']')? ('{' constructor,* '}')?
    constructor := C ('(' type,* ')')?
    match       := 'match' '?'? binary '{' (pattern '=>' expr ','?)* '}'
    pattern     := '_' | %x (':' type)? | C ('(' pattern,* ')')? | '(' pattern,* ')'

A type may be used above its definition, a constructor only below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.relay.ir.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import RecursiveRule
from byoc_lab.relay.ir.types import DTYPE, GlobalTypeVar
from byoc_lab.relay.text.lexer import Tokens
from byoc_lab.relay.text.parser_cursor import MAX_NESTING, Places
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_names import NameParser
from byoc_lab.relay.text.parser_tokens import is_word, near

_TAKEN_WORDS = {"Tensor", "fn", "ref", "_", "def", "type", "extern"}


class DataTypeParser(NameParser):
    """Reads definitions and matches, with the types of the text and of `init_module`."""

    binary: Callable[[bool], RecursiveRule]  # rules of ExprParser
    expr: Callable[[], RecursiveRule]

    def __init__(
        self,
        tokens: Tokens,
        meta: MetaEntries,
        known: IRModule | None = None,
        places: type[Places] = Places,
    ):
        super().__init__(tokens, meta, places)
        self.constructors: dict[str, Constructor] = {}
        self.type_lines: dict[str, int] = {}
        for data in known.type_definitions.values() if known else ():
            self.type_names[data.header.name_hint] = data.header
            self.constructors.update((c.name_hint, c) for c in data.constructors)
        self.known_types = set(self.type_names)
        if "type" in self.texts:
            for i, token in enumerate(self.texts):
                if token == "type" and is_word(self.peek_at(i + 1)) and self.peek_at(i + 2) != "=":
                    name = self.peek_at(i + 1)
                    self.type_names.setdefault(name, GlobalTypeVar(name))

    def peek_at(self, i: int) -> str:
        return self.texts[i] if i < len(self.texts) else ""

    # Definitions ---------------------------------------------------------------------------------

    def type_definition(self) -> TypeData:
        """Read the type definition that begins at the next token."""
        at, extern = self.i, self.take("extern")
        self.expect("type", "after 'extern'")
        name = self.tok
        if not is_word(name) or name in _TAKEN_WORDS or DTYPE.fullmatch(name):
            self.unexpected("the name of a new type")
        if name in self.known_types:
            self.fail(f"type {name} is defined in init_module already")
        if name in self.type_lines:
            self.fail(f"type {name} is defined twice: first in line {self.type_lines[name]}")
        if name in self.constructors:
            self.fail(
                f"{name} is a constructor of type {self.constructors[name].belong_to} already"
            )
        self.type_lines[name] = self.line_of(at)
        self.i += 1
        header = self.type_names.setdefault(name, GlobalTypeVar(name))
        outer = self.type_vars
        self.type_vars = dict(outer)
        variables = self.type_params() if self.take("[") else []
        constructors: list[Constructor] = []
        if self.take("{"):
            constructors = self.sequence_of(
                lambda: self.constructor(header), "}", f"among the constructors of {name}"
            )
        self.type_vars = outer
        if extern and constructors:
            self.fail(f"type {name} is extern, so it cannot have constructors here", at)
        return TypeData(header, variables, constructors, extern)

    def constructor(self, header: GlobalTypeVar) -> Constructor:
        at, name = self.i, self.tok
        if not is_word(name) or name in _TAKEN_WORDS:
            self.unexpected(f"the name of a constructor of {header}")
        if name in self.constructors:
            other = self.constructors[name].belong_to
            message = f"{name} is a constructor of type {other} already"
            self.fail(message, at, kind="constructor defined", name=name)
        if name in self.type_names:
            self.fail(f"{name} is the name of a type; choose another name for the constructor", at)
        self.i += 1
        self.count_node()
        inputs = []
        if self.take("("):
            inputs = self.sequence_of(self.type, ")", f"among the types that {name} takes")
        made = self.constructors[name] = Constructor(name, inputs, header)
        return made

    def constructed(self, at: int) -> Expr:
        """Token `at` as an expression: a constructor, or a call of a constructor without
        arguments."""
        made = self.constructors[self.texts[at]]
        self.mentioned(made, at)
        bare = not made.inputs and self.tok != "("
        return Call(made, [], span=self.span(at)) if bare else made

    # Match ---------------------------------------------------------------------------------------

    def match(self) -> RecursiveRule:
        at = self.i
        self.i += 1
        complete = not self.take("?")
        data = yield self.binary(False)
        self.expect("{", "before the clauses of a match")
        clauses: list[Clause] = []
        while not self.take("}"):
            start, mark = self.i, len(self.hidden)
            pattern = self.pattern(set())
            self.expect("=>", "between the pattern of a clause and its value")
            value = yield self.expr()
            self.leave(mark)
            clauses.append(Clause(pattern, value, self.span(start)))
            self.take(",")
        return Match(data, clauses, complete, self.span(at))

    def pattern(self, bound: set[str], depth: int = 1) -> Pattern:
        """Read the pattern that begins at the next token; its variables are added to `bound`."""
        if depth > MAX_NESTING:
            self.fail(f"a pattern is nested deeper than {MAX_NESTING}")
        at, token = self.i, self.tok

        def below() -> Any:
            return self.pattern(bound, depth + 1)

        if self.take("_"):
            return PatternWildcard(self.span(at))
        if token[:1] == "%":
            name, var = self.binder("a pattern variable")
            if name in bound:
                self.fail(f"the pattern binds %{name} twice", at)
            bound.add(name)
            self.bind(name, var)
            return PatternVar(var, self.span(at))
        if self.take("("):
            return PatternTuple(self.sequence_of(below, ")", "in a pattern"), self.span(at))
        if token not in self.constructors:
            hint = near(token, self.constructors) if is_word(token) else ""
            what = "a pattern: _, %x, a constructor or a tuple"
            kind = "constructor" if is_word(token) else "token"
            self.unexpected(what, hint.removeprefix("; "), kind=kind, token="(", name=token)
        self.i += 1
        fields = self.sequence_of(below, ")", "in a pattern") if self.take("(") else []
        return PatternConstructor(self.constructors[token], fields, self.span(at))
