"""Names: variables and their scopes, numbers, operators."""

from __future__ import annotations

import re
from collections.abc import Callable

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Expr, Op, TupleGetItem, Var
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.text.lexer import Tokens
from byoc_lab.relay.text.parser_cursor import Cursor, Places
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_tokens import near

_MALFORMED = "-malformed-ir"
_INDEX = re.compile(r"\d{1,9}")


class NameParser(Cursor):
    """Resolves names: numbers (`%0`) in one global function, variables in a block."""

    device_of_variable: Callable[[], Attrs | None]  # a method of AttributeParser

    def __init__(self, tokens: Tokens, meta: MetaEntries, places: type[Places] = Places):
        super().__init__(tokens, meta, places)
        self.variables: dict[str, Var] = {}
        # Earlier variables of the same names, restored at the end of a block.
        self.hidden: list[tuple[str, Var | None]] = []
        self.free: dict[str, Var] = {}
        # Lengths of all names; only parts of a token with such a length can be names.
        self.lengths: set[int] = set()
        self.numbered: dict[str, Expr] = {}
        self.begin = 0  # the first token of the function that `numbered` belongs to

    def bind(self, name: str, var: Var) -> None:
        self.hidden.append((name, self.variables.get(name)))
        self.variables[name] = var

    def leave(self, mark: int) -> None:
        """Forget the variables bound since `len(self.hidden)` was `mark`."""
        while len(self.hidden) > mark:
            name, before = self.hidden.pop()
            if before is None:
                del self.variables[name]
            else:
                self.variables[name] = before

    def binder(self, what: str) -> tuple[str, Var]:
        """Read `%x: T`, a variable that the caller binds."""
        at, token = self.i, self.tok
        if token[:1] != "%" or token[1:2].isdecimal() or len(token) == 1:
            self.unexpected(f"the name of {what}, such as %x", kind="token", token="%x")
        self.i += 1
        device = self.device_of_variable() if self.tok == "{" else None
        ty = self.annotation() if self.take(":") else None
        name = token[1:].removesuffix(_MALFORMED)
        self.lengths.add(len(name))
        if token.endswith(_MALFORMED) and name in self.variables:
            return name, self.variables[name]  # bound twice, as the comment states
        self.count_node()
        real = self.real_name(at)
        span = self.places.declared(at, max(self.i, at + 1))
        return name, Var(name if real is None else real, ty, span, device=device)

    def annotation(self) -> Type | None:
        """Read a type annotation; a single `_` means no annotation."""
        return None if self.take("_") else self.type()

    def projected(self, name: str) -> str | None:
        """The longest declared variable that `name` is a projection of: `a` of `a.0.1`."""
        end = len(name)
        while (dot := name.rfind(".", 0, end)) >= 0 and _INDEX.fullmatch(name, dot + 1, end):
            if dot in self.lengths and (name[:dot] in self.variables or name[:dot] in self.free):
                return name[:dot]
            end = dot
        return None

    def variable(self, at: int) -> Expr:
        """The variable (or projection `%x.0`) that token `at` names."""
        name = self.texts[at][1:].removesuffix(_MALFORMED)
        found = self.variables.get(name) or self.free.get(name)
        if found is not None:
            return found
        head = self.projected(name)
        if head is not None:
            var = self.variables.get(head) or self.free[head]
            self.mentioned(var, at)
            result: Expr = var
            for index in name[len(head) + 1 :].split("."):
                result = TupleGetItem(result, int(index), self.span(at))
            return result
        if not name:
            self.fail("'%' must be followed by a name or a number", at)
        known = [*self.free, *self.variables][-500:]  # searching similar names is expensive
        listed = f"; declared are %{', %'.join(known[-5:])}" if known else ""
        self.fail(
            f"the variable %{name} is not declared here{near(name, known) or listed}",
            at,
            kind="variable",
        )

    def number_of(self, at: int) -> Expr:
        """The expression that `%0` at token `at` refers to."""
        token = self.texts[at]
        if token not in self.numbered:
            self.fail(f"{token} is not defined; define it above this line, in this function", at)
        return self.numbered[token]

    def operator(self, name: str, at: int) -> Op:
        if len(name) > 200:
            self.fail(f"no operator has a name of {len(name)} letters", at)
        try:
            return Op.get(name)
        except UnknownNameError as error:
            self.fail(f"{error.args[0]}{_about_operator(name)}", at, kind="operator", name=name)


def _about_operator(name: str) -> str:
    if name.endswith("Node") and name[:1].isupper():
        return "; this is a dump of C++ objects, print the expression with astext() instead"
    if name == "default":
        return '; a compiler is named by an attribute, compiler="default"'
    return ""
