"""Constants that PartitionGraph moves into regions, and the resulting calls for back ends."""

from __future__ import annotations

from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.passes.byoc.partition_graph import PartitionGraph, is_flat_constant
from byoc_lab.relay.analysis.annotations import BEGIN, DEFAULT, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Tuple


def bound_constant(begin: Expr, subject: Subject) -> Expr | None:
    """The typed constant, or tuple of constants, that partitioning puts in place of a begin's
    parameter; None for other values, and if the pipeline does not bind constants."""
    if not is_annotation(begin, BEGIN) or not _binds(subject.context):
        return None
    typed = subject.typed.get(begin.args[0])
    value = _without_default(typed) if typed is not None else None
    return value if value is not None and is_flat_constant(value) else None


def as_compiled(call: Call, subject: Subject) -> Call | None:
    """A call of a region as the code generator gets it: typed, with constants in place of their
    begins. None if the type is unknown."""
    typed = subject.typed.get(call)
    if not isinstance(typed, Call):
        return None
    args = [
        bound_constant(arg, subject) or own for arg, own in zip(call.args, typed.args, strict=True)
    ]
    if all(a is b for a, b in zip(args, typed.args, strict=True)):
        return typed
    made: Call = typed.with_parts((typed.op, *args)).with_type(typed.checked_type)
    return made


def _binds(context: Context) -> bool:
    partitions = [p for p in context.passes or () if isinstance(p, PartitionGraph)]
    return all(p.bind_constants and p.era is None for p in partitions)


def _without_default(value: Expr) -> Expr:
    """A typed value without the "default" annotations on it and on its tuple fields;
    PartitionGraph removes these first."""
    while is_annotation(value) and compiler_of(value) == DEFAULT:
        value = value.args[0]
    if not isinstance(value, Tuple):
        return value
    fields = [_without_default(f) for f in value.fields]
    if all(a is b for a, b in zip(fields, value.fields, strict=True)):
        return value
    plain: Tuple = Tuple(fields).with_type(value.checked_type)
    return plain
