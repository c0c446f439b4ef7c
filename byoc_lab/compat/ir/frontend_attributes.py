"""`tvm.relay.frontend.common`: conversion of a framework's operator attributes, for importers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from byoc_lab.compat.overlay import module
from byoc_lab.errors import UnsupportedNameError
from byoc_lab.relay.ir.expr import Expr


def get_relay_op(op_name: str) -> Callable[..., Any]:
    """The builder of a Relay operator, searched in relay.op, then in its submodules nn, image and
    vision; the name may contain dots. Raises UnsupportedNameError."""
    operators = module("tvm.relay.op")
    if "." in op_name:
        found: Any = operators
        for part in op_name.split("."):
            found = getattr(found, part, None)
        places = [found]
    else:
        folders = [operators, *(getattr(operators, n) for n in ("nn", "image", "vision"))]
        places = [getattr(folder, op_name, None) for folder in folders]
    for builder in places:
        if callable(builder):
            return builder
    raise UnsupportedNameError(f"Relay has no operator {op_name!r:.80}, which an importer requests")


def get_name(node: Any) -> str:
    """The name of a variable; "" for other nodes."""
    return str(getattr(node, "name_hint", ""))


class AttrCvt:
    """Builds a call from a framework's attributes.

    op_name: the Relay operator, or a function of the attributes that gives its name. transforms:
    {attribute: new name, (new name, default), or (new name, default, function of the value)}.
    excludes: refused attributes. disables, ignores: omitted attributes. extras: additional
    attributes. custom_check: (function of the attributes, message).
    """

    def __init__(
        self,
        op_name: str | Callable[..., Any],
        transforms: Mapping[str, Any] | None = None,
        excludes: Collection[str] = (),
        disables: Collection[str] = (),
        ignores: Collection[str] = (),
        extras: Mapping[str, Any] | None = None,
        custom_check: tuple[Callable[[Any], bool], str] | None = None,
    ):
        self._op_name = op_name
        self._transforms = dict(transforms or {})
        self._excludes = set(excludes or ())
        self._left_out = {*(disables or ()), *(ignores or ()), "tvm_custom"}
        self._extras = dict(extras or {})
        self._check = custom_check

    def __call__(self, inputs: Sequence[Expr], attrs: Mapping[str, Any], *args: Any) -> Any:
        if self._check is not None and not self._check[0](attrs):
            raise RuntimeError(f"check failed: {self._check[1]}")
        name = self._op_name if isinstance(self._op_name, str) else self._op_name(attrs)
        refused = sorted(self._excludes & set(attrs))
        if refused:
            raise NotImplementedError(f"attribute {refused[0]} of operator {name} is not supported")
        return get_relay_op(name)(*inputs, **self._converted(attrs))

    def _converted(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in attrs.items():
            if key in self._left_out:
                continue
            rule = self._transforms.get(key, key)
            new, default, change = _parsed(rule)
            if value is None and default is None and key in self._transforms:
                raise AttributeError(f"required attribute {key} has no value")
            found[new] = default if value is None else change(value)
        return {**found, **self._extras}


def _parsed(rule: Any) -> tuple[str, Any, Callable[[Any], Any]]:
    """(new name, default, function of the value) from any of the three forms."""
    if isinstance(rule, str):
        return rule, None, _same
    name, default, *rest = rule
    return name, default, rest[0] if rest else _same


def _same(value: Any) -> Any:
    return value


class Renamer:
    """Builds a call of another operator with the same attributes."""

    def __init__(self, new_name: str):
        self._new_name = new_name

    def __call__(self, inputs: Sequence[Expr], attrs: dict[str, Any], *args: Any) -> Any:
        kept = {key: value for key, value in attrs.items() if key != "tvm_custom"}
        return get_relay_op(self._new_name)(*inputs, **kept)


__all__ = ["AttrCvt", "Renamer", "get_name", "get_relay_op"]
