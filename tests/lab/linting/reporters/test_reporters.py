"""Findings as text, JSON, SARIF 2.1.0 and GitHub commands."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import Findings, lint, relay
from byoc_lab.errors import UnknownNameError
from byoc_lab.lab.linting import Severity
from byoc_lab.lab.linting.reporters import REPORTERS, report
from tests.lab.linting.samples import begin, end, main

TEXT = main(begin("%x"), "add(%0, %x)", end("%1"), begin("%2", "B"), "nn.relu(%3)")
"""Two findings, BYL001 and BYL002."""


@pytest.fixture(scope="module")
def found() -> Findings:
    return lint(relay.parse(TEXT, "net.relay"))


def test_every_format_contains_every_finding(found: Findings) -> None:
    for name in REPORTERS:
        written = found.report(name)
        assert "BYL001" in written and "BYL002" in written and "net.relay" in written


def test_reports_without_findings_are_empty() -> None:
    assert report([]) == "clean: no findings"
    assert report([], "github") == ""
    assert json.loads(report([], "json"))["findings"] == []
    assert json.loads(report([], "sarif"))["runs"][0]["results"] == []


def test_unknown_format_is_named_in_the_error() -> None:
    with pytest.raises(UnknownNameError, match="no format of findings is called 'sarf'; did you"):
        report([], "sarf")


def test_json_has_source_location_and_consequences(found: Findings) -> None:
    data = json.loads(found.report("json"))
    assert (data["schema"], data["kind"], data["version"]) == (1, "findings", byoc_lab.__version__)
    first = data["findings"][0]
    assert (first["code"], first["severity"], first["argument"]) == ("BYL001", "error", 1)
    assert (first["file"], first["line"], first["function"]) == ("net.relay", 3, "main")
    assert all(isinstance(f["consequences"], list) for f in data["findings"])


def test_github_format_has_one_command_per_finding(found: Findings) -> None:
    lines = found.report("github").splitlines()
    assert len(lines) == len(found)
    command = re.compile(r"::(error|warning|notice) title=BYL\d{3} [a-z-]+,file=\S+,line=\d+,col=")
    assert all(command.match(line) for line in lines)
    assert not any("\n" in line for line in lines) and "%0A" in lines[0]


class TestSarif:
    """The required fields and allowed values of SARIF 2.1.0; docstrings name the sections."""

    @pytest.fixture
    def log(self, found: Findings) -> dict[str, Any]:
        made = json.loads(found.report("sarif"))
        assert isinstance(made, dict)
        return made

    def test_log_has_a_version_and_runs(self, log: dict[str, Any]) -> None:
        """Sections 3.13.2 and 3.13.4."""
        assert log["version"] == "2.1.0"
        assert log["$schema"].endswith("sarif-2.1.0.json")
        assert isinstance(log["runs"], list) and len(log["runs"]) == 1

    def test_run_has_a_tool_with_a_named_driver(self, log: dict[str, Any]) -> None:
        """Sections 3.14.6, 3.18.2 and 3.19.8."""
        driver = log["runs"][0]["tool"]["driver"]
        assert driver["name"] == "byoc-lab"
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(ids) == len(set(ids)), "3.49.3: an id is used once"
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"].endswith(".")

    def test_every_result_has_a_message_and_a_known_level(self, log: dict[str, Any]) -> None:
        """Sections 3.27.5 (ruleId), 3.27.6 (ruleIndex), 3.27.10 (level), 3.27.11 (message)."""
        run = log["runs"][0]
        for result in run["results"]:
            assert isinstance(result["message"]["text"], str) and result["message"]["text"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]

    def test_every_location_has_a_uri_and_a_region_counted_from_one(
        self, log: dict[str, Any]
    ) -> None:
        """Sections 3.28, 3.29.3 (artifactLocation), 3.30.5 to 3.30.8 (lines and columns)."""
        for result in log["runs"][0]["results"]:
            (location,) = result["locations"]
            place = location["physicalLocation"]
            assert place["artifactLocation"] == {"uri": "net.relay", "uriBaseId": "%SRCROOT%"}
            region = place["region"]
            assert all(isinstance(n, int) and n >= 1 for n in region.values())
            assert region["endLine"] >= region["startLine"]

    @pytest.mark.parametrize(
        ("file", "uri"),
        [
            ("a b/nét#1.relay", "a%20b/n%C3%A9t%231.relay"),
            ("./sub/../net.relay", "net.relay"),
            ("100%.relay", "100%25.relay"),
            ("c:net.relay", "c%3Anet.relay"),
        ],
    )
    def test_files_in_the_working_directory_have_relative_uris(self, file: str, uri: str) -> None:
        """Section 3.4: a URI reference of RFC 3986, relative to the base that the run declares."""
        for name in (file, str(Path(file).absolute())):
            run = json.loads(lint(relay.parse(TEXT, name)).report("sarif"))["runs"][0]
            assert list(run["originalUriBaseIds"]) == ["%SRCROOT%"]
            for result in run["results"]:
                place = result["locations"][0]["physicalLocation"]["artifactLocation"]
                assert place == {"uri": uri, "uriBaseId": "%SRCROOT%"}

    def test_sarif_has_absolute_uris_for_files_outside_the_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "a b.relay"
        run = json.loads(lint(relay.parse(TEXT, str(path))).report("sarif"))["runs"][0]
        for result in run["results"]:
            place = result["locations"][0]["physicalLocation"]["artifactLocation"]
            assert place == {"uri": path.as_uri()}

    def test_findings_for_standard_input_have_no_uri(self) -> None:
        run = json.loads(lint(relay.parse(TEXT, "<stdin>")).report("sarif"))["runs"][0]
        assert all("physicalLocation" not in r["locations"][0] for r in run["results"])

    def test_finding_in_a_model_without_text_names_its_file(self, found: Findings) -> None:
        placed = [replace(f, node=None).of_file("net.onnx") for f in found]
        run = json.loads(report(placed, "sarif"))["runs"][0]
        for result in run["results"]:
            place = result["locations"][0]["physicalLocation"]
            assert place == {"artifactLocation": {"uri": "net.onnx", "uriBaseId": "%SRCROOT%"}}
        assert "file=net.onnx::" in report(placed, "github")
        assert json.loads(report(placed, "json"))["findings"][0]["file"] == "net.onnx"

    def test_sarif_levels_equal_the_severities(self, found: Findings) -> None:
        levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
        results = json.loads(found.report("sarif"))["runs"][0]["results"]
        assert [r["level"] for r in results] == [levels[f.severity] for f in found]
