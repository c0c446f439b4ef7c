"""Errors and warnings of byoc_lab.

Each message says what was found, what was expected, where, and what to do next. Every error derives
from `ByocLabError` and from the built-in exception that callers expect (`ValueError`, `TypeError`,
...), so that a script can handle it without importing this module.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from byoc_lab.printing import printable

LEAST_PART = 4  # minimum of letters for a search within other names


def nearest(name: object, known: Iterable[str], most: int = 3) -> str:
    """A hint for an unknown name: the most similar known names, or names that contain it, or all
    names if there are few."""
    names, part = sorted(known), str(name).lower()
    around = [n for n in names if part in n.lower()] if len(part) >= LEAST_PART else []
    if close := close_names(part, names, most) or around[:most]:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if len(names) <= 2 * most:
        return f"there are {', '.join(names)}." if names else "there are none."
    return f"there are {', '.join(names[:most])} and {len(names) - most} more."


def close_names(name: str, known: Iterable[str], most: int = 3, least: float = 0.6) -> list[str]:
    """The known names most similar to `name`, with a similarity of at least `least` (1: equal
    except for upper and lower case)."""
    by_lower = {n.lower(): n for n in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=least)
    return [by_lower[n] for n in close]


_LONG_WORD = re.compile(r"\S{200,}")
_LONG_LINE = re.compile(r"[^\n]{1000,}")
_KEPT = 60  # characters kept at each end of a long value


class ByocLabError(Exception):
    """Base of all errors of byoc_lab.

    Its text shows only the beginning and the end of a name of more than 200 characters, or a line
    of more than 1,000; `args` has the whole message.

    advice: what to do about any error of the class; `decode` shows it.
    """

    advice: ClassVar[str] = (
        "Compare the found with the expected value, at the location in the message"
    )

    @printable
    def __str__(self) -> str:
        return shortened(super().__str__())


def kind_of(value: object) -> str:
    """The class of a value, for messages; for TVM objects, with the functions that accept them."""
    kind = type(value)
    if kind.__module__.split(".")[0] == "tvm":
        return f"{kind.__name__} of TVM (for Relax: the functions of byoc_lab.relax)"
    return kind.__name__


def counted(count: int, noun: str) -> str:
    """ "1 call", "2 calls", "2 annotations for dnnl", "2,000 function literals"."""
    head, space, tail = noun.partition(" for ")
    return f"1 {noun}" if count == 1 else f"{count:,} {head}s{space}{tail}"


def enumerated(words: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def shortened(message: str) -> str:
    """A message with its long words and lines shortened in the middle."""
    return _LONG_LINE.sub(_ends, _LONG_WORD.sub(_ends, message))


def _ends(found: re.Match[str]) -> str:
    text = found[0]
    left_out = len(text) - 2 * _KEPT
    return f"{text[:_KEPT]}...({left_out:,} characters)...{text[-_KEPT:]}"


def place_outside(error: BaseException) -> str:
    """ " at file:line" of the last call before an error that is outside of byoc_lab and Python's
    import system, such as a notebook line; "" if there is no such call."""
    own = (str(Path(__file__).parent) + os.sep, "<frozen ")
    calls = traceback.extract_tb(error.__traceback__)
    outside = [call for call in calls if not call.filename.startswith(own)]
    return f" at {outside[-1].filename}:{outside[-1].lineno}" if outside else ""


class DiagnosticError(ByocLabError):
    """A program has an error in its text or its types, which TVM reports as diagnostics.

    `facts` is the content of the message as data, for tools that word it differently: its "kind"
    and the values by name; empty if no tool needs it.
    """

    facts: Mapping[str, Any] = MappingProxyType({})


class ParseError(DiagnosticError, ValueError):
    """A text is not valid Relay. The message shows the line with a caret.

    Attributes: `source` (file or name), `line` and `column` (from 1), `reason` (without the source
    location), `span` (the token at fault, if known).
    """

    span: object = None

    def __init__(self, reason: str, source: str, line: int, column: int, text_line: str = ""):
        self.reason, self.source, self.line, self.column = reason, source, line, column
        shown, caret = _clip(text_line, column)
        picture = f"\n  {shown}\n  {' ' * caret}^" if shown else ""
        super().__init__(f"{source}:{line}:{column}: {reason}{picture}")


def _clip(line: str, column: int, width: int = 100) -> tuple[str, int]:
    """The part of a long line around `column`, and the position of the caret in it. Tabs become
    spaces; each other unprintable character is replaced by one character."""
    start = max(0, min(column - 1 - width // 2, len(line) - width))
    part = line[start : start + width].replace("\t", " ")
    part = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in part)
    head, tail = "..." if start else "", "..." if len(line) > start + width else ""
    return head + part + tail, column - 1 - start + len(head)


class TypeInferenceError(DiagnosticError, TypeError):
    """An expression has no type: operand types disagree, or are under-constrained.

    `node` is the expression at fault, if known; `span` is the source location of the expression or
    of a part of it.
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
    """An expression has no type because type inference has not run on it."""


