"""Translates Relay patterns to patterns of `tvm.relax.dpl` that match the same networks in Relax. A
translated pattern finds candidates.

`checks.RelayCheck` decides: it imports the matched part into Relay, then matches the Relay pattern
itself and runs the entry's check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from inspect import signature
from operator import or_
from typing import Any

from byoc_lab.errors import PatternTranslationError
from byoc_lab.relax.patterns.checks import RelayCheck
from byoc_lab.relay.ir.attrs import dtype
from byoc_lab.relay.ir.expr import Constant, Op
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.registry import RELAX_NAMES
from byoc_lab.relay.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from byoc_lab.relay.patterns.below import post_order_patterns, root_operators
from byoc_lab.run.tvm_runtime import import_tvm

EXCHANGE = {"axes": [0, 2, 1]}
"""The attributes of a permute_dims that transposes each matrix of a stack."""


def relax_name(operator: str) -> str | None:
    """The name, without "relax.", of the Relax operator for a Relay operator; None if there is
    none."""
    return next(iter(Op.get(operator).definition.from_relax), None)


def _instead(operator: str) -> tuple[str, ...]:
    """The operators that replace, in Relax, an operator that Relax does not have. For a pattern
    with both as alternatives, Relax uses the replacement."""
    return tuple(Op.get(operator).definition.in_relax)


@dataclass(frozen=True)
class _Operators:
    """The translation of a callee pattern: names of Relay operators."""

    names: tuple[str, ...]


def relax_pattern(pattern: DFPattern, entry: str) -> Any:
    """A Relay pattern as one of `tvm.relax.dpl`. entry: the name of the table's entry.

    A pattern object that occurs twice is also one object in the translation: both occurrences must
    match the same value. Raises PatternTranslationError for a part that has no translation.
    """
    return _Translator(entry).translated(pattern)


class _Translator:
    def __init__(self, entry: str):
        self.entry = entry
        self.dpl = import_tvm().relax.dpl
        self.made: dict[DFPattern, Any] = {}

    def translated(self, root: DFPattern) -> Any:
        for pattern in post_order_patterns(root):
            translate = _TRANSLATIONS.get(type(pattern))
            if translate is None:
                raise self.error(pattern, _WHY_NOT.get(type(pattern), _UNKNOWN))
            self.made[pattern] = translate(self, pattern)
        return self.value(root)

    def value(self, pattern: DFPattern) -> Any:
        """The translation of a pattern that must match a value, not an operator."""
        made = self.part(pattern)
        if isinstance(made, _Operators):
            raise self.error(
                pattern, "it matches an operator, and a value is expected: call it with patterns"
            )
        return made

    def part(self, pattern: DFPattern) -> Any:
        if pattern not in self.made:
            raise self.error(pattern, "it refers to itself, and Relax's patterns are finite")
        made = self.made[pattern]
        if isinstance(made, PatternTranslationError):
            raise made
        return made

    def error(self, pattern: DFPattern, reason: str) -> PatternTranslationError:
        shown = " ".join(repr(pattern).split())
        return PatternTranslationError(
            f"entry {self.entry!r}: {shown:.200} has no translation to Relax: {reason}. "
            f"Change the pattern, or write the entry for Relax with tvm.relax.dpl"
        )

    def expr(self, pattern: ExprPattern) -> Any:
        if isinstance(pattern.expr, Op):
            return _Operators((pattern.expr.name,))
        if isinstance(pattern.expr, Constant):
            array = pattern.expr.numpy()
            return self.dpl.is_expr(import_tvm().relax.const(array, pattern.expr.data.dtype))
        raise self.error(pattern, "an expression other than a constant cannot be in two modules")

    def wildcard(self, pattern: WildcardPattern) -> Any:
        return self.dpl.wildcard() if pattern.pattern is None else self.part(pattern.pattern)

    def call(self, pattern: CallPattern) -> Any:
        callee = self.part(pattern.op)
        if not isinstance(callee, _Operators):
            raise self.error(pattern, "its callee must be an operator or alternatives of operators")
        args = None if pattern.args is None else [self.value(arg) for arg in pattern.args]
        names = tuple(n for n in callee.names if not {*_instead(n)} & {*callee.names})
        lone = next((name for name in names if _instead(name)), None)
        if lone is not None:
            return self.without_counterpart(pattern, lone)  # the error names alternatives to write
        return reduce(or_, (self.operator_call(name, pattern, args) for name in names))

    def operator_call(self, name: str, pattern: CallPattern, args: list[Any] | None) -> Any:
        relax = relax_name(name)
        if relax is None:
            raise self.without_counterpart(pattern, name)
        if name == "nn.dense" and args is not None and pattern.args is not None:
            weight = self.is_op("permute_dims", args[1:])
            if _may_be_constant(pattern.args[1]):  # transposed by FoldConstant
                weight = weight | self.dpl.is_const()
            args = [args[0], weight]
        if name == "nn.batch_matmul" and args is not None:
            args = [self.is_op("permute_dims", [x]).has_attr(EXCHANGE) | x for x in args]
        if name == "nn.pad" and args is not None:
            args = args[:1]  # in Relax, the value is an attribute
        return self.is_op(relax, args or [])

    def without_counterpart(self, pattern: CallPattern, name: str) -> PatternTranslationError:
        reason = f"Relax has no counterpart of {name}"
        others = _instead(name)
        if others:
            inputs = Op.get(name).definition.inputs
            counts = ((n, len(Op.get(n).definition.inputs)) for n in (name, *others))
            either = (f'is_op("{n}")({", ".join(inputs[:count])})' for n, count in counts)
            reason += (
                f". It computes the same with the operator {' or '.join(others)}: write "
                f"{' | '.join(either)}; Relax uses the alternatives after the first"
            )
        return self.error(pattern, reason)

    def is_op(self, relax: str, args: list[Any]) -> Any:
        """A pattern for a Relax operator call, which may have more operands than the Relay call."""
        return self.dpl.is_op(f"relax.{relax}")(*args, varg_default_wildcard=True)

    def tuple_(self, pattern: TuplePattern) -> Any:
        if pattern.fields is None:
            return self.dpl.wildcard()
        return self.dpl.is_tuple([self.value(field) for field in pattern.fields])

    def item(self, pattern: TupleGetItemPattern) -> Any:
        return self.dpl.is_tuple_get_item(self.value(pattern.tuple), pattern.index)

    def alternatives(self, pattern: AltPattern) -> Any:
        for side, other in ((pattern.left, pattern.right), (pattern.right, pattern.left)):
            names, others = root_operators(side), root_operators(other)
            if names and others and all(others <= {*_instead(name)} for name in names):
                return self.part(other)
        left, right = self.part(pattern.left), self.part(pattern.right)
        if isinstance(left, _Operators) and isinstance(right, _Operators):
            return _Operators((*left.names, *right.names))
        return self.value(pattern.left) | self.value(pattern.right)

    def attributes(self, pattern: AttrPattern) -> Any:
        made = self.part(pattern.pattern)
        names = root_operators(pattern.pattern)
        if isinstance(made, _Operators) or not names:
            raise self.error(pattern, "it requires attributes of values that are not calls")
        wanted: dict[str, Any] = {}
        for key, value in pattern.attrs.items():
            for name in names:
                around = Op.get(name).definition.read_around
                if key not in around and not _has_attribute(name, key):
                    raise self.error(
                        pattern,
                        f"relax.{relax_name(name)} has no attribute {key}; ask for it in the check "
                        f"of the entry, which gets the call in Relay",
                    )
            kind, *others = {_kind_of_equal(name, key) for name in names}
            if value is not None and kind is not None and not others:
                wanted[key] = _plain(kind(value))
        return made.has_attr(wanted) if wanted else made

    def dtype(self, pattern: DataTypePattern) -> Any:
        return self.value(pattern.pattern).has_dtype(pattern.dtype)

    def shape(self, pattern: ShapePattern) -> Any:
        return self.of_shape(pattern, pattern.shape)

    def of_shape(self, pattern: ShapePattern | TypePattern, shape: tuple[Any, ...]) -> Any:
        if not all(isinstance(size, int) for size in shape):
            raise self.error(pattern, "a size of its shape is not a number")
        return self.value(pattern.pattern).has_shape([int(size) for size in shape])

    def type_(self, pattern: TypePattern) -> Any:
        if not isinstance(pattern.type, TensorType):
            raise self.error(pattern, "only types of tensors are translated")
        return self.of_shape(pattern, pattern.type.shape).has_dtype(pattern.type.dtype)


_TRANSLATIONS: Mapping[type, Callable[[_Translator, Any], Any]] = {
    AltPattern: _Translator.alternatives,
    AttrPattern: _Translator.attributes,
    CallPattern: _Translator.call,
    ConstantPattern: lambda translator, pattern: translator.dpl.is_const(),
    DataTypePattern: _Translator.dtype,
    ExprPattern: _Translator.expr,
    ShapePattern: _Translator.shape,
    TupleGetItemPattern: _Translator.item,
    TuplePattern: _Translator.tuple_,
    TypePattern: _Translator.type_,
    WildcardPattern: _Translator.wildcard,
}
_UNKNOWN = "Relax has no such pattern"
_WHY_NOT: Mapping[type, str] = {
    VarPattern: "in Relax every value is bound to a variable, so it would match any; use wildcard()"
}
"""{class of patterns: reason that it has no translation}, if not _UNKNOWN."""


def _may_be_constant(pattern: DFPattern) -> bool:
    """Whether a pattern matches constants."""
    todo, seen = [pattern], {pattern}
    while todo:
        p = todo.pop()
        if isinstance(p, (ConstantPattern, WildcardPattern)) and not p.children():
            return True
        if isinstance(p, ExprPattern) and isinstance(p.expr, Constant):
            return True
        todo += [q for q in p.same_root() if q not in seen]
        seen.update(p.same_root())
    return False


def _has_attribute(operator: str, attribute: str) -> bool:
    """Whether the Relax counterpart of a Relay operator has an attribute of this name."""
    tvm = import_tvm()
    name = str(relax_name(operator))
    key = str(tvm.ir.Op.get(f"relax.{name}").attrs_type_key)
    record = getattr(tvm.relax.op.op_attrs, key.rpartition(".")[2], None)
    if record is not None:
        return hasattr(record, attribute)
    return attribute in signature(reduce(getattr, name.split("."), tvm.relax.op)).parameters


def _kind_of_equal(operator: str, attribute: str) -> Callable[[Any], Any] | None:
    """The function that converts an attribute's values if Relax has the same values; None if only
    `RelayCheck` can compare the attribute."""
    read = RELAX_NAMES.get(str(relax_name(operator)))
    fields = Op.get(operator).definition.free_attributes
    if not isinstance(read, partial) or read.func is not same or attribute == "out_layout":
        return None
    kind = fields[attribute].kind if attribute in fields else None
    return None if kind is dtype else kind


def _plain(value: Any) -> Any:
    """The value of an attribute in the form that TVM accepts."""
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def relax_entry(name: str, pattern: DFPattern, check: Any = None) -> tuple[Any, ...]:
    """Converts an entry of a Relay pattern table to an entry for FuseOpsByPattern.

    Raises PatternTranslationError.
    """
    return name, relax_pattern(pattern, name), {}, RelayCheck(name, pattern, check)
