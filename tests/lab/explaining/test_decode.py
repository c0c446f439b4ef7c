"""`decode`: sample messages, real messages of the passes, and long logs."""

from __future__ import annotations

import re
import time

import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.errors import ByocLabError, PredicateError
from byoc_lab.lab.explaining import decode
from byoc_lab.lab.explaining.messages import ALL, Message
from byoc_lab.lab.linting import all_rules
from byoc_lab.lab.linting.foreign import RULES
from byoc_lab.lessons import cases
from byoc_lab.passes import InferType, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.analysis.annotations import begin, end
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.logs import FORMS
from tests.lab.linting.mutants import is_valid, mutants
from tests.lab.linting.random_annotated import random_module

SAMPLES = [(m, s) for m in ALL for s in m.samples]
TVM_CLASS = "<class 'tvm.relay.{kind}'> has no attribute name"
X = relay.var("x", shape=(4, 4))
Y = relay.var("y", shape=(4, 4))


@pytest.mark.parametrize(("message", "sample"), SAMPLES, ids=lambda v: getattr(v, "name", "sample"))
def test_sample_message_is_decoded(message: Message, sample: str) -> None:
    found = decode(sample)
    assert found and [m.name for m in found] == [message.name]
    assert "{" not in found.cause + found.what_to_do
    assert found.rule == (message.rules[0] if message.rules else "")
    assert message.era in str(found) and found[0].text in sample


@pytest.mark.parametrize("form", FORMS)
def test_sample_message_is_decoded_in_each_form_of_log(form: str) -> None:
    for message, sample in SAMPLES:
        log = FORMS[form](sample)
        (found,) = decode(log)
        plain = decode(sample)[0]
        assert found.name == message.name, sample
        assert (found.cause, found.what_to_do) == (plain.cause, plain.what_to_do)
        assert log[found.start :].lstrip().startswith(found.text.lstrip()[:8])


def balanced(text: str) -> bool:
    quotes = text.count("`") + len(re.findall(r"'(?!(?<=\w')\w)", text))
    return (
        all(text.count(begin) == text.count(end) for begin, end in ("()", "[]", "{}"))
        and text.count('"') % 2 == quotes % 2 == 0
    )


def test_shown_messages_end_outside_brackets_and_quotes() -> None:
    for _, sample in SAMPLES:
        (found,) = decode(sample)
        for text in (found.text, found.cause, found.what_to_do):
            assert balanced(text), text
        for text in (found.cause, found.what_to_do):
            assert text[-1] not in ":,;( ", text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Unknown composite function:"npu.add', 'Unknown composite function:"npu.add'),
        ("undefined reference to `f'; it's", "undefined reference to `f'"),
        ("Loader for `a`(`runtime.module.loadbinary_\na`)", "Loader for `a`(`runtime.module"),
    ],
)
def test_message_with_an_unclosed_bracket_is_shown_unchanged(text: str, shown: str) -> None:
    assert str(decode(text)).startswith(shown) and decode(text)[0].text in text.split("\n")[0]


def test_all_free_variables_are_named_and_a_truncation_is_marked() -> None:
    listed = ", ".join(f"%x{n}: Tensor[(1, {n}), float32]" for n in range(9))
    found = decode(f"@main contains free variables: [{listed}]. A global function may only")
    assert all(f"%x{n}" in found.cause for n in range(9))
    assert str(found).split("\n")[0].endswith(" ...") and found[0].text.endswith(f"{listed}]")


def test_cause_that_the_message_does_not_state_is_called_likely() -> None:
    for message, sample in SAMPLES:
        found = decode(sample)
        assert found[0].certain == message.stated and not found[0].findings, message.name
        label = "  cause    " if message.stated else "  likely   "
        assert f"\n{label}{found.cause}\n" in str(found)
        assert found.as_dict()["messages"][0]["certain"] == message.stated


def test_cause_that_the_message_states_names_no_alternatives() -> None:
    alternatives = re.compile(r", or\b|misspelt|\busually\b|\blikely\b|\bmay\b")
    assert [m.name for m in ALL if m.stated and alternatives.search(m.cause)] == []


