"""`ForeignModule`: a module of another language, such as Relax, that is drawn and compared here.

Its functions are mirrored as nodes of Relay: calls of its own operators, known by name alone, with
their operands, attributes and types. What draws and compares modules sees them as it sees any;
what runs, types or rewrites Relay does not take them. Its text is that of its own language.

What reads a language is imported when a module of it comes (`READERS`).
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
"""The attribute of a function that is code of a language below operators, such as TIR; its value
stands for what it computes, and its body is empty. It is drawn as one box where it is called."""
OPERATORS = "operators"
"""The attribute of a call of compiled code: how many operators of the network that computes; 0 if
that is not known."""
INPUTS = "num_input"
"""The attribute of a function that tells its inputs from its weights: how many come first."""


class ForeignOp(Op):
    """An operator of another language, one object per name. It is in no registry of Relay, and has
    the operand names of Relay's operator of the same name. Made by `foreign_op`."""

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
        """With the language: "relax.nn.conv2d"."""
        return f"{self.language}.{self.name}"


class _Shared:
    """A foreign operator's definition: the names of operands, the pattern and the arithmetic of
    Relay's operator of the same name, if there is one; without a cost."""

    flops = None

    def __init__(self, known: Op | None):
        definition = known.definition if known is not None else None
        self.inputs: tuple[str, ...] = definition.inputs if definition else ()
        self.pattern = definition.pattern if definition else None
        self.arithmetic = definition.arithmetic if definition else None


@cache
def foreign_op(full_name: str) -> ForeignOp:
    """The operator of a name with its language, "relax.nn.conv2d"."""
    language, _, name = full_name.partition(".")
    return ForeignOp(language, name)


def named_op(name: str) -> Op:
    """The operator of a name: a foreign one if it begins with a language, else Relay's. Raises
    UnknownNameError."""
    return foreign_op(name) if name.startswith(LANGUAGES) else Op.get(name)


class ForeignModule(IRModule):
    """A module of another language.

    language: "relax". source: the module that it was read from; None for one that was saved.
    functions, attrs: mirrored, as in any module.
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
        """The lines of its text (`relay.text.printer_lines.Line`, of a higher layer), each with the
        node that it defines."""
        return self._lines

    @property
    def findings(self) -> Sequence[Any]:
        """What was found in it (`lab.linting.Finding`)."""
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
            f"diff, explain, coverage, validate and byoc_lab.{mod.language}.build take; read it "
            f"into Relay with "
            f"mod, params = byoc_lab.importers.{mod.language}.from_{mod.language}(mod)"
        )


READERS: dict[str, Slot[Callable[[Any], Any]]] = {"tvm": Slot()}
"""For each package that has a language, what reads its objects: a module as a ForeignModule, any
other object as it is."""


def adopted(obj: Any) -> Any:
    """A module of another language as a ForeignModule; everything else as it is."""
    if isinstance(obj, IRModule | Expr):
        return obj
    package = type(obj).__module__.partition(".")[0]
    return READERS[package]()(obj) if package in READERS else obj