class AttributeValueError(ByocLabError, ValueError):
    """An operator attribute is unknown, missing, or has a value of the wrong kind."""


class OperatorDefinitionError(ByocLabError, ValueError):
    """A definition of an operator (`define_op`) contradicts itself."""


class WellFormedError(ByocLabError, ValueError):
    """A function or module violates a rule of the IR (free variables, a name bound twice, ...)."""


class FreeVariableError(WellFormedError):
    """A global function uses variables that nothing binds; `variables` has them."""

    def __init__(self, message: str, variables: tuple[Any, ...] = ()):
        super().__init__(message)
        self.variables = variables


class UnparsedModuleError(ByocLabError, ValueError):
    """A module is known as text that byoc_lab cannot parse; the message says why."""


class ForeignModuleError(ByocLabError, ValueError):
    """A module of another language is needed for an operation that only its own compiler
    supports."""


class StructuralEqualError(ByocLabError, ValueError):
    """Two values are not structurally equal; the message says where they differ."""


class UnknownNameError(ByocLabError, KeyError):
    """A name (of an operator, global function, pass, rule, pattern table, ...) does not exist."""

    advice = "Correct the name, or register what it names before it is used"

    @printable
    def __str__(self) -> str:  # KeyError would show the repr of the message
        return shortened(str(self.args[0])) if self.args else ""


class UnknownNodeError(ByocLabError, LookupError):
    """An expression is not a node of the module in question."""


class UnknownAttributeError(UnknownNameError, AttributeError):
    """The attributes of an operator, or a Python module, do not have an attribute with this name.

    hint: returns the end of the message. It is called only when the message is read, because
    `hasattr` asks for many names that are not misspelt.
    """

    def __init__(self, message: str, hint: Callable[[], str] | None = None):
        super().__init__(message)
        self.hint = hint

    @printable
    def __str__(self) -> str:
        said = super().__str__()
        return f"{said}; {self.hint()}" if self.hint else said

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class UnknownFunctionError(UnknownNameError, ValueError):
    """No function is registered under a name."""


class DuplicateNameError(ByocLabError, ValueError):
    """A name is registered or bound a second time."""


class PassError(ByocLabError, RuntimeError):
    """A pass cannot run on a module; the module is unchanged."""

    advice = (
        "Compare the found with the expected value. If a pass of a pipeline raised it, "
        "byoc_lab.trace(mod, pipeline) shows the module before the pass, and byoc_lab.lint(mod, "
        "pipeline) reports the problems that the passes will meet"
    )


class DiffError(ByocLabError, ValueError):
    """A diff cannot be read or applied, or lacks modules because it was loaded without them."""


class ArgumentError(ByocLabError, TypeError):
    """An argument of a function has the wrong type; the message names the expected type."""


class StageIndexError(ByocLabError, IndexError):
    """A trace does not have a stage, or a stage does not have a rewrite."""


class PatternTranslationError(PassError):
    """A part of a Relay pattern has no counterpart in Relax."""

    advice = "Write the part with operators that Relax has, or the entry with tvm.relax.dpl"


class ConfigError(ByocLabError, AttributeError):
    """No pass knows a setting of a PassContext, or the setting has the wrong type."""


class PredicateError(PassError):
    """A predicate of a back end, or the check of one of its patterns, raised an exception (the
    `__cause__`)."""

    advice = "Return False, or Refused('why'), for calls that the predicate does not know"


class PartitionError(PassError):
    """PartitionGraph or MergeCompilerRegions stopped at malformed region annotations.

    `node` is the expression at fault, or None.
    """

    advice = (
        "byoc_lab.lint of the annotated module names the edge, and byoc_lab.fix repairs it where "
        "that can be proved"
    )

    def __init__(self, message: str, node: object = None):
        super().__init__(message)
        self.node = node


class EvaluationError(ByocLabError, RuntimeError):
    """An expression cannot be evaluated: an operator has no reference, or an input is wrong."""

    advice = (
        "Pass inputs of the types of @main's parameters; byoc_lab.build can compile operators "
        "that the NumPy reference lacks"
    )


