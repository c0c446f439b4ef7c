"""Base classes of exercises: running an answer, and judging its result."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from string import Template
from types import MappingProxyType
from typing import Any, ClassVar

from byoc_lab.lessons import structure
from byoc_lab.lessons.needs import missing
from byoc_lab.lessons.verdict import Mistake, Verdict
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.seeds import checked_seed

__all__ = ["HIDDEN", "Exercise", "Mistake", "ModuleExercise", "Verdict"]

HIDDEN = (1009, 1013, 1019)
"""Seeds of further variants on which `check` runs an answer that is a function."""

# Hints for mistakes of any exercise, used if the exercise has no hint for them.
GENERAL: Mapping[str, str] = MappingProxyType(
    {
        "none": "A function without `return` returns None.",
        "kind": "Look at what the statement says an answer is, and print the type of yours.",
        "raised": "Call your function by itself and read the traceback from its last line up.",
        "misspelt": "The message has a name that is misspelt, not defined, or not imported.",
        "arguments": "A function is called with more or fewer arguments than it takes. If it is "
        "yours, give it the parameters that the statement asks for.",
        "types": "Shapes or dtypes disagree: look at the operands and the attributes of the calls "
        "that your answer makes. A call without call.attrs has the default attributes.",
        "network": "Change annotations only. Compare the operators of your module with those that "
        "you started from: byoc_lab.diff(mod, answer) shows it.",
        "partitioned": "Return the annotated module: the check runs PartitionGraph itself.",
        "default-only": 'AnnotateTarget annotates for "default", the host, if its target does not '
        "support an operator. Is the target spelled as in the statement?",
        "refused": "byoc_lab.lint(answer) says what PartitionGraph cannot work with.",
        "no-region": "Nothing is annotated with the compiler: print your module and look for "
        "compiler_begin and compiler_end.",
        "compiler": "Look at the compiler's name in each begin and end.",
        "too-many": "Regions are separate if an end and a begin are between them.",
        "too-few": "One region has what should be several, or some operators are in none.",
        "other-regions": "The number of regions is right; compare the operators in each.",
        "numbers": "The module runs, but its result differs: follow one value through it.",
    }
)

# Errors that show the same mistake in every exercise.
ERRORS: Mapping[str, str] = MappingProxyType(
    {
        r"\b(NameError|UnknownNameError|ImportError|ModuleNotFoundError): ": "misspelt",
        r"\bTypeError: [^\n]*positional argument": "arguments",
    }
)


class Exercise(ABC):
    """Base class of exercises: code to write, judged by its result and never by its text.

    One exercise is one file of `byoc_lab/lessons/exercises`; its class is found by discovery
    (`all_exercises()`). The docstring of the class is for teachers. Its solution and the typical
    wrong answers are in a file of the same name in `byoc_lab/lessons/solutions`.

    An answer is a function of the `question`, or the result of such a function. Only `respond` runs
    a student's code; `judge` examines the result.
    """

    name: ClassVar[str]
    """Lower-case words joined by hyphens; unique."""
    title: ClassVar[str]
    """One line for lists of exercises."""
    minutes: ClassVar[int] = 10
    """The minutes that most students need."""
    statement: ClassVar[str]
    """The task, in Markdown, for students, with `$word` for each of `words`."""
    stub: ClassVar[str] = "def answer(mod):\n    return mod\n"
    """The code from which students start: Python that defines `answer`, with `$word` as above."""
    shown: ClassVar[str] = "task.start()"
    """Python that shows the question at the top of the notebook."""
    mistakes: ClassVar[Mapping[str, str]] = {}
    """The hint for each typical mistake, by its key: at least five."""
    errors: ClassVar[Mapping[str, str]] = {}
    """Regular expressions for the error of an answer, with the key of the mistake that it shows;
    other errors are the mistake "raised"."""
    hints: ClassVar[tuple[str, str]] = ("", "")
    """The second and the third hint of any mistake; the third is not a solution."""
    only_functions: ClassVar[bool] = False
    """Whether the answer must be a function."""
    replaces: ClassVar[tuple[Callable[..., Any], ...]] = ()
    """Functions of byoc_lab that an answer must reimplement; the grader notes copies."""
    needs: ClassVar[str] = ""
    """Its requirement beyond the package, one of `needs.NEEDS`."""

    @abstractmethod
    def question(self, seed: int = 0) -> Any:
        """The input of an answer, in the variant of a seed."""

    def drawn(self, seed: int) -> Any:
        """The question in a form that pickle supports, for a process that must not know the
        seed."""
        return self.question(seed)

    def made(self, drawn: Any) -> Any:
        """The question from the result of `drawn`."""
        return drawn

    def words(self, seed: int) -> Mapping[str, str]:
        """The words of the statement and the stub that differ between variants."""
        return {}

    def statement_of(self, seed: int = 0) -> str:
        """The statement in the variant of a seed."""
        return Template(self.statement).substitute(self.words(seed))

    def stub_of(self, seed: int = 0) -> str:
        """The stub in the variant of a seed."""
        return Template(self.stub).substitute(self.words(seed))

    @abstractmethod
    def judge(self, seed: int, reply: Any) -> Mistake | None:
        """The mistake in a reply to the variant of a seed; None if the reply is right. The reply
        may be any value."""

    def respond(self, answer: Any, question: Any) -> Any:
        """The reply of an answer to a question: its result if it is a function, else the answer
        itself. Raises the exceptions of the function."""
        return answer(question) if self.is_function(answer) else answer

    def is_function(self, answer: Any) -> bool:
        """Whether an answer is a function, not a result."""
        return callable(answer) and not isinstance(answer, (Expr, IRModule))

    def varies(self, answer: Any) -> bool:
        """Whether an answer can be run on variants that the student has not seen."""
        return self.is_function(answer)

    def check(self, answer: Any, seed: int = 0, hidden: Sequence[int] = HIDDEN) -> Verdict:
        """Grade an answer. It may be any value; a wrong answer raises nothing."""
        if (missing := self.missing()) is not None:
            return Verdict(False, (missing,), judged=False)
        if self.only_functions and not self.is_function(answer):
            return self.verdict(
                Mistake("kind", f"expected a function, found {type(answer).__name__}")
            )
        seeds = (seed, *hidden) if self.varies(answer) else (seed,)
        for each in seeds:
            try:
                reply = self.respond(answer, self.question(each))
            except (Exception, SystemExit) as error:
                return self.verdict(self.raised(f"{type(error).__name__}: {error}"), each != seed)
            mistake = self.judge(each, reply)
            if mistake is not None:
                return self.verdict(mistake, each != seed)
        return self.verdict(None, tried=len(seeds))

    def missing(self) -> str | None:
        """Why an answer cannot be judged on this machine; None if it can."""
        return missing(self.needs) if self.needs else None

    def raised(self, error: str) -> Mistake:
        """The mistake of an answer that raises an error."""
        if error.startswith("SystemExit"):
            told = "your answer ended Python with SystemExit, as `sys.exit()` does"
            return Mistake("raised", f"{told}; return a value")
        kinds = {**ERRORS, **self.errors}
        key = next((key for pattern, key in kinds.items() if re.search(pattern, error)), "raised")
        return Mistake(key, f"running your answer raised {error}")

    def verdict(self, mistake: Mistake | None, hidden: bool = False, tried: int = 1) -> Verdict:
        """The verdict for a mistake, or for none. hidden: whether the mistake is in a variant that
        is not shown. tried: the number of variants for which the answer is right."""
        if mistake is None:
            more = f", and for {tried - 1} variants that you have not seen" if tried > 1 else ""
            return Verdict(True, (f"your answer is right for what the task gives{more}",))
        hint = self.hint_of(mistake.key) or (
            "The linter's message names the call and the cause; start there."
        )
        note = ("your answer is right for the variant that you see, but not for another one",)
        return Verdict(
            False,
            (*(note if hidden else ()), mistake.message),
            mistake.key,
            (hint, *self.hints),
            mistake.picture,
        )

    def hint_of(self, key: str) -> str:
        """The first hint for a kind of mistake; empty if the exercise has no hint for it."""
        return self.mistakes.get(key) or GENERAL.get(key, "")

    def with_seed(self, seed: int) -> Variant:
        """The exercise in the variant of one student."""
        return Variant(self, seed)

    def __repr__(self) -> str:
        return f"<exercise {self.name}: {self.title}>"

    def _repr_markdown_(self, seed: int = 0) -> str:
        needed = f"\nIt needs {self.needs}.\n" if self.needs else ""
        return f"### {self.title}\n{needed}\n{self.statement_of(seed)}"


class ModuleExercise(Exercise):
    """An exercise whose answer is an annotated module, or a function that annotates one."""

    regions: ClassVar[tuple[structure.RegionShape, ...]] = ()
    """The regions of a right answer's partition, if they are the same in all variants."""

    @abstractmethod
    def plain(self, seed: int = 0) -> IRModule:
        """The typed network without annotations, to which answers are compared."""

    def start(self, seed: int = 0) -> IRModule:
        """The module that students start from."""
        return self.plain(seed)

    def question(self, seed: int = 0) -> IRModule:
        return self.start(seed)

    def regions_of(self, seed: int) -> Sequence[structure.RegionShape]:
        """The expected regions in the variant of a seed."""
        return self.regions

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        return structure.first(
            structure.annotated(reply, self.plain(seed), self.regions_of(seed), seed)
        )


class Variant:
    """An exercise with the seed of one student: `start()` is its module, `check(answer)` grades."""

    def __init__(self, exercise: Exercise, seed: int = 0):
        self.exercise, self.seed = exercise, checked_seed("exercise", seed)

    @cached_property
    def _question(self) -> Any:
        return self.exercise.question(self.seed)

    def start(self) -> Any:
        """The input of an answer: for most exercises, a module. If a requirement of the exercise is
        missing: a verdict that says so."""
        return self._question if self.exercise.missing() is None else self.check(None)

    def check(self, answer: Any) -> Verdict:
        """Grade an answer."""
        return self.exercise.check(answer, self.seed)

    def __repr__(self) -> str:
        return repr(self.exercise)

    def _repr_markdown_(self) -> str:
        return inspect.cleandoc(self.exercise._repr_markdown_(self.seed))
