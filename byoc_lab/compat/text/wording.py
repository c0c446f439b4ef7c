"""TVM 0.16's messages for errors in programs, generated from the fields of byoc_lab's errors.

Source: src/relay/parser and src/relay/analysis/type_solver.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from byoc_lab.errors import DiagnosticError

Facts = Mapping[str, Any]


def tvm_messages(error: DiagnosticError) -> tuple[str, ...]:
    """TVM's messages for an error; empty if TVM's wording is not known."""
    found = _BY_KIND.get(error.facts.get("kind", ""))
    if found is None:
        return ()
    said = found(error.facts)
    return (said,) if isinstance(said, str) else said


def _called(token: str) -> str:
    """TVM's name for a token."""
    start = token[:1]
    if not token or token == "#[metadata]":
        return "metadata section" if token else "end of file"
    if start == "%" and len(token) > 1:
        return "graph variable" if token[1].isdecimal() else "local variable"
    if start == "@" and len(token) > 1:
        return "global variable"
    if start.isdecimal():
        return "float" if set(token) & set(".ef") else "integer"
    if start == '"':
        return "string literal"
    if token.startswith("meta["):
        return "`meta`"
    if token in ("True", "False"):
        return "boolean"
    if token in _WORDS or not (start.isalpha() or start == "_") or token == "_":
        return f"`{_FIRST.get(token, token)}`"
    return "identifier"


_WORDS = {"let", "if", "else", "fn", "def", "type", "extern", "free_var", "match"}
_WORDS |= {"ref", "ref_read", "ref_write"}
# TVM has no two-character tokens, and swaps the names of the angle brackets.
_FIRST = {"->": "-", "=>": "=", "==": "=", "<=": ">", ">=": "<", "!=": "!", "<": ">", ">": "<"}


def _mismatch(first: Any, second: Any) -> tuple[str, ...]:
    """The messages for two types that must be equal but are not."""
    said = [
        f"The Relay type checker is unable to show the following types match.\n"
        f"In particular `{first}` does not match `{second}`"
    ]
    mine, theirs = getattr(first, "shape", None), getattr(second, "shape", None)
    if mine is None or theirs is None or first.dtype != second.dtype:
        return tuple(said)
    if len(mine) != len(theirs):
        said.insert(
            0,
            f"tensor type `{second}` has {len(theirs)} dimensions, "
            f"while `{first}` has {len(mine)} dimensions",
        )
        return tuple(said)
    dims = "  ".join(
        f"dimension {n} conflicts: {b} does not match {a}."
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True))
        if a != b and str(a) != "?" and str(b) != "?"
    )
    said.insert(
        0,
        f"The Relay type checker is unable to show the following types match:\n"
        f"  {second}\n  {first}\nIn particular:\n  {dims}",
    )
    return tuple(said)


def _in_full(ty: Any) -> str:
    """A tensor type as printed by TVM's C++."""
    dims = ", ".join(map(str, getattr(ty, "shape", ())))
    return f"TensorType([{dims}], {ty.dtype})" if hasattr(ty, "dtype") else str(ty)


_UNDERCONSTRAINED = (
    "The type inference pass was unable to infer a type for this expression.\n"
    "This usually occurs when an operator call is under constrained in some way, check other "
    "reported errors for hints of what may of happened."
)


def _expected(facts: Facts, more: str = "") -> str:
    return f"expected a {_called(facts['token'])} found {more}{_called(facts['found'])}"


def _arguments(facts: Facts) -> str:
    expected, found = facts["expected"], facts["found"]
    few = "few" if found < expected else "many"
    return f"the function is provided too {few} arguments expected {expected}, found {found}"


def _number(facts: Facts) -> str:
    kind = "floating point" if "float" in facts["dtype"] else "integer"
    width = facts["dtype"].lstrip("floatin")
    return f"{kind} number `{facts['digits']}` unrepresentable in width {width}"


def _constructor(facts: Facts) -> str:
    name = facts["name"]
    return (
        f"undefined constructor name `{name}`, perhaps you intended to write a"
        f"pattern variable, considering changing this to `%{name}`"
    )


def _input_channels(facts: Facts) -> tuple[str, ...]:
    listed = ", ".join(map(str, facts["weight"].shape))
    return (
        f"{facts['operator'].removeprefix('nn.')}: requires that `{facts['expected']}`, the input "
        f"channels ({facts['channels']}) divided by groups ({facts['groups']}),\n must match the "
        f"input channels of the weight `{facts['found']}`, where the weight shape is ([{listed}]).",
        _UNDERCONSTRAINED,
    )


def _broadcast(facts: Facts) -> tuple[str, ...]:
    first, second = map(_in_full, facts["types"])
    return f"Incompatible broadcast type {first} and {second}", _UNDERCONSTRAINED


def _broadcast_dtypes(facts: Facts) -> str:
    first, second = facts["types"]
    return f"data types {first.dtype} and {second.dtype} do not match in BroadcastRel"


def _cases(facts: Facts) -> str:
    cases = "".join(f"case {n}: \n{case}" for n, case in enumerate(facts["missing"]))
    return f"match expression does not handle the following cases: {cases}"


_BY_KIND: dict[str, Callable[[Facts], str | tuple[str, ...]]] = {
    "arguments": _arguments,
    "attributes type": lambda f: (
        "unable to determine the 'attrs_type_key' with which to represent the call "
        "attributes for this operator"
    ),
    "broadcast": _broadcast,
    "broadcast dtypes": _broadcast_dtypes,
    "callee": lambda f: (
        "only expressions with function types can be called, found " + _in_full(f["found"])
    ),
    "cases": _cases,
    "constructor": _constructor,
    "constructor defined": lambda f: (
        f"a constructor with the name `{f['name']}` was previously defined"
    ),
    "expression": lambda f: f"expected an expression found  {_called(f['found'])}",
    "input channels": _input_channels,
    "list": lambda f: _expected(f, " "),
    "metadata index": lambda f: f"the node index `{f['index']}` is out of bounds for `{f['type']}`",
    "metadata type": lambda f: f"no entry in the meta table for `{f['type']}`",
    "mismatch": lambda f: _mismatch(*f["types"]),
    "number": _number,
    "operator": lambda f: f"operator `{f['name']}` not found, perhaps you forgot to register it?",
    "overflow": lambda f: (
        f"invalid {'floating point' if f['suffix'] else 'integer'} number `{f['digits']}`"
    ),
    "token": _expected,
    "type": lambda f: f"failed to parse type found {_called(f['found'])}",
    "type variable": lambda f: f"the type variable : `{f['name']}` is undefined",
    "variable": lambda f: "this local variable has not been previously declared",
    "underconstrained": lambda f: _UNDERCONSTRAINED,
}
