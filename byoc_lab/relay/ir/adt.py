"""Algebraic data types: their definitions, their constructors, and `match` with its patterns.

`Match.parts` are the matched value and then, clause by clause, the variables that the pattern binds
and the result, so that walks, rewrites and analyses treat it like any other node.

Source: the node kinds and fields of TVM 0.16 (`tvm.relay.adt`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from byoc_lab.errors import ArgumentError, DuplicateNameError, WellFormedError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.dataflow import Var
from byoc_lab.relay.ir.node import Expr, TupleWrapper, describe
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import MAX_DEPTH, GlobalTypeVar, Type, TypeVar

_set = object.__setattr__


class Constructor(Expr):
    """A constructor of a data type: called with values of types `inputs`, it returns a value of
    type `belong_to`. Each constructor is one object; its type comes from the definition."""

    __slots__ = ("belong_to", "inputs", "name_hint", "tag")
    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int  # unique within a module; -1 until a TypeData contains the constructor

    def __init__(self, name_hint: str, inputs: Sequence[Type], belong_to: GlobalTypeVar):
        super().__init__()
        _set(self, "name_hint", str(name_hint))
        _set(self, "inputs", tuple(inputs))
        _set(self, "belong_to", belong_to)
        _set(self, "tag", -1)

    @property
    def identity(self) -> tuple[str, str]:
        """Data type and name, which identify the constructor independently of the object."""
        return (self.belong_to.name_hint, self.name_hint)


def first_tag(type_name: str) -> int:
    """The tag of a data type's first constructor: an int32 whose top byte is the low byte of a hash
    of the type's name, and whose other bytes number the constructors.

    Source: `IRModuleNode::RegisterConstructors` of TVM 0.16; the hash is C++'s `std::hash` of
    libstdc++ on 64 bits (MurmurHash64A), so that the numbers are those of TVM on Linux.
    """
    text, mask, multiplier = type_name.encode(), 2**64 - 1, 0xC6A4A7935BD1E995
    value = 0xC70F6907 ^ (len(text) * multiplier & mask)
    for start in range(0, len(text), 8):
        word = int.from_bytes(text[start : start + 8], "little")
        if start + 8 <= len(text):  # the remaining bytes are mixed in unchanged
            word = word * multiplier & mask
            word = (word ^ word >> 47) * multiplier & mask
        value = (value ^ word) * multiplier & mask
    value = (value ^ value >> 47) * multiplier & mask
    top = (value ^ value >> 47) & 0xFF
    return (top - 256 if top > 127 else top) << 24


class TypeData(Type):
    """The definition `type header[type_vars] { constructors }`; `extern`: without constructors."""

    __slots__ = ("constructors", "extern", "header", "type_vars")
    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    extern: bool

    def __init__(
        self,
        header: GlobalTypeVar,
        type_vars: Sequence[TypeVar],
        constructors: Sequence[Constructor],
        extern: bool = False,
    ):
        names = Counter(c.name_hint for c in constructors)
        for c in constructors:
            if names[c.name_hint] > 1:
                raise DuplicateNameError(
                    f"type {header} has two constructors {c.name_hint}; rename one of them"
                )
            if c.belong_to != header:
                raise WellFormedError(
                    f"constructor {c.name_hint} of type {header} declares the type {c.belong_to}"
                )
        _set(self, "header", header)
        _set(self, "type_vars", tuple(type_vars or ()))
        _set(self, "constructors", tuple(constructors))
        _set(self, "extern", extern)
        self._seal(id(self))
        for index, c in enumerate(self.constructors):
            _set(c, "tag", first_tag(header.name_hint) + index)

    @printable
    def __str__(self) -> str:
        return "\n".join((self.head, *(f"  {line}" for line in self.lines()), "}"))

    @property
    def head(self) -> str:
        """The first line of the definition as text."""
        variables = ", ".join(map(str, self.type_vars))
        return f"type {self.header}{f'[{variables}]' if variables else ''} {{"

    def lines(self, type_text: Callable[[Type], str] = str) -> list[str]:
        """The lines between the braces; a single empty line when no constructor exists.

        type_text: the text of a type.
        """
        shown = []
        for c in self.constructors:
            inputs = ", ".join(map(type_text, c.inputs))
            shown.append(f"{c.name_hint}({inputs})," if inputs else f"{c.name_hint},")
        return shown or [""]


class Pattern:
    """Base of the patterns of `match`. `vars` are the variables it binds, left to right."""

    __slots__ = ("_depth", "patterns", "span", "vars")
    patterns: tuple[Pattern, ...]
    vars: tuple[Var, ...]
    span: Span | None
    _depth: int

    def _set_fields(
        self, patterns: Iterable[Pattern], span: Span | None, own: tuple[Var, ...] = ()
    ):
        patterns = tuple(patterns)
        for p in patterns:
            if not isinstance(p, Pattern):
                raise ArgumentError(f"the parts of a pattern must be patterns, found {p!r}")
        depth = 1 + max((p._depth for p in patterns), default=0)
        if depth > MAX_DEPTH:  # patterns are compared and printed recursively
            raise WellFormedError(f"a pattern may nest {MAX_DEPTH} deep, found a deeper one")
        _set(self, "patterns", patterns)
        _set(self, "vars", (*own, *(v for p in patterns for v in p.vars)))
        _set(self, "span", span)
        _set(self, "_depth", depth)

    def shape(self) -> Any:
        """The structure without names: patterns of equal shape match the same values."""
        return (type(self).__name__, *(p.shape() for p in self.patterns))

    def with_vars(self, new: Mapping[Var, Var]) -> Pattern:
        """This pattern with variables replaced; the pattern itself when none of them changes."""
        if all(new[v] is v for v in self.vars):
            return self
        return self._with([p.with_vars(new) for p in self.patterns], new)

    def _with(self, patterns: Sequence[Pattern], new: Mapping[Var, Var]) -> Pattern:
        return self

    @printable
    def __str__(self) -> str:
        return pattern_text(self, lambda v: f"%{v.name_hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")


class PatternWildcard(Pattern):
    """`_`: matches anything."""

    __slots__ = ()

    def __init__(self, span: Span | None = None):
        self._set_fields((), span)


class PatternVar(Pattern):
    """`%x`: matches anything and binds it."""

    __slots__ = ("var",)
    var: Var

    def __init__(self, var: Var, span: Span | None = None):
        if not isinstance(var, Var):
            raise ArgumentError(f"a pattern variable must be a Var, found {var!r}")
        _set(self, "var", var)
        self._set_fields((), span, (var,))

    def _with(self, patterns: Sequence[Pattern], new: Mapping[Var, Var]) -> Pattern:
        return PatternVar(new[self.var], self.span)


class PatternConstructor(Pattern):
    """`Cons(patterns...)`: matches a value of that constructor whose arguments match."""

    __slots__ = ("constructor",)
    constructor: Constructor

    def __init__(
        self,
        constructor: Constructor,
        patterns: Sequence[Pattern] | None = None,
        span: Span | None = None,
    ):
        if not isinstance(constructor, Constructor):
            raise ArgumentError(f"a pattern needs a constructor, found {constructor!r}")
        _set(self, "constructor", constructor)
        self._set_fields(patterns or (), span)

    def shape(self) -> Any:
        return (self.constructor.identity, *(p.shape() for p in self.patterns))

    def _with(self, patterns: Sequence[Pattern], new: Mapping[Var, Var]) -> Pattern:
        return PatternConstructor(self.constructor, patterns, self.span)


class PatternTuple(Pattern):
    """`(patterns...)`: matches a tuple of matching fields."""

    __slots__ = ()

    def __init__(self, patterns: Sequence[Pattern] | None = None, span: Span | None = None):
        self._set_fields(patterns or (), span)

    def _with(self, patterns: Sequence[Pattern], new: Mapping[Var, Var]) -> Pattern:
        return PatternTuple(patterns, self.span)


def pattern_text(pattern: Pattern, name: Any) -> str:
    """A pattern as text; `name` gives the text of a variable."""
    if isinstance(pattern, PatternVar):
        return name(pattern.var)
    if isinstance(pattern, PatternWildcard):
        return "_"
    inner = ", ".join([pattern_text(p, name) for p in pattern.patterns])
    if isinstance(pattern, PatternConstructor):
        return pattern.constructor.name_hint + (f"({inner})" if pattern.patterns else "")
    return f"({inner})"


class Clause:
    """`lhs => rhs`: the result of a match whose value matches the pattern `lhs`."""

    __slots__ = ("lhs", "rhs", "span")
    lhs: Pattern
    rhs: Expr
    span: Span | None

    def __init__(self, lhs: Pattern, rhs: Expr, span: Span | None = None):
        rhs = rhs.tuple_value if isinstance(rhs, TupleWrapper) else rhs
        if not isinstance(lhs, Pattern) or not isinstance(rhs, Expr):
            raise ArgumentError(
                f"a clause must have a pattern and an expression, found {lhs!r} => {rhs!r}"
            )
        _set(self, "lhs", lhs)
        _set(self, "rhs", rhs)
        _set(self, "span", span)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Clause is immutable: cannot set {name!r}")

    def __repr__(self) -> str:
        return f"<Clause {self.lhs} => {describe(self.rhs)}>"


class Match(Expr):
    """`match (data) { clauses }`: evaluates to the result of the first clause whose pattern
    matches.

    complete: whether the clauses must cover every value, which type inference checks. `match?` may
    leave cases out.
    """

    __slots__ = ("clauses", "complete", "data")
    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool

    def __init__(
        self, data: Expr, clauses: Sequence[Clause], complete: bool = True, span: Span | None = None
    ):
        super().__init__(span)
        data = data.tuple_value if isinstance(data, TupleWrapper) else data
        if not isinstance(data, Expr):
            raise ArgumentError(f"the matched value must be an expression, found {data!r}")
        for c in clauses:
            if not isinstance(c, Clause):
                raise ArgumentError(f"the clauses of a match must be Clause objects, found {c!r}")
        _set(self, "data", data)
        _set(self, "clauses", tuple(clauses))
        _set(self, "complete", bool(complete))

    def parts(self) -> tuple[Expr, ...]:
        below: list[Expr] = [self.data]
        for c in self.clauses:
            below += (*c.lhs.vars, c.rhs)
        return tuple(below)

    def with_parts(self, parts: Sequence[Expr]) -> Match:
        data, *rest = parts
        left: Any = iter(rest)
        clauses = []
        for c in self.clauses:
            renamed = {v: next(left) for v in c.lhs.vars}
            clauses.append(Clause(c.lhs.with_vars(renamed), next(left), c.span))
        return Match(data, clauses, self.complete, self.span)

    def part_names(self) -> tuple[str, ...]:
        """For each of `parts`, its path: `.clauses[1].rhs`."""
        names = [".data"]
        for n, c in enumerate(self.clauses):
            names += [f".clauses[{n}].lhs.vars[{k}]" for k in range(len(c.lhs.vars))]
            names.append(f".clauses[{n}].rhs")
        return tuple(names)

    def binds(self) -> tuple[Var, ...]:
        return tuple(v for c in self.clauses for v in c.lhs.vars)