def test_likely_cause_that_a_rule_finds_in_the_module_is_certain() -> None:
    """Lint rules check the module: without a finding the cause stays likely."""
    tensor = "Tensor[(4), float32]"
    whole = IRModule.from_expr(nn.relu(X))
    text = f"""#[version = "0.0.5"]
def @f(%a: {tensor}, Primitive=1, Compiler="dnll", global_symbol="f") {{ nn.relu(%a) }}
def @main(%x: {tensor}) {{ @f(%x) }}"""
    error = "Check failed: pf: Failed to find the codegen tool for relay.ext.dnll"
    for mod, certain in ((None, False), (whole, False), (relay.parse(text), True)):
        (found,) = decode(error, mod)
        assert found.certain == certain == bool(found.findings)
        assert ("  cause    " in str(found)) == certain


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_finding_for_each_mutant_that_partitioning_refuses(seed: int) -> None:
    """A changed annotation that raises an error has a finding that explains the error."""
    origin = random_module(seed)
    for mutant in list(mutants(origin))[::3] if is_valid(origin) else ():
        try:
            PartitionGraph()(InferType()(mutant.mod))
        except ByocLabError as error:
            (found,) = decode(str(error), mutant.mod)
            assert found.certain and found.findings, mutant


def test_messages_name_existing_rules_and_lessons() -> None:
    codes = {r.code for r in all_rules()} | RULES.keys()
    for message in ALL:
        assert set(message.rules) <= codes, message.name
        assert not message.lesson or cases.get(message.lesson)
    names = [m.name for m in ALL]
    assert len(set(names)) == len(names) and all(m.samples for m in ALL)


def test_result_for_unknown_text_says_that_no_message_is_known() -> None:
    other = "Operator nn.relu is not registered with this service"
    for text in ("", "all is well", "TVMError: something new", "free variables: none", other):
        found = decode(text)
        assert not found and not found.known and not found.cause and found.edge is None
        assert f"no known message in this text of {len(text)} characters" in str(found)


@pytest.mark.parametrize("name", [c.name for c in cases.live()])
def test_errors_of_the_case_studies_are_decoded(name: str) -> None:
    case = cases.get(name)
    assert isinstance(case, cases.LiveCase)
    symptom = case.symptom(case.module())
    if symptom is None or symptom.error is None:
        pytest.skip("this bug raises no error")
    found = decode(symptom.error, case.module())
    if name in {message.lesson for message in ALL}:
        assert found.lesson == name
        assert found.rule in case.codes
    assert found.rule
    assert found.edge is not None


BROKEN = {
    "own-mixed-arguments": end(relay.add(begin(X, "a"), Y), "a"),
    "own-end-without-region": end(nn.relu(X), "a"),
    "own-two-compilers": end(nn.relu(begin(X, "a")), "b"),
    "own-open-region": nn.relu(begin(X, "a")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_errors_of_the_passes_are_decoded_to_the_edge(name: str) -> None:
    mod = IRModule.from_expr(relay.Function([X, Y], BROKEN[name]))
    with pytest.raises(ByocLabError) as caught:
        PartitionGraph()(MergeCompilerRegions()(mod))
    found = decode(caught.value, mod)
    assert found[0].name == name, str(found)
    assert found.edge is not None and found[0].findings[0].code == found.rule


def test_message_about_a_relax_operator_names_the_relax_rule() -> None:
    found = byoc_lab.decode("region @r: DNNL has no counterpart of relax.cumsum")
    assert found.rule == "BYR009" and "fallback" not in str(found)
    assert byoc_lab.decode("region @r: DNNL has no counterpart of cumsum(...)").rule == "BYL026"


def test_unknown_back_end_is_decoded() -> None:
    with pytest.raises(ByocLabError) as caught:
        backends.get("dnll")
    assert "dnll" in decode(caught.value).cause


def test_decoded_edge_equals_the_edge_that_lint_reports() -> None:
    mod = IRModule.from_expr(relay.Function([X, Y], BROKEN["own-mixed-arguments"]))
    found = decode("Arg regions are inconsistent: add(%0, %y)", mod)
    call, argument = found.edge or (None, None)
    assert isinstance(call, relay.Call) and call.op_name == "add" and argument == 1
    assert found.rule == byoc_lab.lint(mod)[0].code


def test_consequence_is_decoded_to_the_edge_of_its_cause() -> None:
    """The linter lists two ends for two compilers as a double end, which causes BYL006."""
    x = relay.var("x", shape=(4,))
    mod = IRModule.from_expr(end(end(nn.relu(begin(x, "A")), "A"), "B"))
    found = decode("Check failed: region->GetTarget() == target (A vs. B)", mod)
    assert (found.rule, found.edge) == ("BYL003", (mod["main"].body, 0))


def test_message_without_a_finding_in_the_module_has_no_edge_and_a_note() -> None:
    clean = IRModule.from_expr(nn.relu(X))
    found = decode("Arg regions are inconsistent: add(%0, %y)", clean)
    assert found and found.edge is None and "lint finds nothing of this kind" in str(found)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (nn.dense(nn.relu(X), relay.var("w", shape=(4, 4))), "isinstance(expr, relay.Call)"),
        (relay.add(nn.relu(X), relay.var("w", shape=(4, 4))), "on both sides"),
    ],
    ids=["one order", "either order"],
)
def test_advice_names_the_other_operand_order_if_the_check_accepts_it(
    call: relay.Call, advice: str
) -> None:
    pattern = is_op(call.op_name)(wildcard(), wildcard())
    table = [("npu.x", pattern, lambda root: root.args[1].op.name == "nn.relu")]
    with pytest.raises(PredicateError) as raised:
        byoc_lab.explain_patterns(table, IRModule.from_expr(call))
    for said in (raised.value, str(raised.value)):
        assert advice in decode(said).what_to_do
    assert ("both sides" in str(raised.value)) == (advice == "on both sides")


