"""Printing of expressions: the lines, their order and their numbers.

A node that is more than a name gets a separate line `%N = ...;`. Its text is created when a
post-order walk reaches it; in style 0.0.5, its number and its line are created when its first user
is written. Nested scopes are rules (`recursion.py`), so their depth is not limited by a stack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from byoc_lab.relay.ir.adt import Constructor, Match, pattern_text
from byoc_lab.relay.ir.dims import Symbolic, symbol
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import RecursiveRule, run
from byoc_lab.relay.ir.types import IncompleteType, Type, with_dims
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.text import printer_exact
from byoc_lab.relay.text.dim_expressions import type_key
from byoc_lab.relay.text.printer_lines import Indented, Line, Style
from byoc_lab.relay.text.printer_values import Names, ValuePrinter, quoted, with_letter

Block = list[Any]  # elements: Line and Indented
Refs = dict[str, Expr]
# The maximum depth of `let %a = let %b = let %c = ...` on one line; deeper lets are put into
# parentheses, so that the size of the text stays linear.
_MAX_LET_DEPTH = 20
MARKS = "\x02", "\x03"
"""Characters around type comments, if a printer uses them as `marks`; in strings they are
escaped."""
_UNMARKED = str.maketrans(dict.fromkeys(MARKS, "\ufffd"))
_REFERENCES = {RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write"}


class NodePrinter(ValuePrinter):
    """Prints the functions of a module one after the other; numbers and names continue."""

    def __init__(
        self,
        style: Style,
        show_meta_data: bool,
        annotate: Callable[[Expr], str] | None,
        show_types: bool,
        show_span: bool,
        exact: bool,
        for_tvm: bool = False,
    ):
        super().__init__(style, show_meta_data, exact, for_tvm)
        self.annotate = annotate
        self.show_types = show_types
        self.show_span = show_span
        self.marks = "", ""  # characters around type comments
        self.names = Names()
        self.global_names: dict[str, str] = {}  # the names of globals used in the text
        self.taken_globals: set[str] = set()
        self.next_number = 0
        self.type_texts: dict[Type, str] = {}
        self.lengths: dict[Symbolic, Symbolic] = {}
        self.start(None)

    def start(self, root: Expr | None) -> None:
        """Forget the nodes of the last function, because a text in which one function uses the
        numbers of another function cannot be parsed."""
        self.uses = Counter(p for n in post_order(root) for p in n.parts()) if root else Counter()
        self.short: dict[Expr, str] = {}  # the short text of a node
        self.made: dict[Expr, Block] = {}  # the text of nodes without a line so far
        self.undeclared: set[Var] = set()
        self.home: dict[Expr, Expr | None] = {}  # the node in whose scope a line is
        self.scopes: list[Expr | None] = [None]  # nodes whose scopes are being written
        self.open: set[Expr | None] = {None}  # the elements of `scopes`, for look-up
        self.let_depth = 0
        self.buffers: list[Block] = []  # lines of the scopes being written

    def global_function(self, name: str, func: Function) -> Block:
        self.start(func)
        return run(self.function(func, f"def {self.global_name(name)}"))

    def expression(self, expr: Expr) -> Block:
        self.start(expr)
        return run(self.scope(expr))

    # Comments ------------------------------------------------------------------------------------

    def note(self, node: Expr) -> str:
        """The comment after a node, with its type and span."""
        if self.annotate is not None:
            return self.annotate(node)
        parts = []
        if self.show_types and node.is_typed:
            parts.append(f"ty={self.type(node.checked_type)}")
        if self.show_span and node.span is not None:
            parts.append(f"span={node.span}")
        first, last = self.marks
        return f"{first} /* {' '.join(parts)} */{last}" if parts else ""

    def note_new(self, node: Expr) -> str:
        """The comment after a node of a kind for which old printers wrote no comment."""
        return self.note(node) if self.style.note_all else ""

    def annotated(self, node: Expr) -> str:
        """The comment from `annotate` for a node whose text has no type comment."""
        return self.note_new(node) if self.annotate else ""

    def type(self, ty: Type) -> str:
        if ty not in self.type_texts:
            self.type_texts[ty] = str(with_dims(ty, self.named_length))
        return self.type_texts[ty]

    def named_length(self, length: Symbolic) -> Symbolic:
        """A symbolic dimension as written in a type: a reference such as `meta[tir.Var][0]`."""
        if length not in self.lengths:
            self.lengths[length] = symbol(self.meta(type_key(length), length))
        return self.lengths[length]

    # References ----------------------------------------------------------------------------------

    def refer(self, node: Expr, refs: Refs) -> str:
        """The short text for a node that `visit` has processed; creates its line if it needs
        one."""
        if node in self.made:
            name = f"%{self.next_number}"
            self.next_number += 1
            block = self.made.pop(node)
            first, last = self.as_value(block)
            first.text, first.defines = f"{name} = {first.text}", name
            last.text += ";"
            self.buffers[-1].extend(block)
            self.short[node] = name
            self.home[node] = self.scopes[-1]
        elif node in self.undeclared:
            self.undeclared.discard(node)
            name, end = self.short[node], ";" * self.style.late_numbers
            text = f"free_var {name}{self.annotation(node, inferred=False)}{end}"
            self.buffers[-1].append(Line(text, node, None, {}, name))
            self.home[node] = self.scopes[-1]
        elif node in self.home:
            self.place_definition(node)
        text = self.short[node]
        if isinstance(node, (Var, GlobalVar)) or text[:1] == "%":
            refs[text.partition(" ")[0]] = node
        return text + self.annotated(node) * isinstance(node, (Op, GlobalVar))

    def place_definition(self, node: Expr) -> None:
        """Ensure that the line of `node` is above the line being written.

        It may belong to a scope whose text is not placed yet: a closure called with a value that
        the closure also uses. In that case TVM 0.16 prints the use above the definition, which is
        invalid.
        """
        home = self.home[node]
        while home not in self.open and home not in self.made:
            home = self.home.get(home) if home is not None else None
        self.home[node] = home
        if home is not None and home in self.made:
            self.refer(home, {})

    def bind(self, var: Var, inferred: bool = True) -> str:
        """The text of a variable at its binding: name, type (possibly `inferred`), comment."""
        if var in self.short and var not in self.undeclared:
            return f"{self.short[var]}-malformed-ir{self.note_new(var)}"
        self.undeclared.discard(var)
        self.short[var] = self.names.fresh(self.readable(var.name_hint))
        return self.short[var] + self.annotation(var, inferred)

    def annotation(self, var: Any, inferred: bool) -> str:
        """The text after a variable at its binding: its real name if that differs, type,
        comment."""
        stated = self.is_stated(var.type_annotation, inferred)
        real = self.real_name(self.readable(var.name_hint), var.name_hint)
        ty = f": {self.type(var.type_annotation)}" if stated else ""
        device = f" {{virtual_device={self.value(var.device)}}}" if var.device else ""
        return real + device + ty + self.note_new(var)

    def is_stated(self, ty: Type | None, inferred: bool) -> bool:
        """Whether an annotation is written. An annotation that TVM cannot parse is omitted and left
        to inference."""
        if ty is None or isinstance(ty, IncompleteType):
            return False
        return not (self.exact and inferred) or printer_exact.has_readable_type(ty)

    # Names ---------------------------------------------------------------------------------------

    def readable(self, hint: str) -> str:
        return printer_exact.name(with_letter(hint)) if self.exact else hint.translate(_UNMARKED)

    def real_name(self, shown: str, hint: str) -> str:
        """A comment for `parse` with the real name, if TVM cannot parse that name."""
        differs = self.exact and hint and shown != hint
        return f" /* name={quoted(hint).replace('*', chr(92) + 'x2A')} */" if differs else ""

    def name_globals(self, mod: IRModule) -> None:
        """Assign the names of the module's globals, before names of other globals that may be
        similar."""
        for gv in mod:
            if self.readable_global(gv.name_hint) == gv.name_hint:
                self.global_name(gv.name_hint)

    def readable_global(self, hint: str) -> str:
        return printer_exact.name(hint) if self.exact else hint.translate(_UNMARKED)

    def global_name(self, hint: str) -> str:
        """The text `@f` of a global, for calls and the definition."""
        if hint not in self.global_names:
            shown = base = self.readable_global(hint)
            count = 0
            while shown in self.taken_globals:
                count += 1
                shown = f"{base}_{count}"
            self.taken_globals.add(shown)
            self.global_names[hint] = f"@{shown}{self.real_name(shown, hint)}"
        return self.global_names[hint]

    # The walk ------------------------------------------------------------------------------------

    def visit(self, root: Expr) -> RecursiveRule:
        """Create the text of every node of the dataflow that ends in `root`."""
        late = self.style.late_numbers
        # None marks that the parts of the node below it on the stack are done.
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if node is None:
                node = stack.pop()
                self.made[node] = self.dataflow(node)
            elif node in self.short or node in self.made:
                continue
            elif isinstance(node, (Call, Tuple, TupleGetItem)):
                parts = node.parts()
                if isinstance(node, Call) and not late:
                    parts = (*node.args, node.op)
                stack += (node, None)
                stack += [p for p in reversed(parts) if p not in self.short]
                continue
            elif not self.name(node):
                self.home[node] = self.scopes[-1]
                self.scopes.append(node)
                self.open.add(node)
                self.made[node] = yield self.nested(node)
                self.open.remove(self.scopes.pop())
            if not late and node is not root:
                self.refer(node, {})

    def name(self, node: Expr) -> bool:
        """Store the text of a node if it never gets a line; returns whether that is so."""
        if isinstance(node, Var):
            self.short[node] = self.names.fresh(self.readable(node.name_hint))
            self.undeclared.add(node)
        elif isinstance(node, GlobalVar):
            self.short[node] = self.global_name(node.name_hint)
        elif isinstance(node, Op):
            self.short[node] = node.name
        elif isinstance(node, Constructor):
            self.short[node] = node.name_hint
        elif isinstance(node, Constant):
            text, is_meta = self.constant(node)
            self.short[node] = text + self.note(node) * (1 + (is_meta and self.style.doubled))
        else:
            return False
        return True

    def dataflow(self, node: Expr) -> Block:
        refs: Refs = {}
        if isinstance(node, Call) and isinstance(node.op, Constructor) and not node.op.inputs:
            text = f"{self.refer(node.op, refs)}{self.note(node)}"
        elif isinstance(node, Call):
            given = [self.refer(a, refs) for a in node.args] + self.call_attributes(node)
            text = f"{self.refer(node.op, refs)}({', '.join(given)}){self.note(node)}"
        elif isinstance(node, Tuple):
            fields = [self.refer(f, refs) for f in node.fields]
            comma = "," * (len(fields) == 1)
            text = f"({', '.join(fields)}{comma}){self.note_new(node)}"
        else:
            assert isinstance(node, TupleGetItem)
            text = f"{self.refer(node.tuple_value, refs)}.{node.index}{self.note_new(node)}"
        return [Line(text, node, None, refs)]

    # Scopes --------------------------------------------------------------------------------------

    def nested(self, node: Expr) -> RecursiveRule:
        """The text of a node with nested scopes, or of a node whose parts are not written yet."""
        if isinstance(node, Function):
            block = yield self.function(node, "fn ")
            block[-1].text += self.note_new(node)
            return block
        if isinstance(node, If):
            refs: Refs = {}
            yield self.visit(node.cond)
            head = Line(f"if ({self.refer(node.cond, refs)}) {{", node, None, refs)
            then = yield self.scope(node.true_branch)
            otherwise = yield self.scope(node.false_branch)
            end = Line("}" + self.annotated(node))
            return [head, Indented(then), Line("} else {"), Indented(otherwise), end]
        if isinstance(node, Match):
            return (yield self.match(node))
        if isinstance(node, Let):
            bound = yield self.let(node)
            rest = yield self.scope(node.body)
            return [Line("(", node), Indented([*bound, *rest]), Line(")" + self.annotated(node))]
        word, refs, given = _REFERENCES[type(node)], {}, []
        for part in node.parts():
            yield self.visit(part)
            given.append(self.refer(part, refs))
        return [Line(f"{word}({', '.join(given)}){self.annotated(node)}", node, None, refs)]

    def function(self, func: Function, prefix: str) -> RecursiveRule:
        generic = f"[{', '.join(map(str, func.type_params))}]" if func.type_params else ""
        params = [self.bind(p, inferred=False) for p in func.params] + self.pairs(func.attrs)
        if func.device:
            params.append(f"virtual_device={self.value(func.device)}")
        result: Any = func.ret_type
        arrow = f" -> {self.type(result)}" if self.is_stated(result, inferred=True) else ""
        head = Line(f"{prefix}{generic}({', '.join(params)}){arrow} {{", func)
        body = yield self.scope(func.body)
        return [head, Indented(body), Line("}")]

    def match(self, node: Match) -> RecursiveRule:
        refs: Refs = {}
        yield self.visit(node.data)
        word = "match" if node.complete else "match?"
        block: Block = [Line(f"{word} ({self.refer(node.data, refs)}) {{", node, None, refs)]
        for clause in node.clauses:
            head = Line(f"{pattern_text(clause.lhs, self.bind)} => {{")
            value = yield self.scope(clause.rhs)
            block.append(Indented([head, Indented(value), Line("},")]))
        return [*block, Line("}" + self.annotated(node))]

    def let(self, node: Let) -> RecursiveRule:
        """`let %x = value;`; lines for the value's operands are put into the surrounding scope."""
        bound, value = self.bind(node.var), node.value
        # TVM's parser accepts `let %x = let %y = ...` only in parentheses.
        flat = not self.exact and self.let_depth < _MAX_LET_DEPTH
        if flat and isinstance(value, Let) and self.uses[value] <= 1:
            self.let_depth += 1
            block = [*(yield self.let(value)), *(yield self.scope(value.body))]
            block[-1].text += self.annotated(value)
            self.let_depth -= 1
        else:
            block = yield self.tail(value)
        first, last = self.as_value(block)
        first.text = f"let {bound} = {first.text}"
        first.defines = self.short[node.var]
        last.text += ";"
        return block

    def as_value(self, block: Block) -> tuple[Line, Line]:
        """The first and the last line of a bound value."""
        first, last = block[0], block[-1]
        if self.exact and isinstance(first.node, Match) and first is not last:
            # Otherwise TVM cannot parse it.
            first.text, last.text = f"({first.text}", f"{last.text})"
        return first, last

    def scope(self, tail: Expr) -> RecursiveRule:
        """The lines that compute `tail` and end with it."""
        lines: Block = []
        self.buffers.append(lines)
        first = tail
        while isinstance(tail, Let) and self.uses[tail] <= 1:
            lines.extend((yield self.let(tail)))
            tail = tail.body
        lines.extend((yield self.tail(tail)))
        if tail is not first:
            lines[-1].text += self.annotated(first)
        self.buffers.pop()
        return lines

    def tail(self, node: Expr) -> RecursiveRule:
        """The text of a node at the end of a scope; it needs no number if it is used only once."""
        yield self.visit(node)
        if node in self.made and self.uses[node] <= 1:
            return self.made.pop(node)
        refs: Refs = {}
        text = self.refer(node, refs)
        return [Line(text, node, None, refs)]
