"""`tvm.target.Target("ccompiler ...")`: options for a back end's code generator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.backends import ccompiler
from byoc_lab.errors import BuildError
from byoc_lab.printing import printable

OPTIONS: dict[str, tuple[str, ...]] = {ccompiler.NAME: ("header",)}
"""The options of the kinds that apache-tvm does not know."""


@dataclass(frozen=True)
class RegionKind:
    """The kind of a target, by its name."""

    name: str


@dataclass(frozen=True, repr=False)
class RegionTarget:
    """The target of a region compiler. `attrs`: "header", C code before each function."""

    kind: RegionKind
    attrs: Mapping[str, str]
    host: Any = field(default=None, compare=False)

    @printable
    def __str__(self) -> str:
        options = (f"-{name}='{value}'" for name, value in self.attrs.items())
        return " ".join([self.kind.name, *options])

    __repr__ = __str__


def region_target(options: Mapping[str, Any], host: Any) -> RegionTarget:
    """The target for a mapping of options. Raises BuildError for an unknown option."""
    given = {name: str(value) for name, value in options.items() if name != "kind"}
    kind = str(options["kind"])
    unknown = [name for name in given if name not in OPTIONS[kind]]
    if unknown:
        raise BuildError(
            f"the target {kind!r} has no option {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(map(repr, OPTIONS[kind]))}"
        )
    return RegionTarget(RegionKind(kind), given, host)


__all__ = ["RegionTarget", "region_target"]
