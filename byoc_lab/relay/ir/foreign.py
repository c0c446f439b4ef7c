"""`ForeignModule`: a module of another language, such as Relax, that is drawn and compared here.

Its functions are mirrored as Relay nodes: calls of the other language's operators (known by name
only) with their operands, attributes and types. Tools that draw and compare modules treat it like
any module; tools that run, type or rewrite Relay reject it. Its text is in the other language.

The reader of a language is imported when the first module of that language is used (`READERS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from byoc_lab.errors import ForeignModuleError
from byoc_lab.late import Slot
from byoc_lab.printing import printable
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node import set_field

LANGUAGES = ("relax.",)
CODE = "Code"
"""The attribute of a function of lower-level code, such as TIR. Its value identifies the
computation, and the body of the function is empty. Each call of the function is drawn as one
box."""
OPERATORS = "operators"
"""The attribute of a call of compiled code: the number of the network's operators that the code
computes; 0 if unknown."""
INPUTS = "num_input"
"""The attribute of a function with the number of its inputs, which come before its weights."""


class ForeignOp(Op):
    """An operator of another language, one object per name. It is not registered in Relay; its
    operand names are those of Relay's operator of the same name. Made by `foreign_op`."""

    __slots__ = ("language",)
    language: str

    def __init__(self, language: str, name: str):
        Expr.__init__(self)
        set_field(self, "name", name)
        set_field(self, "language", language)
        set_field(self, "definition", _Shared(Op._registry.get(name)))
        set_field(self, "_attributes", {})

    @property
    def full_name(self) -> str:
        """The name with its language: "relax.nn.conv2d"."""
        return f"{self.language}.{self.name}"


class _Shared:
    """The definition of a foreign operator: operand names, fusion pattern and arithmetic of Relay's
    operator of the same name, if there is one; no cost."""

    flops = None

    def __init__(self, known: Op | None):
        definition = known.definition if known is not None else None
        self.inputs: tuple[str, ...] = definition.inputs if definition else ()
        self.pattern = definition.pattern if definition else None
        self.arithmetic = definition.arithmetic if definition else None


@cache
def foreign_op(full_name: str) -> ForeignOp:
    """The foreign operator with a name that begins with its language, such as "relax.nn.conv2d"."""
    language, _, name = full_name.partition(".")
    return ForeignOp(language, name)


def named_op(name: str) -> Op:
    """The operator of that name: a foreign operator if the name begins with a language, else
    Relay's. Raises UnknownNameError."""
    return foreign_op(name) if name.startswith(LANGUAGES) else Op.get(name)


class ForeignModule(IRModule):
    """A module of another language.

    language: "relax". source: the module that it was read from; None for a loaded one. functions,
    attrs: as in any module.
    """

    language: str
    source: Any = None

    def __init__(
        self,
        language: str,
        functions: Mapping[Any, Function],
        attrs: Mapping[str, Any] | Attrs,
        lines: Sequence[Any],
        findings: Sequence[Any],
    ):
        super().__init__(functions, attrs=attrs)
        self.language = language
        self._lines, self._findings = lines, findings

    @property
    def lines(self) -> Sequence[Any]:
        """The lines of its text (objects of `relay.text.printer_lines.Line`), each with the node
        that it defines."""
        return self._lines

    @property
    def findings(self) -> Sequence[Any]:
        """The findings in this module (`lab.linting.Finding`)."""
        return self._findings

    def plain(self) -> ForeignModule:
        """A copy without the module that it was read from, for pickling and saving."""
        return ForeignModule(
            self.language, self.functions, self.attrs, list(self.lines), list(self.findings)
        )

    @printable
    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines) + "\n"


def refuse_foreign(mod: Any, who: str) -> None:
    """Raise ForeignModuleError for a module of another language."""
    if isinstance(mod, ForeignModule):
        raise ForeignModuleError(
            f"{who} takes modules of Relay, found one of {mod.language}, which trace, lint, fix, "
            f"diff, explain, explain_patterns, coverage, validate, bisect and "
            f"byoc_lab.{mod.language}.build take; read it into Relay with mod, params = "
            f"byoc_lab.importers.{mod.language}.from_{mod.language}(mod), and give {who} that "
            f"module"
        )


READERS: dict[str, Slot[Callable[[Any], Any]]] = {"tvm": Slot()}
"""Package name -> a reader for objects of its language, which converts modules to ForeignModule and
returns other objects unchanged."""


def adopted(obj: Any) -> Any:
    """A module of another language as a ForeignModule; any other value unchanged."""
    if isinstance(obj, IRModule | Expr):
        return obj
    package = type(obj).__module__.partition(".")[0]
    return READERS[package]()(obj) if package in READERS else obj
