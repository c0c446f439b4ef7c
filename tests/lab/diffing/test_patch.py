"""`apply(diff(a, b), a)` is structurally equal to b, also if the diff is saved as JSON."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, DiffError, PassError
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.diffing.fingerprint import fingerprint
from byoc_lab.relay import IRModule, assert_structural_equal
from tests import strategies
from tests.sweeps import some

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32]) {
  add(%x, %x)
}"""


def check(before: IRModule, after: IRModule) -> None:
    made = byoc_lab.diff(before, after)
    assert_structural_equal(byoc_lab.apply(made, before), after)
    saved = Diff.from_json(made.to_json())
    assert_structural_equal(saved.apply(before), after)
    assert saved.summary == made.summary


@settings(max_examples=some(60))
@given(mod=strategies.modules(), other=strategies.modules())
def test_diffs_of_random_modules_can_be_applied(mod: IRModule, other: IRModule) -> None:
    check(mod, other)
    check(mod, mod)


@pytest.mark.slow
@settings(max_examples=some(40))
@given(mod=strategies.modules())
def test_diff_of_every_pass_on_random_modules_can_be_applied(mod: IRModule) -> None:
    passes = ["SimplifyInference", "FoldConstant", "ToANormalForm", "ToGraphNormalForm"]
    stages = [*byoc_lab.trace(mod, "dnnl"), *byoc_lab.trace(mod, passes)]
    for stage in stages:
        if stage.after is not None:
            check(stage.before, stage.after)
            check(stage.after, stage.before)


def _renamed() -> tuple[IRModule, IRModule]:
    return relay.parse(TEXT), relay.parse(TEXT.replace("%x", "%other"))


def test_diff_can_be_applied_to_any_structurally_equal_module() -> None:
    before, same = _renamed()
    after = relay.parse(TEXT.replace("add", "multiply"))
    made = byoc_lab.diff(before, after)
    for each in (made, Diff.from_json(made.to_json())):
        assert_structural_equal(each.apply(same), after)


def test_diff_refuses_to_apply_to_a_different_module() -> None:
    before, _ = _renamed()
    after = relay.parse(TEXT.replace("add", "multiply"))
    made = byoc_lab.diff(before, after)
    for each in (made, Diff.from_json(made.to_json())):
        with pytest.raises(
            DiffError, match="not structurally equal to the first module of the diff"
        ):
            byoc_lab.apply(each, after)
        with pytest.raises(PassError, match="apply takes a Diff and a module or function, found"):
            each.apply(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="apply takes a Diff"):
        byoc_lab.apply(before, before)  # type: ignore[arg-type]


def test_applied_diff_keeps_unchanged_nodes_as_the_same_objects() -> None:
    """As after a pass, an unchanged subtree is the same object."""
    x = relay.var("x", shape=(2, 2))
    deep = relay.exp(relay.tanh(relay.add(x, relay.const([[1.0, 2.0], [3.0, 4.0]]))))
    before = relay.transform.InferType()(IRModule.from_expr(relay.Function([x], deep)))
    after = IRModule.from_expr(relay.Function([x], relay.abs(deep)))
    made = byoc_lab.diff(before, after)
    (result,) = made.apply(before).functions.values()
    assert result.body.args[0] is before["main"].body
    saved = Diff.from_json(made.to_json())
    (result,) = saved.apply(before).functions.values()
    assert result.body.args[0] is before["main"].body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a saved diff is JSON"),
        ("[]", "not a saved diff"),
        ('{"kind": "trace"}', "not a saved diff"),
        ('{"kind": "diff", "schema": 7}', "schema 7, this version reads 1"),
        ('{"kind": "diff", "schema": 1}', "not complete"),
        (
            '{"kind": "diff", "schema": 1, "equal": true, "changes": [], "patch": {"module": 1}}',
            "cannot be read",
        ),
    ],
)
def test_invalid_json_of_a_diff_is_refused(text: str, message: str) -> None:
    with pytest.raises(DiffError, match=message):
        Diff.from_json(text)


def test_loaded_diff_needs_the_module_for_its_rows() -> None:
    before, _ = _renamed()
    saved = Diff.from_json(
        byoc_lab.diff(before, relay.parse(TEXT.replace("add(%x, %x)", "exp(%x)"))).to_json()
    )
    assert str(saved).splitlines()[0] == "1 call added, 1 call removed"
    with pytest.raises(DiffError, match=r"saved\.apply\(mod\)"):
        saved.rows()


def test_diff_with_a_free_variable_cannot_be_saved() -> None:
    x, free = relay.var("x", shape=(2, 2)), relay.var("free", shape=(2, 2))
    before = IRModule.unchecked(relay.Function([x], relay.abs(x)))
    after = IRModule.unchecked(relay.Function([x], relay.add(x, free)))
    made = byoc_lab.diff(before, after)
    assert_structural_equal(made.apply(before), after)
    with pytest.raises(DiffError, match=r"free variables \(%free\)"):
        made.to_json()


def test_equal_fingerprints_mean_structural_equality() -> None:
    mod, same = _renamed()
    assert fingerprint(mod) == fingerprint(same)
    for word in ("multiply(%x, %x)", "add(%x, 1f)", "add(%x, 2f)", "exp(%x)"):
        other = relay.parse(TEXT.replace("add(%x, %x)", word))
        assert fingerprint(other) != fingerprint(mod)
