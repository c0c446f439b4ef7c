"""`explain` of calls bound by lets: the reason is the one that remains without lets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from byoc_lab import backends, relay
from byoc_lab.compat.passes.simplify.dead_code_elimination import DeadCodeElimination
from byoc_lab.lab.explaining import Explanations, explain
from byoc_lab.passes import AnnotateTarget, MergeComposite
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard

TARGET = "lets_of_tests"
HEAD = '#[version = "0.0.5"]\n'
SHAPE = "Tensor[(1, 8, 8, 8), float32]"
BOUND = f"""{HEAD}
def @main(%x: {SHAPE}, %w: Tensor[(8, 8, 1, 1), float32], %b: Tensor[(8), float32]) {{
  let %c = nn.conv2d(%x, %w, padding=[0, 0, 0, 0]);
  RESULT
}}"""
RELU = "nn.relu(nn.bias_add(%c, %b))"


def conv_bias_relu(conv: str) -> DFPattern:
    return is_op("nn.relu")(is_op("nn.bias_add")(is_op(conv)(wildcard(), wildcard()), wildcard()))


TABLE = [(f"{TARGET}.{n}", conv_bias_relu(n)) for n in ("nn.conv3d", "nn.conv2d")]


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    backends.register(TARGET, patterns=TABLE)
    yield
    backends.unregister(TARGET)


def explained(result: str) -> Explanations:
    found = explain(relay.parse(BOUND.replace("RESULT", result)), TARGET)
    assert isinstance(found, Explanations)
    return found


def test_let_is_the_cause_of_calls_that_graph_normal_form_offloads() -> None:
    found = explained(RELU)
    assert {e.cause for e in found} == {"let"}
    for one in found:
        assert one.nearest is not None and one.nearest.name == f"{TARGET}.nn.conv2d"
        assert str(one.change) == "run ToGraphNormalForm before MergeComposite"


def test_outside_user_is_the_cause_if_graph_normal_form_alone_offloads_nothing() -> None:
    found = explained(f"add({RELU}, %c)")
    assert [e.cause for e in found] == [*["outside-user"] * 3, "no-pattern"]
    conv = found[0]
    assert conv.reason == (
        "no match crosses a let; and without lets (ToGraphNormalForm), lets_of_tests.nn.conv2d "
        "matches, and add (result of @main), outside of the match, uses the value of nn.conv2d "
        "(%c) inside"
    )
    assert conv.found == "also used by add (result of @main)"


def test_call_that_a_region_would_compute_again_without_lets_is_only_on_the_host() -> None:
    pattern = is_op("multiply")(wildcard(), is_op("nn.conv2d")(wildcard(), wildcard()))
    backends.register(TARGET, patterns=[(f"{TARGET}.scaled", pattern)])
    conv = explained("multiply(tanh(%c), %c)")[0]
    assert conv.cause == "let" and conv.where == "not offloaded"
    assert "without lets (ToGraphNormalForm), @" in conv.reason
    assert "and the host computes it again" in conv.reason


def test_missing_user_of_a_let_bound_result_is_the_cause_also_without_lets() -> None:
    (one,) = explained("%c")
    assert one.cause == "sub-pattern" and one.change is None
    assert one.reason.endswith("found no user: it is the result of @main")


def test_change_of_two_steps_counts_offloaded_calls_of_the_given_module() -> None:
    def has_constants(match: relay.Expr) -> bool:
        return isinstance(match.args[0].args[1], relay.Constant)

    backends.register(
        TARGET, patterns=[(f"{TARGET}.fixed", conv_bias_relu("nn.conv2d"), has_constants)]
    )
    one = explained(RELU)[0]
    assert one.cause == "check" and one.change is not None
    assert one.change.what.startswith(
        "run ToGraphNormalForm before MergeComposite; and bind %b with bind_params_by_name"
    )
    assert one.change.offloaded == (0, 3)
    assert explain(one.change.setup.mod, TARGET, one.change.call, one.change.setup.passes)[0]


@pytest.mark.parametrize(
    ("result", "unused", "seen"),
    [
        ("%x", ["nn.conv2d"], "found nothing that uses it"),
        ("nn.relu(%x)", ["nn.conv2d"], "found nothing that uses it"),
        ("let %d = nn.relu(%c); %x", ["nn.conv2d", "nn.relu"], "found variable %c of type"),
        ("let %d = tanh(%c); %x", ["nn.conv2d", "tanh"], f"{TARGET} supports neither tanh (%d)"),
        ("let %f = fn(%p: Tensor[(2), float32]) { tanh(%p) }; %c", ["tanh"], "supports neither"),
    ],
)
def test_let_with_an_unused_variable_is_explained_as_unused(
    result: str, unused: list[str], seen: str
) -> None:
    found = [e for e in explained(result) if e.cause == "unused"]
    assert [e.name for e in found] == unused
    for one in found:
        assert one.reason.startswith("the result of @main does not depend on it; ")
        assert one.change is not None and one.change.what == (
            "run ToGraphNormalForm before MergeComposite, which leaves nothing of it to compute"
        )
        again = [DeadCodeElimination(), MergeComposite(TABLE), AnnotateTarget(TARGET)]
        assert explain(one.change.setup.mod, TARGET, one.change.call, again)[0].status == "removed"
    assert seen in found[-1].reason


def test_let_with_a_side_effect_is_used() -> None:
    found = explained("let %r = ref(%x); let %d = ref_write(%r, nn.relu(%x)); ref_read(%r)")
    assert {e.name: e.cause for e in found}["nn.relu"] == "sub-pattern"


def test_unused_user_outside_a_match_is_removed_by_the_change() -> None:
    text = BOUND.replace("let %c", "%0").replace("RESULT", RELU.replace("%c", "%0"))
    text = text.replace("nn.relu(", "let %d = tanh(%0);\n  nn.relu(", 1)
    found = explain(relay.parse(text), TARGET)
    assert {e.name: e.cause for e in found} == {
        "nn.conv2d": "outside-user", "tanh": "unused", "nn.bias_add": "outside-user",
        "nn.relu": "outside-user",
    }  # fmt: skip
    assert {str(e.change).partition(",")[0] for e in found} == {
        "run ToGraphNormalForm before MergeComposite"
    }


@pytest.mark.parametrize(
    ("body", "unused"),
    [
        ("let %f = fn (%y: Tensor[(4), float32]) { sin(%y) };\n%f(%f(%x))", set()),
        ("let %a = sin(%x);\nlet %b = erf(%a);\nexp(%x)", {"sin", "erf"}),
        ("let %a = sin(%x);\nlet %b = erf(%a);\nexp(%b)", set()),
        ("let %a = sin(%x);\nlet %b = erf(%a);\nexp(%a)", {"erf"}),
    ],
)
def test_only_calls_on_which_no_result_depends_are_unused(body: str, unused: set[str]) -> None:
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) {{\n{body}\n}}')
    found = explain(mod, "ccompiler")
    assert {e.name for e in found if "does not depend on it" in e.reason} == unused
