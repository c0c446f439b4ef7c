"""Operators, functions and calls compared with TVM 0.16 (golden/operators.json)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import byoc_lab.compat.op  # noqa: F401 - support levels, and operators that only scripts use
from byoc_lab import relay
from byoc_lab.backends.dnnl.operators import OPERATORS as OPERATORS_OF_DNNL
from byoc_lab.backends.dnnl.quantized import PRODUCTS
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import IRModule, Op
from byoc_lab.relay.ir.attrs import ATTRS_TYPES
from byoc_lab.relay.op import OpPattern
from byoc_lab.relay.op.framework.precision import MixedPrecision
from byoc_lab.relay.typing.infer import infer_module
from tests.parity.facts.operators import OPERATORS, hole_of, printed
from tests.parity.goldens.files import golden_path
from tests.relay.op.holes import holes
from tests.relay.op.left_out import FUNCTIONS, LEFT_OUT, OTHERWISE, SOLVED, STRICTER

FACTS: dict[str, dict[str, Any]] = json.loads(golden_path(OPERATORS).read_text(encoding="utf-8"))

HOLES = holes()
CALLS: dict[str, list[str]] = {}
"""The calls, by the function that they call."""
for _call in FACTS["calls"]:
    CALLS.setdefault(_call.partition("(")[0], []).append(_call)
EXTENDED = {f"qnn.op.{name}" for name in ("quantize", "add", "subtract", "mul")}
BEYOND_TVM = {f.name for ty in ATTRS_TYPES.values() for f in ty.fields if f.beyond_tvm}


def as_tvm(function: Callable[..., Any], name: str) -> str:
    """The signature of a function, without annotations and without final parameters of `name`
    that only byoc_lab has."""
    parameters = list(inspect.signature(function).parameters.values())
    while name in EXTENDED and parameters[-1].name in BEYOND_TVM:
        parameters.pop()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(bare))


def reason(name: str, reasons: dict[str, str] = LEFT_OUT) -> str | None:
    """The reason why byoc_lab lacks an operator or function of TVM, by its name or a prefix."""
    if name in reasons:
        return reasons[name]
    beginnings = (start for start in reasons if start.endswith((".", "_")))
    return next((reasons[start] for start in beginnings if name.startswith(start)), None)


@pytest.mark.parametrize("name", FACTS["operators"])
def test_operator_equals_tvm_s_or_is_left_out_for_a_reason(name: str) -> None:
    if name not in Op.list_op_names():
        assert reason(name), f"{name} is neither defined nor in left_out.py"
        return
    assert not reason(name), f"{name} is defined: take it out of left_out.py"
    wanted, op = FACTS["operators"][name], Op.get(name)
    assert op.attrs_type_key == wanted["attrs"]
    # TVM has no pattern for some norms, so its FuseOps refuses them; byoc_lab treats them as
    # opaque.
    opaque = int(OpPattern.OPAQUE)
    pattern = wanted["TOpPattern"]
    assert op.get_attr("TOpPattern") == (opaque if pattern is None else pattern)
    assert bool(op.get_attr("TNonComputational")) == bool(wanted["TNonComputational"])
    assert bool(op.get_attr("TOpIsStateful")) == bool(wanted["TOpIsStateful"])
    assert op.support_level == wanted["support_level"]
    kind = op.definition.fake_quantized
    rewritten = None if kind is None else "if asked" if kind.optional else "always"
    assert rewritten == wanted.get("fake_quantized")


def test_byoc_lab_and_tvm_agree_on_operators_worth_a_dnnl_region() -> None:
    """Except quantized operators: TVM has no such list of them."""
    ours = {name for name, operator in OPERATORS_OF_DNNL.items() if operator.compute_intensive}
    theirs = {name for name, facts in FACTS["operators"].items() if facts.get("compute_intensive")}
    assert ours == theirs | set(PRODUCTS)


@pytest.mark.parametrize("name", OPERATORS_OF_DNNL)
def test_operator_that_mixed_precision_always_narrows_is_worth_a_region(name: str) -> None:
    operator, category = OPERATORS_OF_DNNL[name], Op.get(name).definition.mixed_precision
    if operator.offered and category is MixedPrecision.ALWAYS:
        assert operator.compute_intensive


def test_every_operator_exists_in_tvm() -> None:
    ours = {name for name in Op.list_op_names() if not name.startswith("test.")}
    assert ours <= FACTS["operators"].keys()


@pytest.mark.parametrize("name", FACTS["signatures"])
def test_function_has_the_signature_of_tvm_or_is_left_out(name: str) -> None:
    home: Any = relay
    *path, word = name.split(".")
    for part in path:
        home = getattr(home, part, None)
    function = getattr(home, word, None)
    if reason(name, FUNCTIONS):
        own = name in ("qnn.op.leaky_relu", "qnn.op.requantize_config")
        assert (function is None) != own, f"{name} is there: take it out of left_out.py"
        return
    assert function is not None, f"relay.{name} is missing"
    assert as_tvm(function, name) == FACTS["signatures"][name]


@pytest.mark.parametrize("function", CALLS)
def test_calls_are_typed_and_printed_as_by_tvm(function: str) -> None:
    def infer(function: relay.Function) -> IRModule:
        return infer_module(IRModule.from_expr(function))

    for call in CALLS[function]:
        wanted = FACTS["calls"][call]
        if wanted is None or call in STRICTER:
            with pytest.raises((ByocLabError, ValueError)) as caught:
                printed(relay, np, infer, call)
            assert "found" in str(caught.value) or len(str(caught.value)) > 30, call
        else:
            found = printed(relay, np, infer, call)
            assert (found == wanted) == (call not in OTHERWISE), (call, found)


def test_argument_without_a_type_gets_the_type_of_tvm() -> None:
    found = {name: solved(text) for name, text in HOLES.items()}
    assert {name: found[name] for name in found if name not in SOLVED} == {
        name: wanted for name, wanted in FACTS["holes"].items() if name not in SOLVED
    }
    for name in SOLVED:
        assert found[name] is not None and FACTS["holes"][name] is None, name


def solved(text: str) -> str | None:
    """The inferred type of the argument of a call that has none; None if it is not determined."""
    try:
        main = infer_module(relay.parse(text, infer=False))["main"]
    except ByocLabError:
        return None
    return str(main.params[hole_of(text)].checked_type)
