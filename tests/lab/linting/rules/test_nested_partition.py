"""Lint rule BYL003 nested-partition: samples and message."""

from __future__ import annotations

import pytest

from byoc_lab import lint
from byoc_lab.lab.linting.rules.nested_partition import NestedPartition
from tests.lab.linting.samples import TENSOR, RuleChecks, begin, end, main, read


class TestNestedPartition(RuleChecks):
    rule = NestedPartition

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                main(begin("%x"), "nn.relu(%0)", begin("%1", "B"), "abs(%2)", end("%3", "B")),
                "compiler_begin[B] inside the open region 0 of A",
            ),
            (
                main(begin("%x"), begin("%0", "B"), "nn.relu(%1)", end("%2", "B")),
                "compiler_begin[B] directly on another begin",
            ),
            (
                main(begin("%x"), "nn.relu(%0)", end("%1"), end("%2")),
                "compiler_end directly on compiler_end",
            ),
        ],
        ids=["begin in a region", "two begins", "two ends"],
    )
    def test_message_names_the_nested_functions(self, text: str, message: str) -> None:
        assert self.only_finding(text).message.startswith(message)

    def test_each_level_of_external_functions_is_reported_once(self) -> None:
        text = "nn.relu(%x2)"
        for n in (2, 1, 0):
            attrs = f'Compiler="A", global_symbol="f{n}"'
            outer = f"%x{n - 1}" if n else "%x"
            text = f"%{n} = fn (%x{n}: {TENSOR}, {attrs}) {{\n{text}\n}};\n%{n}({outer})"
        found = self.found_in(main(text))
        assert [f.message for f in found] == [
            "external function f1 is defined inside external function f0",
            "external function f2 is defined inside external function f1",
        ]

    @pytest.mark.parametrize(
        ("compiler", "codes"), [("A", ["BYL007"]), ("B", ["BYL006", "BYL007"])]
    )
    def test_consequences_of_a_second_end_are_reported_below_its_finding(
        self, compiler: str, codes: list[str]
    ) -> None:
        text = main(begin("%x"), "nn.relu(%0)", end("%1"), end("%2", compiler), "tanh(%3)")
        (finding,) = lint(read(text))
        assert finding.code == "BYL003"
        assert sorted(f.code for f in finding.consequences) == codes