class InputError(ByocLabError, ValueError):
    """An input is missing, superfluous, or has the wrong value, shape or dtype."""

    advice = (
        "Compare the found with the expected value; the inputs of a module have the names, shapes "
        "and dtypes of @main's parameters"
    )


class UnknownInputsError(ByocLabError):
    """Shapes or values of inputs are unknown, but must be known.

    shape: shapes of inputs by name, a proposal for `shape=` of an importer. freeze: values of
    inputs by name, a proposal for `freeze=`.
    """

    def __init__(
        self,
        message: str,
        shape: Mapping[str, Sequence[int]] | None = None,
        freeze: Mapping[str, Any] | None = None,
    ):
        super().__init__(message)
        self.shape = dict(shape or {})
        self.freeze = dict(freeze or {})


class UnknownLengthsError(UnknownInputsError, InputError):
    """Inputs cannot be generated, because some of their sizes are unknown."""

    advice = "Give the inputs, or their shapes: the importer's shape=, --shape on the command line"


class BuildError(ByocLabError, RuntimeError):
    """A module cannot be built or run: no translation, no code generator, a missing tool."""

    advice = (
        "If a code generator refuses an operator, leave it to the host (the predicate or the "
        "pattern's check refuses it), or use byoc_lab.build(fallback=True); else follow the message"
    )


class RegionError(ByocLabError, RuntimeError):
    """The code of a region failed, crashed, or did not end."""

    advice = (
        "Correct the code that the back end generates for the region; "
        "byoc_lab.build(mod, offload=False) runs the module without it"
    )


class OffloadError(ByocLabError, AssertionError):
    """A region did not run on its back end, although it should have."""

    advice = (
        "byoc_lab.explain(mod, back end) says why calls are not offloaded; the cards of the "
        "executable say where each region ran"
    )


class ValidationError(ByocLabError, AssertionError):
    """A result differs from the reference by more than its tolerance."""


class NativeExtensionError(ByocLabError, ImportError):
    """The compiled DNNL extension is missing or cannot be loaded."""

    advice = "byoc-lab doctor lists missing parts; without the extension NumPy computes the regions"


class MissingDependencyError(ByocLabError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""

    advice = "Run the command that the message names; byoc-lab doctor lists what is missing"


class ReductionError(ByocLabError, RuntimeError):
    """A predicate of `reduce` raised an exception (the `__cause__`) that is not an error of
    byoc_lab.

    `module` is the module for which the predicate was called.
    """

    def __init__(self, message: str, module: object = None):
        super().__init__(message)
        self.module = module


class TraceFileError(ByocLabError, ValueError):
    """A file is not a saved trace, is damaged, or has another version of the format."""


class RecordedError(ByocLabError, RuntimeError):
    """An error in a saved trace that is not an error class of byoc_lab; the message begins with its
    type."""


class ImporterError(ByocLabError, ValueError):
    """A file cannot be imported: no importer reads this kind of file, or its importer returned no
    module."""


class UnsupportedOperatorError(ImporterError):
    """An operator of a model cannot be imported; the message names operator, node and opset."""


class UnknownShapeError(UnknownInputsError, UnsupportedOperatorError):
    """A model cannot be imported because the sizes of its inputs are unknown."""


class UnknownValueError(UnknownInputsError, UnsupportedOperatorError):
    """A model cannot be imported unless values of some inputs, which are only given at run time,
    are known.

    inputs: the names of these inputs, for `from_onnx(freeze=)`.
    """

    def __init__(
        self, message: str, inputs: Iterable[str] = (), freeze: Mapping[str, Any] | None = None
    ):
        super().__init__(message, freeze=freeze)
        self.inputs = tuple(inputs)


class UnreadableFileError(ImporterError, OSError):
    """A file is missing or cannot be opened; the operating system's error is the `__cause__`."""


class UnsupportedNameError(ByocLabError, AttributeError):
    """A name of TVM that byoc_lab does not support."""


class UnsupportedModuleError(ByocLabError, ImportError):
    """A module of TVM, or a name imported from one, that byoc_lab does not support."""


class InterpretedWarning(UserWarning):
    """A program cannot be compiled and is evaluated by the NumPy reference instead."""


class UnsetInputWarning(UserWarning):
    """A graph module runs before all its inputs are set."""


class ElidedMetadataWarning(UserWarning):
    """A text has no metadata section; placeholders replace the missing values."""
