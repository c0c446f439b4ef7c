"""Lint rule BYL002 missing-end: samples, reported operators and fixes."""

from __future__ import annotations

import pytest

from byoc_lab import backends, fix, lint, relay
from byoc_lab.lab.linting.rules.missing_end import MissingEnd
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin
from byoc_lab.relay.typing.infer import infer_module
from tests.lab.linting.samples import RuleChecks, begin, called_op, end, main


class TestMissingEnd(RuleChecks):
    rule = MissingEnd

    def test_region_without_an_end_is_reported_at_its_last_operator(self) -> None:
        found = self.only_finding(main(begin("%x"), "nn.relu(%0)", "exp(%1)", "abs(%2)"))
        assert called_op(found) == "abs"
        assert 'compiler_end(..., "A") on abs' in found.what_to_do

    def test_operators_after_an_unclosed_branch_are_not_reported(self) -> None:
        lines = (begin("%x"), "nn.relu(%0)", end("%1"), "exp(%1)", "abs(%3)", "add(%2, %4)")
        reported = [called_op(f) for f in self.found_in(main(*lines))]
        assert "exp" in reported and "abs" not in reported

    def test_begin_on_a_let_value_is_reported_by_free_variable_only(self) -> None:
        text = main(f"let %a = {begin('%x')};\n  nn.relu(%a)")
        assert self.found_in(text) == []


@pytest.mark.parametrize("host", ["exp", "tanh"])
def test_region_without_end_is_closed_after_operators_that_its_back_end_supports(host: str) -> None:
    """All verified fixes are shown, each with the region that it forms."""
    backends.register("edu_ends", supports=["nn.conv2d", "nn.relu", "tanh"])
    try:
        data, weight = (
            relay.var("data", shape=(1, 3, 8, 8)),
            relay.var("weight", shape=(4, 3, 3, 3)),
        )
        begun = [compiler_begin(v, "edu_ends") for v in (data, weight)]
        body = getattr(relay, host)(relay.nn.relu(relay.nn.conv2d(*begun)))
        repair = fix(infer_module(IRModule.from_expr(relay.Function([data, weight], body))))
        shown = str(repair)
    finally:
        backends.unregister("edu_ends")
    inside = {"exp": "nn.conv2d, nn.relu", "tanh": "nn.conv2d, nn.relu, tanh"}[host]
    assert f"\nmakes 1 region: edu_ends ({inside})\n" in shown
    others = {o.steps: len(o.after.functions) for o in repair.others}
    assert ("remove the begins of edu_ends without an end",) in others
    assert (('put compiler_end(..., "edu_ends") on exp',) in others) == (host == "exp")
    for other in repair.others:
        assert not [f for f in lint(other.after) if str(f.severity) != "info"]
        assert f"or, proved too: {other.steps[0]}\nmakes " in shown
