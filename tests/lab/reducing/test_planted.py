"""`reduce` on planted faults: the result has at most twice the operators of the smallest known
module.

Faults are planted in annotations (one of a valid module is removed), in passes (an operator is
replaced), in checks of a back end (an operator is refused) and in kernels.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import PythonRegion, registry
from byoc_lab.errors import InputError
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lab.linting import Severity, all_rules
from byoc_lab.lab.linting.edits import Remove
from byoc_lab.lab.linting.edits import edited as with_edits
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.visit import post_order
from tests.lab.checking.faults import FAULTS, Fault, places, planted
from tests.lab.checking.random_nets import random_net
from tests.lab.linting.random_annotated import random_module
from tests.lab.reducing.networks import operators

RULES = {rule.code: rule for rule in all_rules()}
# Names of faults, with the number of operators in the smallest module that shows a difference.
OF_PASSES = {
    "epsilon 1e-5 to 1e-3": 1, "batch norm without scale": 1, "batch norm without center": 1,
    "batch norm swaps gamma and beta": 1, "batch norm swaps mean and variance": 1,
    "dropped bias": 1, "bias rolled": 1, "stale constant": 1, "one weight zeroed": 1,
    "one weight negated": 1, "weights flipped": 1, "weights rolled": 1, "relu to leaky relu": 1,
    "dropped relu": 1, "clip 6 to 5.9": 1, "leaky slope 0.1 to 0.11": 1, "swapped operands": 1,
    "max pooling to average": 1, "softmax to log softmax": 1, "add to subtract": 1,
    "int8 weight +1": 1,
}  # fmt: skip


def removed_annotations() -> Iterator[tuple[IRModule, str]]:
    """Modules with a missing annotation, each with the code of the linter's error."""
    for seed in count():
        mod = random_module(seed)
        found = [n for n in post_order(mod["main"]) if is_annotation(n)]
        if not found:
            continue
        out = mod.copy()
        edit = Remove(random.Random(seed).choice(found))
        out["main"] = with_edits(mod["main"], [edit])
        out = relay.transform.InferType()(out)
        for code in sorted(
            {f.code for f in byoc_lab.lint(out).all if f.severity is Severity.ERROR}
        ):
            yield out, code


ANNOTATIONS = [pair for pair, _ in zip(removed_annotations(), range(12), strict=False)]


@pytest.mark.parametrize(("mod", "code"), ANNOTATIONS, ids=lambda value: str(value)[:6])
def test_missing_annotation_is_reduced_to_few_operators(mod: IRModule, code: str) -> None:
    smallest = min(len(operators(relay.parse(s.text))) for s in RULES[code].INVALID)
    found = byoc_lab.reduce(mod, f"finding:{code}")
    assert found.minimal and byoc_lab.lint(found.module).by_code(code)
    assert len(operators(found.module)) <= 2 * smallest
    assert found.passing is not None and code not in {f.code for f in byoc_lab.lint(found.passing)}


def changes_numbers(fault: Fault) -> Callable[[IRModule], bool]:
    """The predicate that a pass with a fault changes the outputs of a module."""
    faulty = planted(fault, 0)

    def predicate(mod: IRModule) -> bool:
        wrong = relay.transform.InferType()(faulty(mod))
        inputs = example_inputs(mod["main"], "wide")
        given = [inputs[p.name_hint] for p in mod["main"].params]
        a, b = (byoc_lab.evaluate(m, given, dtype="float64").outputs for m in (mod, wrong))
        with np.errstate(invalid="ignore"):
            return any(
                x.shape != y.shape or not np.allclose(x, y, 1e-4, 1e-4, equal_nan=True)
                for x, y in zip(a, b, strict=True)
            )

    return predicate


def network_for(name: str) -> tuple[IRModule, Callable[[IRModule], bool]]:
    """A random network whose results change with a fault."""
    predicate = changes_numbers(FAULTS[name])
    for seed in count():
        mod, _ = random_net(seed)
        if len(operators(mod)) > 6 and places(mod, FAULTS[name]) and predicate(mod):
            return mod, predicate
    raise AssertionError


@pytest.mark.parametrize("name", OF_PASSES)
def test_wrong_pass_is_reduced_to_few_operators(name: str) -> None:
    mod, predicate = network_for(name)
    found = byoc_lab.reduce(mod, predicate)
    assert found.minimal and predicate(found.module), str(found)
    assert len(operators(found.module)) <= 2 * OF_PASSES[name], str(found)
    assert found.passing is not None and not predicate(found.passing)


def _refuses(refused: Callable[[Call], bool]) -> Callable[[Call], bool]:
    return lambda call: not refused(call)


REFUSED: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "groups": ("nn.conv2d", lambda c: int(c.attrs.groups) > 1),
    "axis": ("nn.softmax", lambda c: int(c.attrs.axis) == 1),
    "rank": ("nn.relu", lambda c: len(c.checked_type.shape) == 4),
    "wide": ("sigmoid", lambda c: int(c.checked_type.shape[-1]) > 3),
}


@pytest.fixture
def mine() -> Iterator[str]:
    yield "mine"
    registry.unregister("mine")


@pytest.mark.parametrize("name", REFUSED)
def test_operator_that_a_check_refuses_is_the_only_one_left(name: str, mine: str) -> None:
    operator, refused = REFUSED[name]
    byoc_lab.backends.register(mine, supports={operator: _refuses(refused)})
    text = f"not-offloaded:{operator} on {mine}"
    for seed in count():
        mod, _ = random_net(seed)
        calls = [n for n in post_order(mod["main"]) if isinstance(n, Call) and n.is_op(operator)]
        if len(operators(mod)) > 6 and any(map(refused, calls)):
            break
    found = byoc_lab.reduce(mod, text)
    assert found.minimal and operators(found.module) == [operator], str(found)
    (left,) = (n for n in post_order(found.module["main"]) if isinstance(n, Call))
    assert refused(left)


WRONG: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    "relu of small values": ("nn.relu", lambda x: np.where(x > 0.1, x, 0).astype("float32")),
    "tanh of large values": ("tanh", lambda x: np.clip(x, -0.9, 0.9)),
    "first element": ("sigmoid", lambda x: np.where(x == x.flat[0], 0, 1 / (1 + np.exp(-x)))),
    "abs of the negative": ("abs", lambda x: np.maximum(x, 0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernel_is_reduced_to_few_operators(name: str, mine: str) -> None:
    operator, kernel = WRONG[name]

    def codegen(function: Function, symbol: str) -> PythonRegion:
        return PythonRegion(lambda x: np.asarray(kernel(x), "float32"))

    byoc_lab.backends.register(mine, supports=[operator], codegen=codegen)
    x = relay.var("x", shape=(2, 4))
    call = Call(relay.Op.get(operator), [relay.exp(relay.negative(x)) - relay.const(0.5)])
    mod = IRModule.from_expr(relay.nn.softmax(relay.exp(call) * x))
    found = byoc_lab.reduce(mod, f"wrong:{mine}", budget=300)
    left = operators(found.module)
    assert found.minimal and operator in left and len(left) <= 2, str(found)


def test_at_least_forty_faults_are_planted() -> None:
    assert len(ANNOTATIONS) + len(OF_PASSES) + len(REFUSED) + len(WRONG) >= 40


def test_missing_fault_raises_input_error() -> None:
    mod, _ = random_net(0)
    with pytest.raises(InputError):
        byoc_lab.reduce(mod, "finding:BYL002")
