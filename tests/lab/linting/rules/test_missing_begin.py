"""Lint rule BYL001 missing-begin: samples, and reported arguments."""

from __future__ import annotations

from byoc_lab.lab.linting import lint
from byoc_lab.lab.linting.rules.missing_begin import MissingBegin
from byoc_lab.relay.analysis.regions import RegionSet
from tests.lab.linting.mutants import mutants
from tests.lab.linting.random_annotated import random_module
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestMissingBegin(RuleChecks):
    rule = MissingBegin

    def test_fix_names_the_argument_and_the_compiler(self) -> None:
        found = self.only_finding(main(begin("%x"), "add(%0, %x)", end("%1")))
        assert found.argument == 1
        assert found.what_to_do.startswith('wrap argument 1 of add in compiler_begin(..., "A")')

    def test_constant_operand_needs_a_begin_too(self) -> None:
        found = self.only_finding(main(begin("%x"), "add(%0, 1f)", end("%1")))
        assert found.what_to_do.endswith("constants included")

    def test_every_edge_into_a_region_without_any_begin_is_reported(self) -> None:
        found = self.found_in(main("nn.relu(%x)", "add(%0, %x)", end("%1")))
        assert sorted((f.message.split()[0], f.argument) for f in found) == [
            ("add", 1),
            ("nn.relu", 0),
        ]

    def test_end_without_an_operator_is_reported(self) -> None:
        found = self.only_finding(main(end("%x")))
        assert found.message.startswith("compiler_end[A] closes no region")

    def test_message_says_whether_the_operator_is_inside_a_region(self) -> None:
        seen: set[bool] = set()
        for mod in (m.mod for seed in range(10) for m in mutants(random_module(seed))):
            regions = [RegionSet(func, lambda *_: None) for func in mod.functions.values()]
            for found in lint(mod, rules=["BYL001"]):
                if found.node is None or found.message.startswith("compiler_end"):
                    continue
                inside = any(r.of(found.node) is not None for r in regions)
                assert ("inside region" in found.message) is inside
                assert ("in no region, but probably" in found.message) is not inside
                seen.add(inside)
        assert seen == {True, False}
