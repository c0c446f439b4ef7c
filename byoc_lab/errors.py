"""Every error that byoc_lab raises on purpose, in one place.

Each message says what was found, what was expected, where, and what to do next. All of them derive
from `ByocLabError`, and also from the built-in exception that a caller would try first
(`ValueError`, `TypeError`, ...), so that a script needs no knowledge of this module.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any


def nearest(name: object, known: Iterable[str], most: int = 3) -> str:
    """The sentence for a name that is not known: the nearest known ones, or all of a few."""
    names = sorted(known)
    by_lower = {n.lower(): n for n in names}
    close = [by_lower[n] for n in difflib.get_close_matches(str(name).lower(), by_lower, n=most)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if len(names) <= 2 * most:
        return f"there are {', '.join(names)}." if names else "there are none."
    return f"there are {', '.join(names[:most])} and {len(names) - most} more."


class ByocLabError(Exception):
    """Base of all errors of byoc_lab."""


class DiagnosticError(ByocLabError):
    """A program has an error in its text or its types: what TVM reports as diagnostics.

    `facts` is what the message says, as data for tools that word it differently: its "kind" and the
    values by name; empty where no tool asks.
    """

    facts: Mapping[str, Any] = MappingProxyType({})


class ParseError(DiagnosticError, ValueError):
    """Text that is no Relay. Carries the place; the message shows the line with a caret.

    Attributes: `source` (file or name), `line` and `column` (from 1), `reason` (no place in it),
    `span` (the token at fault, when it is known).
    """

    span: object = None

    def __init__(self, reason: str, source: str, line: int, column: int, text_line: str = ""):
        self.reason, self.source, self.line, self.column = reason, source, line, column
        shown, caret = _clip(text_line.replace("\t", " "), column)
        picture = f"\n  {shown}\n  {' ' * caret}^" if shown else ""
        super().__init__(f"{source}:{line}:{column}: {reason}{picture}")


def _clip(line: str, column: int, width: int = 100) -> tuple[str, int]:
    """The part of a long line around `column`, and where the caret goes in it."""
    start = max(0, min(column - 1 - width // 2, len(line) - width))
    head, tail = "..." if start else "", "..." if len(line) > start + width else ""
    return head + line[start : start + width] + tail, column - 1 - start + len(head)


class TypeInferenceError(DiagnosticError, TypeError):
    """An expression has no type: operand types disagree, or are under-constrained.

    `node` is the expression at fault when known, `span` its place in a text (or that of a part).
    """

    def __init__(
        self,
        message: str,
        node: object = None,
        facts: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        super().__init__(message)
        self.node = node
        self.facts = facts or {}
        self.span = span or getattr(node, "span", None)


class UntypedError(TypeInferenceError, ValueError):
    """The type of an expression was asked for before type inference gave it one."""


class AttributeValueError(ByocLabError, ValueError):
    """An operator attribute is unknown, missing, or has a value of the wrong kind."""


class OperatorDefinitionError(ByocLabError, ValueError):
    """A definition of an operator (`define_op`) contradicts itself."""


class WellFormedError(ByocLabError, ValueError):
    """A function or module breaks a rule of the IR (free variables, a name bound twice, ...)."""


class FreeVariableError(WellFormedError):
    """A global function mentions variables that nothing binds. `variables` holds them."""

    def __init__(self, message: str, variables: tuple = ()):
        super().__init__(message)
        self.variables = variables


class StructuralEqualError(ByocLabError, ValueError):
    """Two values that were to be structurally equal differ; the message says where."""


class UnknownNameError(ByocLabError, KeyError):
    """A name (operator, global function, pass, rule, pattern table, ...) that nobody registered."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class UnknownAttributeError(UnknownNameError, AttributeError):
    """A name that an attributes record does not have."""


class UnknownFunctionError(UnknownNameError, ValueError):
    """A name under which no function is registered."""


class DuplicateNameError(ByocLabError, ValueError):
    """A name is registered or bound a second time."""


class PassError(ByocLabError, RuntimeError):
    """A pass cannot run on this module; the module it was given is unchanged."""


class ArgumentError(ByocLabError, TypeError):
    """An argument of a function is of the wrong kind; the message says which kind is expected."""


class StageIndexError(ByocLabError, IndexError):
    """A stage, or a number of rewrites in a stage, that a trace does not have."""


class ConfigError(ByocLabError, AttributeError):
    """A setting of a PassContext that no pass has, or of the wrong kind."""


class PredicateError(PassError):
    """A back end's predicate, or the check of one of its patterns, raised an exception of its own;
    that is the `__cause__`."""


class PartitionError(PassError):
    """Region annotations are malformed: what PartitionGraph or MergeCompilerRegions stopped at.

    `node` is the expression at fault, or None.
    """

    def __init__(self, message: str, node: object = None):
        super().__init__(message)
        self.node = node


class EvaluationError(ByocLabError, RuntimeError):
    """An expression cannot be evaluated: an operator without a reference, a wrong input."""


class InputError(ByocLabError, ValueError):
    """A run-time input is missing, surplus, or of the wrong shape or dtype."""


class BuildError(ByocLabError, RuntimeError):
    """A module cannot be built or run: no translation, no codegen, a tool that is missing."""


class OffloadError(ByocLabError, AssertionError):
    """Something that should have run on a back end did not."""


class ValidationError(ByocLabError, AssertionError):
    """A result is further from the reference than its error bound allows."""


class NativeExtensionError(ByocLabError, ImportError):
    """The compiled DNNL extension is missing or cannot be loaded."""


class MissingDependencyError(ByocLabError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


class ImporterError(ByocLabError, ValueError):
    """A file cannot be imported: no importer reads its kind, or its importer gave no module."""


class UnreadableFileError(ImporterError, OSError):
    """A file is missing or cannot be opened; the operating system's error is the `__cause__`."""


class UnsupportedNameError(ByocLabError, AttributeError):
    """A name of TVM that scripts of its Relay years use and byoc_lab does not carry."""


class UnsupportedModuleError(ByocLabError, ImportError):
    """A module of TVM, or a name imported from one, that byoc_lab does not carry."""


class InterpretedWarning(UserWarning):
    """A program that cannot be compiled is computed by the NumPy reference instead."""


class UnsetInputWarning(UserWarning):
    """A graph module was run before all its inputs were set."""


class ElidedMetadataWarning(UserWarning):
    """Text without its metadata section was read; stand-ins took the place of what is missing."""
