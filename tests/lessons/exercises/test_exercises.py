"""Every exercise: right answers pass, each typical mistake gets its hint, and nothing raises."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import relay, transform
from byoc_lab.backends.system_compiler import compiler_command
from byoc_lab.errors import UnknownNameError
from byoc_lab.lessons import check
from byoc_lab.lessons import exercise as exercise_of
from byoc_lab.lessons.exercises import Exercise, all_exercises, get
from byoc_lab.lessons.exercises.base import GENERAL
from byoc_lab.lessons.needs import C_COMPILER, TVM
from byoc_lab.lessons.solutions import solution, source, wrong_source
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.annotations import begin
from byoc_lab.relay.patterns import is_op, wildcard
from tests.sweeps import some


def _marks(exercise: Exercise) -> list[pytest.MarkDecorator]:
    """The marks that skip an exercise if this machine lacks what it needs."""
    lacking = {TVM: find_spec("tvm") is None, C_COMPILER: not compiler_command()}
    needed = lacking.get(exercise.needs, False)
    return [pytest.mark.skipif(needed, reason=f"it needs {exercise.needs}")]


def _seeds() -> list[object]:
    return [
        pytest.param(
            exercise, seed, id=f"{exercise.name}-{seed}",
            marks=[*_marks(exercise), *[pytest.mark.slow] * (exercise.name in SLOW and seed > 0)],
        )
        for exercise in all_exercises()
        for seed in SEEDS
    ]  # fmt: skip


exercises = pytest.mark.parametrize(
    "exercise", [pytest.param(e, id=e.name, marks=_marks(e)) for e in all_exercises()]
)
SEEDS = (0, 3)
X = relay.var("x", shape=(2, 3))
SLOW = ("c-kernel", "port-to-relax")
"""Exercises that start a compiler or import apache-tvm: one seed is for the slow tests."""


def test_exercises_are_found_by_name() -> None:
    assert get("add-the-missing-begin") in all_exercises()
    with pytest.raises(UnknownNameError, match="did you mean 'add-the-missing-begin'"):
        get("add-missing-begin")
    with pytest.raises(UnknownNameError):
        check("annotate-a-diamond", None)


@exercises
def test_exercise_states_its_task(exercise: Exercise) -> None:
    module = type(exercise).__module__.rpartition(".")[2]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", exercise.name)
    assert module == exercise.name.replace("-", "_")
    assert exercise.title and exercise.statement and type(exercise).__doc__
    assert exercise.title in exercise._repr_markdown_()
    defined = {
        getattr(node, "name", None) or getattr(node.targets[0], "id", None)  # type: ignore[attr-defined]
        for node in ast.parse(exercise.stub_of()).body
        if isinstance(node, (ast.FunctionDef, ast.Assign))
    }
    assert "answer" in defined and not {"check", "exercise", "task"} & defined


@pytest.mark.parametrize(("exercise", "seed"), _seeds())
def test_solution_passes(exercise: Exercise, seed: int) -> None:
    verdict = exercise_of(exercise.name, seed).check(solution(exercise.name).answer)
    assert verdict.passed, str(verdict)


@exercises
def test_stub_does_not_pass(exercise: Exercise) -> None:
    namespace: dict[str, object] = {}
    exec(exercise.stub_of(), namespace)
    assert not check(exercise.name, namespace["answer"])


@exercises
def test_at_least_five_typical_mistakes_have_separate_hints(exercise: Exercise) -> None:
    wrong = solution(exercise.name).WRONG
    assert len(wrong) >= 5
    hints = [exercise.mistakes[key] for key in wrong]
    assert len(set(hints)) == len(hints)
    assert not set(hints) & set(GENERAL.values())
    assert exercise.mistakes.keys() == wrong.keys()


@pytest.mark.parametrize(("exercise", "seed"), _seeds())
def test_typical_mistake_gets_its_hint(exercise: Exercise, seed: int) -> None:
    for key, answer in solution(exercise.name).WRONG.items():
        verdict = check(exercise.name, answer, seed)
        assert (verdict.passed, verdict.mistake) == (False, key), str(verdict)
        assert verdict.hints == (exercise.mistakes[key], *exercise.hints)
        assert all(verdict.hints) and len(verdict.hints) == 3
        assert exercise.mistakes[key] in str(verdict)


def _keys(exercise: Exercise) -> Iterator[str]:
    """The keys of mistakes that the module of an exercise writes."""
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[type(exercise).__module__]))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Mistake":
            key = node.args[0]
            for each in (key.body, key.orelse) if isinstance(key, ast.IfExp) else (key,):
                if isinstance(each, ast.Constant):
                    yield each.value


@exercises
def test_each_key_of_a_mistake_has_a_hint(exercise: Exercise) -> None:
    assert not [key for key in _keys(exercise) if not exercise.hint_of(key)]


def check_with(accepts: Callable[[relay.Call], bool]) -> list[Any]:
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    root = is_op("nn.relu")(is_op("add")(conv, wildcard()))
    return [("edu.conv2d_bias_relu", root, accepts)]


def _annotated(target: str) -> Callable[[IRModule], IRModule]:
    steps = [transform.InferType(), transform.AnnotateTarget(target), transform.InferType()]
    return transform.Sequential(steps)


def _partitioned(mod: IRModule) -> IRModule:
    return transform.PartitionGraph()(_annotated("edu")(transform.ToGraphNormalForm()(mod)))


@pytest.mark.parametrize(
    ("name", "answer", "key"),
    [
        ("order-the-passes", lambda names: undefined, "misspelt"),  # noqa: F821
        ("order-the-passes", lambda: [], "arguments"),
        ("order-the-passes", [transform.FoldConstant()], "kind"),
        ("write-conv-bias-relu", lambda: [("edu.x", is_op("relu"))], "misspelt"),
        ("write-conv-bias-relu", lambda mod: [], "arguments"),
        ("write-conv-bias-relu", ["edu.conv2d_bias_relu"], "kind"),
        ("commutative-bias", lambda: [("edu.conv2d_bias", is_op("add"), "check")], "kind"),
        ("commutative-bias", lambda: [][0], "raised"),
        ("residual-is-not-bias", lambda: check_with(lambda call: undefined), "misspelt"),  # noqa: F821
        ("write-a-predicate", lambda call: undefined, "misspelt"),  # noqa: F821
        ("write-a-predicate", lambda call: call.args[7], "raised"),
        ("numpy-codegen", lambda function: lambda: 0, "arguments"),
        ("annotate-diamond", _annotated("EDU"), "default-only"),
        ("let-program", _annotated("EDU"), "default-only"),
        ("annotate-diamond", _partitioned, "partitioned"),
        ("halve-the-bytes", transform.PartitionGraph(), "partitioned"),
        ("let-program", _partitioned, "partitioned"),
        (
            "let-program",
            lambda mod: IRModule.from_expr(relay.add(X, relay.const([1.0, 2.0]))),
            "types",
        ),
        ("let-program", lambda mod: IRModule.from_expr(begin(X, "edu")), "BYL002"),
    ],
)
def test_mistake_of_any_exercise_gets_a_hint_that_is_true_of_it(
    name: str, answer: object, key: str
) -> None:
    verdict = check(name, answer)
    assert (verdict.passed, verdict.mistake) == (False, key), str(verdict)
    assert all(verdict.hints)


@exercises
def test_hints_contain_no_line_of_the_solution(exercise: Exercise) -> None:
    lines = {line.strip() for line in source(exercise.name).splitlines() if len(line.strip()) > 25}
    told = [*exercise.hints, *exercise.mistakes.values(), exercise.statement_of()]
    lines -= {line.strip() for line in exercise.stub_of().splitlines()}
    assert not [line for line in lines for text in told if line in text]


@exercises
@pytest.mark.parametrize(
    "answer",
    [None, 3.5, "text", IRModule(), [], lambda *a: None],
    ids=["none", "number", "text", "module", "list", "function"],
)
def test_invalid_answers_fail_without_an_exception(exercise: Exercise, answer: object) -> None:
    verdict = exercise.check(answer)
    assert not verdict.passed and verdict.messages


@exercises
def test_solution_sources_equal_the_solution_modules(exercise: Exercise) -> None:
    """Notebooks contain the text, which must run by itself."""
    right: dict[str, object] = {}
    exec(source(exercise.name), right)
    assert callable(right["answer"]) or right["answer"] is not None
    assert "WRONG" not in right
    first = next(iter(solution(exercise.name).WRONG))
    wrong: dict[str, object] = {}
    exec(wrong_source(exercise.name, first), wrong)
    assert check(exercise.name, wrong["answer"]).mistake == first


def test_code_that_students_use_does_not_import_the_solutions() -> None:
    root = Path(inspect.getfile(IRModule)).parents[2]
    users = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "lessons.solutions" in path.read_text(encoding="utf-8") and "solutions" not in path.parts
    ]
    assert set(users) <= {"lessons/grading/notebooks.py"}, users


@pytest.mark.slow
@pytest.mark.parametrize("exercise", [e for e in all_exercises() if e.name not in SLOW], ids=repr)
def test_every_variant_can_be_solved_and_detects_mistakes(exercise: Exercise) -> None:
    answers = solution(exercise.name)
    for seed in range(some(24)):
        verdict = exercise.check(answers.answer, seed, hidden=())
        assert verdict, (seed, str(verdict))
        for key, answer in answers.WRONG.items():
            assert exercise.check(answer, seed, hidden=()).mistake == key, seed
