"""Expressions: tokens to nodes.

Rules that contain expressions are generators (`recursion.py`), so nesting takes memory instead of
stack, and parsing takes linear time. The main rule is `binary`, which reads operands, calls and
operators in one loop.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.recursion import RecursiveRule
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.text.parser_leaves import LeafParser

OPERATORS = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}


class ExprParser(LeafParser):
    """Reads one program. `known` is a module whose functions and types the text may use."""

    # Blocks --------------------------------------------------------------------------------------

    def expr(self) -> RecursiveRule:
        """The rule for an expression that may begin with bindings."""
        token = self.tok
        starts = token in ("let", "{", "free_var") or (token[:1] == "%" and self.peek() == "=")
        return self.block() if starts else self.binary(True)

    def block(
        self, first: Expr | None = None, first_at: int = 0, is_value: bool = False
    ) -> RecursiveRule:
        """block := (let | %0 = value; | free_var | expr;)* expr

        The value of a binding may contain bindings, but a `;` ends it. first: the first expression,
        if it was already read; it begins at token `first_at`.
        """
        begin = self.i if first is None else first_at
        mark = len(self.hidden)
        lets: list[tuple[Var, Expr, int]] = []
        value = first
        while True:
            at, token = self.i, self.tok
            if value is not None:
                pass  # the caller has already read it
            elif token == "let":
                lets.append((yield self.let()))
                continue
            elif token[:1] == "%" and self.peek() == "=" and token[1:2].isdecimal():
                yield self.numbering()
                continue
            elif token == "free_var":
                self.free_variable()
                continue
            elif token[:1] == "%" and self.peek() == "=":
                self.fail(
                    f"only %0, %1, ... are assigned without 'let'; write 'let {token} = ...;'"
                )
            elif token == "{":
                self.i += 1
                value = yield self.expr()
                self.expect("}", "to close the block of line {}", at)
            else:
                value = yield self.binary(False)
            if is_value or not (self.take(";") or self.take(";;")):
                break
            lets.append((Var("", None, self.span(at)), value, at))
            value = None
        for var, bound, let_at in reversed(lets):
            value = Let(var, bound, value, self.span(let_at))
        self.leave(mark)
        self.mentioned(value, begin)
        return value

    def let(self) -> RecursiveRule:
        at = self.i
        self.i += 1
        name, var = self.binder("a let variable")
        self.expect("=", f"after %{name}")
        recursive = self.tok == "fn"
        if recursive:
            self.bind(name, var)
        value = yield self.bound_value()
        if not recursive:
            self.bind(name, var)
        self.end_of_value(f"%{name}")
        return var, value, at

    def numbering(self) -> RecursiveRule:
        at, token = self.i, self.tok
        self.i += 2
        value = yield self.bound_value()
        if token in self.numbered:
            first = next(i for i in count(self.begin) if self.texts[i : i + 2] == [token, "="])
            line = self.line_of(first)
            self.fail(f"{token} is defined twice in this function: first in line {line}", at)
        self.numbered[token] = value
        self.end_of_value(token)
        return None

    def bound_value(self) -> RecursiveRule:
        token = self.tok
        starts = token in ("let", "{") or (token[:1] == "%" and self.peek() == "=")
        return self.block(is_value=True) if starts else self.binary(False)

    def end_of_value(self, name: str) -> None:
        if not self.take(";"):
            self.unexpected(f"';' after the value of {name}", kind="token", token=";")

    def free_variable(self) -> None:
        at = self.i
        self.i += 1
        name, var = self.binder("a free variable")
        if name in self.free:
            self.fail(f"the free variable %{name} is declared twice", at)
        self.free[name] = var
        self.take(";")  # printers before 0.7 wrote no `;`

    # Operands, calls, operators ------------------------------------------------------------------

    def binary(self, may_continue: bool) -> RecursiveRule:
        """binary := operand (OP operand)*;  operand := atom ( '(' arguments ')' | '.' INT )*

        With `may_continue`, if a `;` follows, the expression is the first part of a block.
        """
        begin = self.i
        operands: list[tuple[Expr, int, int]] = []  # (operand, its first token, the token after it)
        operators: list[str] = []
        follows_mentions = self.places.follows_mentions
        while True:
            at, token = self.i, self.tok
            if token[:1] == "%":
                self.i += 1
                value = self.number_of(at) if token[1:2].isdecimal() else self.variable(at)
            else:
                rule = self.compound(at)
                value = self.leaf() if rule is None else (yield rule)
            if follows_mentions:
                self.mentioned(value, at)
            while True:
                token = self.tok
                if token == "(":
                    value = yield self.arguments(value, at)
                elif token[:1] == "." and len(token) > 1:
                    if len(token) > 10:
                        self.fail("a projection needs a small number")
                    self.i += 1
                    value = TupleGetItem(value, int(token[1:]), self.span(at))
                elif token == "^":  # 0.0.4
                    self.i += 1
                    value = RefRead(value, self.span(at))
                else:
                    break
            if operators:
                # Before an operator of lower precedence, the previous operands become a call.
                last = operators.pop()
                while operators and OPERATORS[last][0] <= OPERATORS[operators[-1]][0]:
                    self.infix(operands, operators.pop())
                operators.append(last)
            operands.append((value, at, self.i))
            if token not in OPERATORS:
                break
            operators.append(token)
            self.i += 1
        while operators:
            self.infix(operands, operators.pop())
        value = operands[0][0]
        self.mentioned(value, begin)
        if may_continue and token in (";", ";;"):
            value = yield self.block(value, begin)
        return value

    def compound(self, at: int) -> RecursiveRule | None:
        """The rule for an operand that contains expressions; None if the operand is a single
        token."""
        token = self.tok
        if token == "(":
            return self.parenthesised(at)
        if token == "fn":
            self.i += 1
            return self.function(at)
        if token == "if":
            return self.branch()
        if token == "match":
            return self.match()
        if token in ("ref", "ref_read", "ref_write") and self.peek() == "(":
            return self.reference()
        return None

    def parenthesised(self, at: int) -> RecursiveRule:
        """Read an expression in parentheses, a tuple, or the assignment `(%r := %v)` of 0.0.4."""
        self.i += 1
        fields, comma = [], False
        while not self.take(")"):
            fields.append((yield self.expr()))
            comma = self.take(",")
            if not comma and self.tok == ":=" and len(fields) == 1:
                return (yield self.assignment(fields[0], at))
            if not comma and self.tok != ")":
                what = f"',' or ')' to close the '(' of line {self.line_of(at)}"
                self.unexpected(what, kind="list", token=")")
        return fields[0] if len(fields) == 1 and not comma else Tuple(fields, self.span(at))

    def arguments(self, callee: Expr, at: int) -> RecursiveRule:
        """Read the arguments that follow; returns the call of `callee`, which begins at token
        `at`."""
        args, attrs = [], None
        self.i += 1
        while not self.take(")"):
            if self.at_attribute():
                attrs = self.call_attributes(callee, at)
                break
            if self.tok.startswith("meta[") and "Attrs]" in self.tok:
                attrs = self.meta_value()
            else:
                simple = self.simple_argument()
                if simple is None:
                    self.count_node()  # a waiting rule takes about as much memory as a node
                    simple = yield self.expr()
                args.append(simple)
            if not self.take(",") and self.tok != ")":
                self.unexpected("',' or ')' among the arguments", kind="list", token=")")
        return self.call(callee, args, attrs, at)

    def infix(self, operands: list[tuple[Expr, int, int]], operator: str) -> None:
        """Replace the last two operands by a call of the operator between them."""
        right, _, end = operands.pop()
        left, at, _ = operands.pop()
        self.count_node()
        op = self.operator(OPERATORS[operator][1], at)
        span = self.places.operation(left, right, at, end)
        operands.append((Call(op, (left, right), span=span), at, end))

    def simple_argument(self) -> Expr | None:
        """The next token as an argument if it is a plain name, as most are; else None."""
        token = self.tok
        if token[:1] != "%" or self.peek() not in (",", ")"):
            return None
        at = self.i
        self.i += 1
        named = self.number_of(at) if token[1:2].isdecimal() else self.variable(at)
        self.mentioned(named, at)
        return named

    def assignment(self, ref: Expr, at: int) -> RecursiveRule:
        self.expect(":=")
        written = yield self.expr()
        self.expect(")", "after the value written")
        return RefWrite(ref, written, self.span(at))

    def branch(self) -> RecursiveRule:
        """if := 'if' '(' expr ')' '{' expr '}' 'else' '{' expr '}'"""
        at = self.i
        self.i += 1
        opened = self.i
        self.expect("(", "before the condition")
        cond = yield self.expr()
        self.expect(")", "after the condition")
        self.mentioned(cond, opened)
        self.expect("{", "before the true branch")
        then = yield self.expr()
        self.expect("}", "to close the 'if' of line {}", at)
        self.expect("else", "(an 'if' always has both branches)")
        self.expect("{", "after 'else'")
        otherwise = yield self.expr()
        self.expect("}", "to close the 'else' of the 'if' of line {}", at)
        return If(cond, then, otherwise, self.span(at))

    def reference(self) -> RecursiveRule:
        at, kind = self.i, self.tok
        self.i += 2
        parts = [(yield self.expr())]
        if kind == "ref_write":
            self.expect(",", "and the value to write")
            parts.append((yield self.expr()))
        self.expect(")", f"after {kind}(...")
        node = {"ref": RefCreate, "ref_read": RefRead, "ref_write": RefWrite}[kind]
        return node(*parts, span=self.span(at))

    # Functions -----------------------------------------------------------------------------------

    def function(self, at: int) -> RecursiveRule:
        """fndef := ('[' T,* ']')? '(' (param | key=value),* ')' ('->' type)? '{' expr '}'"""
        outer_types, mark = self.type_vars, len(self.hidden)
        self.type_vars = dict(outer_types)
        type_params = self.type_params() if self.take("[") else []
        self.expect("(", "before the parameters")
        params: dict[str, Var] = {}
        places: dict[str, int] = {}
        attrs: dict[str, Any] = {}
        device = None
        while not self.take(")"):
            if self.at_attribute():
                attrs_at = self.i
                attrs, _ = self.attributes()
                device = self.device_among(attrs, attrs_at)
                break
            param_at = self.i
            name, var = self.binder("a parameter")
            if name in params:
                self.fail(
                    f"two parameters are named %{name}: the other is in line "
                    f"{self.line_of(places[name])}",
                    param_at,
                )
            params[name], places[name] = var, param_at
            if not self.take(",") and self.tok != ")":
                self.unexpected("',' or ')' among the parameters", kind="list", token=")")
        ret_type: Type | None = self.type() if self.take("->") else None
        for name, var in params.items():
            self.bind(name, var)
        opened = self.i
        self.expect("{", "before the body of a function")
        body = yield self.expr()
        self.expect("}", "to close the function body of line {}", opened)
        self.leave(mark)
        self.type_vars = outer_types
        made = DictAttrs(attrs)
        span = self.span(at)
        return Function(list(params.values()), body, ret_type, type_params, made, span, device)

    def end_of_program(self) -> None:
        """Raise ParseError unless the text ends here."""
        token = self.tok
        if not token:
            return None
        another = token in ("fn", "def") or token.startswith(("v0.", "#[version"))
        hint = "parse_programs reads a text of several programs" if another else ""
        self.unexpected("the end of the program", hint, kind="token", token="")
