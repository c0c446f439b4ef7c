"""`explain_patterns` of a table for FuseOpsByPattern: the status of each entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, wildcard
from tvm.relax.transform import FusionPattern

import byoc_lab
from byoc_lab.errors import ArgumentError, PassError, PredicateError, UnknownNameError
from byoc_lab.relax.patterns import report
from tests.plain_cells import plain

from ..tracing.networks import SMALL, dataflow, tensor, tvm

CONV = is_op("relax.nn.conv2d")(wildcard(), wildcard())
RELU = is_op("relax.nn.relu")(wildcard())
BIAS = is_op("relax.add")(CONV, wildcard())


def statuses(table: list[Any], mod: Any = SMALL) -> list[str]:
    return [entry.status for entry in byoc_lab.explain_patterns(table, mod)]


def test_each_entry_has_its_status() -> None:
    table = [
        ("a.bias", BIAS),
        FusionPattern("a.relu", RELU),
        ("a.conv", CONV),  # in a.bias
        ("a.erf", is_op("relax.erf")(wildcard()), {}, lambda context: False),
        ("a.conv_relu", is_op("relax.nn.relu")(CONV)),
    ]
    report = byoc_lab.explain_patterns(table, SMALL)
    assert [e.status for e in report] == ["matches", "matches", "shadowed", "refused", "never"]
    assert report["a.conv"].alone == 1 and report["a.conv"].shadowed_by == ("a.bias",)
    assert "check" in report["a.erf"].reason
    assert "found a call of add" in report["a.conv_relu"].reason
    assert "<td>a.conv_relu</td><td>never</td>" in plain(report._repr_html_())


def test_match_that_is_not_fused_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: dict[str, Counter[str]] = defaultdict(Counter)
    monkeypatch.setattr(report, "composites", lambda entries, mods: nothing)
    (entry,) = byoc_lab.explain_patterns([("a.relu", RELU)], SMALL)
    assert entry.status == "never" and entry.reason.endswith("creates no composite for it")


def test_pattern_never_matches_outside_of_a_dataflow_block() -> None:
    relax = tvm.relax
    x = relax.Var("x", tensor((1, 8)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    (entry,) = byoc_lab.explain_patterns([("a.relu", RELU)], builder.get())
    assert entry.status == "never" and "not in a dataflow block" in entry.reason


def test_unbound_constant_is_reported() -> None:
    wanted = [("a.const", is_op("relax.nn.conv2d")(wildcard(), is_const()))]
    (entry,) = byoc_lab.explain_patterns(wanted, SMALL)
    assert entry.miss.unbound and entry.miss.call.variable == "a"
    bound = tvm.relax.transform.BindParams("main", {"w": _weights()})(SMALL)
    assert statuses(wanted, bound) == ["matches"]


def _weights() -> Any:
    import numpy as np

    return np.ones((4, 3, 3, 3), "float32")


def test_malformed_entry_is_refused() -> None:
    with pytest.raises(ArgumentError, match="an entry of a pattern table is"):
        byoc_lab.explain_patterns([CONV], SMALL)


def test_entries_with_equal_names_are_reported_separately() -> None:
    """TensorRT's and CUTLASS's tables repeat names."""
    table = [("a.x", is_op("relax.nn.gelu")(wildcard())), ("a.x", RELU), FusionPattern("a.x", BIAS)]
    report = byoc_lab.explain_patterns(table, SMALL)
    assert [(e.name, e.status) for e in report] == [
        ("a.x", "never"), ("a.x", "matches"), ("a.x", "matches")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (is_op("relax.nn.relu"), "an operator, not a call of it"),
        (is_tuple_get_item(wildcard(), 0), "field 0 of anything"),
        (is_tuple([wildcard()]) | is_const(), "a tuple of 1 or a constant"),
    ],
)
def test_pattern_whose_root_is_not_a_call_never_matches(root: Any, said: str) -> None:
    (entry,) = byoc_lab.explain_patterns([("a.x", root)], SMALL)
    assert entry.status == "never"
    assert entry.reason == (
        f"FuseOpsByPattern tries a pattern only at calls, and the root of the pattern is {said}"
    )


def test_existing_operator_is_never_reported_as_missing() -> None:
    called = ("nn.conv2d", "add", "nn.relu", "erf")
    first, other = (is_op(f"relax.{name}") for name in ("nn.relu", "add"))
    tables = [first(), first(wildcard(), wildcard()), first(wildcard()) & other(CONV, wildcard())]
    tables += [first(wildcard()).has_dtype("int8"), first(is_const()), first(CONV)]
    for pattern in tables:
        (entry,) = byoc_lab.explain_patterns([("a.x", pattern)], SMALL)
        assert entry.status == "never"
        assert not any(f"has no call of {name}" in entry.reason for name in called), entry.reason


def test_entry_for_which_tvm_fails_does_not_hide_the_others() -> None:
    """A bound tuple between two calls is in no match, so the groups have a cycle."""

    def body(emit: Any, x: Any) -> Any:
        relax = tvm.relax
        fields = emit(relax.Tuple([emit(relax.op.nn.relu(x)), emit(relax.op.tanh(x))]))
        return emit(relax.op.concat(fields, axis=1))

    relu, tanh = (is_op(f"relax.{name}")(wildcard()) for name in ("nn.relu", "tanh"))
    concat = is_op("relax.concat")(is_tuple([relu, tanh]))
    table = [("a.concat", concat), ("a.tanh", tanh), ("a.again", tanh)]
    failing, found, shadowed = byoc_lab.explain_patterns(table, dataflow(body))
    assert failing.status == "never" and "A cyclic dependency detected" in failing.reason
    assert "write it into the call instead of binding it" in failing.reason
    assert (found.status, found.reason) == ("matches", "1 composite")
    assert (shadowed.status, shadowed.shadowed_by) == ("shadowed", ("a.tanh",))


def test_match_that_leaves_a_variable_unbound_is_no_composite() -> None:
    """FuseOpsByPattern calls the composite after the tuple that needs a value inside it."""

    def body(emit: Any, x: Any) -> Any:
        op = tvm.relax.op
        inner = emit(op.tanh(x))
        joined = emit(op.concat(emit(tvm.relax.Tuple([inner, x])), 0))
        half = emit(tvm.relax.TupleGetItem(emit(op.split(joined, 2, 0)), 0))
        return emit(op.add(half, emit(op.nn.relu(emit(op.multiply(half, inner))))))

    multiplied = is_op("relax.multiply")(is_op("relax.tanh")(wildcard()), wildcard())
    table = [("a.multiply", multiplied), ("a.relu", RELU)]
    mod = dataflow(body)
    fused = tvm.relax.transform.FuseOpsByPattern(table)(mod)
    assert tvm.relax.analysis.free_vars(fused["main"])
    failing, found = byoc_lab.explain_patterns(table, mod)
    assert failing.status == "never" and "which nothing in it binds any more" in failing.reason
    assert (found.status, found.reason) == ("matches", "1 composite")


def test_refused_match_at_which_fusing_would_fail_is_reported_as_refused() -> None:
    """Without the check, the composite would need the result of the relu, which needs it."""

    def body(emit: Any, x: Any) -> Any:
        product = emit(tvm.relax.op.matmul(x, x))
        return emit(tvm.relax.op.add(product, emit(tvm.relax.op.nn.relu(product))))

    added = is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())
    table = [("a.relu", RELU), ("a.add", added, {}, lambda context: False)]
    mod = dataflow(body, (4, 4))
    assert statuses(table, mod) == ["matches", "refused"]
    with pytest.raises(PassError, match="cyclic dependency"):
        report.composites([e.unchecked for e in report.entries_of(table[1:])], [mod])


def test_equal_matches_are_one_composite_with_several_calls() -> None:
    def body(emit: Any, x: Any) -> Any:
        relu = tvm.relax.op.nn.relu
        return emit(tvm.relax.op.add(emit(relu(emit(relu(x)))), x))

    (entry,) = byoc_lab.explain_patterns([("a.relu", RELU)], dataflow(body))
    assert (entry.reason, entry.matches) == ("1 composite, called 2 times", 2)


def test_raising_check_raises_predicate_error() -> None:
    table = [("a.relu", RELU, {}, lambda context: [][0])]
    with pytest.raises(PredicateError, match=r"check of pattern a\.relu raised IndexError: list"):
        byoc_lab.explain_patterns(table, SMALL)


def test_explain_patterns_takes_several_modules_and_names_of_back_ends() -> None:
    table = [("a.relu", RELU)]
    (once,), (twice,) = (byoc_lab.explain_patterns(table, m) for m in (SMALL, [SMALL, SMALL]))
    assert (once.reason, twice.reason) == ("1 composite", "2 composites")
    named = byoc_lab.explain_patterns("dnnl", SMALL)
    assert named["dnnl.conv2d"].status == "matches"
    with pytest.raises(UnknownNameError, match="no back end of Relax is named"):
        byoc_lab.explain_patterns("nobody", SMALL)


@pytest.mark.parametrize("leaks", [True, False])
def test_value_used_outside_the_match_is_named(leaks: bool) -> None:
    """A run confirms it: a check that refuses for another reason gets another explanation."""
    op = tvm.relax.op

    def body(emit: Any, x: Any) -> Any:
        first = emit(op.tanh(x))
        return emit(op.multiply(emit(op.nn.relu(first)), first))

    def check(context: Any) -> bool:
        return leaks and not has_leaking_intermediate_variables(context)

    table = [("a.both", is_op("relax.nn.relu")(is_op("relax.tanh")(wildcard())), {}, check)]
    (entry,) = byoc_lab.explain_patterns(table, dataflow(body))
    assert entry.status == "refused"
    told = "%lv is inside the match, and %lv2 uses it, too; without that use it accepts"
    assert (told in entry.reason) == leaks