def test_several_messages_are_listed_in_the_order_of_the_text() -> None:
    text = "\n".join(["one", "Segmentation fault", "two", "Unknown composite function:npu.conv"])
    assert [m.name for m in decode(text)] == ["recursion", "unknown-composite"]


def test_long_log_takes_linear_time() -> None:
    sample = ALL[-1].samples[0]
    seconds = []
    for size in (250_000, 1_000_000):
        noise = "[12:00:00] is not registered Cannot find, does not have field [Var(\n"
        text = noise * (size // len(noise) // 2)
        start = time.process_time()
        assert [m.name for m in decode(text + sample + text)] == ["diagnostics"]
        seconds.append(time.process_time() - start)
    assert seconds[1] < 2 and seconds[1] < 12 * seconds[0] + 0.1, seconds


def test_message_after_a_thousand_similar_ones_is_found() -> None:
    text = "the module x is not registered\n" * 1000 + "Operator nn.conv2 is not registered"
    assert "nn.conv2" in decode(text).cause


@pytest.mark.parametrize("kind", ["function.Function", "expr.GlobalVar", "ir.expr.GlobalVar"])
@pytest.mark.parametrize("spelling", ["'{short}' object has no attribute 'name'", TVM_CLASS])
def test_check_that_failed_on_a_function_is_decoded(kind: str, spelling: str) -> None:
    text = spelling.format(short=kind.split(".")[-1], kind=kind)
    for log in (text, f"Traceback:\n  File x\nAttributeError: {text}\n"):
        (found,) = decode(log)
        composite = kind == "function.Function"
        assert found.name == f"check-met-{'composite' if composite else 'global-function'}"
        assert ("earlier entry of the table" in found.cause) == composite
        assert ("of an earlier partitioning" in found.cause) != composite


def test_check_that_raises_for_a_composite_is_decoded_from_the_error() -> None:
    """For any attribute of the callee that the check reads first."""
    table = [
        ("npu.relu", is_op("nn.relu")(wildcard())),
        ("npu.add", is_op("add")(wildcard(), wildcard()), lambda e: e.args[0].op.name == "exp"),
    ]
    with pytest.raises(ByocLabError) as caught:
        byoc_lab.explain_patterns(table, IRModule.from_expr(relay.add(nn.relu(X), X)))
    assert decode(caught.value)[0].name == "own-check-met-composite"


@pytest.mark.parametrize(
    "text",
    [
        "InputError: reduce: wrong:dnnl does not hold for the module that was given; expected a "
        "module for which it does",
        "PassError: entry 0 of the pattern table must be (name, pattern) or (name, pattern, "
        "check), found ('x',)",
    ],
)
def test_advice_on_a_class_of_errors_holds_for_errors_of_arguments(text: str) -> None:
    assert decode(text).what_to_do.startswith("Compare the found with the expected value")
