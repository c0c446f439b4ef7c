"""Operands of composites and regions that are missing among their parameters: repeated operands and
constants."""

from __future__ import annotations

from collections import Counter

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Var
from byoc_lab.relay.ir.visit import post_order


def shared_parameters(function: Function) -> dict[Var, int]:
    """The parameters that are used as several operands, with the number of operands: passes create
    one parameter for each value, even if it is used several times."""
    uses = _uses(function)
    return {p: uses[p] for p in function.params if uses[p] > 1}


def missing_arguments(function: Function) -> str:
    """Sentences about an external function and those of its composites that have fewer parameters
    than operands; "" if there are none."""
    sentences = []
    for inner in dict.fromkeys([*_composites(function), function]):
        name = str(inner.attrs.get("Composite", "")) or "The region"
        count = len(inner.params)
        takes = f"{name} has {count} parameter{'' if count == 1 else 's'}"
        for param, uses in shared_parameters(inner).items():
            sentences.append(
                f"{takes}: %{param.name_hint} stands for {uses} operands, because a repeated "
                f"operand is one parameter"
            )
        inside = any(isinstance(a, Constant) for c in _calls(inner) for a in c.args)
        if inner is not function and inside:
            sentences.append(f"{takes}: constants that its pattern requires are in its body")
    return ". ".join(dict.fromkeys(sentences))


def _uses(function: Function) -> Counter[Expr]:
    return Counter(part for node in post_order(function.body) for part in node.parts())


def _calls(function: Function) -> list[Call]:
    return [n for n in post_order(function.body) if isinstance(n, Call)]


def _composites(function: Function) -> list[Function]:
    return [
        n
        for n in post_order(function.body)
        if isinstance(n, Function) and n is not function and "Composite" in n.attrs
    ]
