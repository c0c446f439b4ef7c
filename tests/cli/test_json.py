"""The JSON of all commands: one common structure, described by the schema in the package."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import cli
from byoc_lab.commands import all_commands
from byoc_lab.output import SCHEMA
from tests.cli.samples import CLEAN, NO_END

HALF = CLEAN.replace("tanh", "sin")
DESCRIBED = json.loads(SCHEMA.read_text(encoding="utf-8"))
COMMANDS: dict[str, tuple[str, ...]] = {
    "findings": ("lint", "wrong.relay", "--target", "dnnl"),
    "explanations": ("explain", "half.relay"),
    "coverage": ("coverage", "half.relay", "--changes"),
    "coverages": ("coverage", "half.relay", "--target", "dnnl", "--target", "ccompiler"),
    "validation": ("validate", "net.relay", "--detail", "operator"),
    "bisection": ("bisect", "net.relay"),
    "trace": ("trace", "wrong.relay", "--pipeline", "dnnl"),
    "diff": ("diff", "net.relay", "half.relay"),
    "trace_comparison": ("compare", "net.relay", "half.relay"),
    "decoded": ("decode", "build.log", "--module", "wrong.relay"),
    "reduction": ("reduce", "half.relay", "--keep", "not-offloaded:sin"),
    "repair": ("fix", "wrong.relay"),
    "grades": ("grade", "empty", "--course", "course", "--trust"),
    "installation": ("doctor",),
    "rules": ("rule", "BYL001"),
    "exercises": ("course", "list"),
    "course": ("course", "new", "course", "--exercises", "annotate-diamond"),
    "pictures": ("course", "pictures", "drawn", "--exercises", "annotate-diamond"),
}
WITHOUT_JSON = {"demo", "notebooks", "recorder"}
"""Commands that tell a story, open JupyterLab and print a program."""


def strict(part: Any) -> Any:
    """The schema, changed to refuse members that it does not describe."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {"additionalProperties": False} if "required" in part else {}
    return {**{name: strict(value) for name, value in part.items()}, **closed}


@cache
def validator() -> Any:
    """A validator of JSON Schema; its import takes a second."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(DESCRIBED)
    return jsonschema.Draft202012Validator(strict(DESCRIBED))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"net.relay": CLEAN, "half.relay": HALF, "wrong.relay": NO_END}
    texts["build.log"] = "Check failed: (region) is false: Arg regions are inconsistent\n"
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("empty").mkdir()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.main([*arguments, "--format", "json"]) != cli.USAGE
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_schema_describes_every_kind_of_output() -> None:
    kinds = {each["$ref"].rpartition("/")[2] for each in DESCRIBED["oneOf"]}
    assert kinds == set(COMMANDS)


def test_every_command_that_prints_a_report_has_json() -> None:
    names = {name for name, _ in all_commands()}
    assert {words[0] for words in COMMANDS.values()} == names - WITHOUT_JSON


@pytest.mark.parametrize("kind", COMMANDS)
def test_json_output_of_each_command_fits_the_schema(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "grades":
        if sys.platform != "linux":
            pytest.skip("grading needs Linux")
        printed(capsys, *COMMANDS["course"])
    found = printed(capsys, *COMMANDS[kind])
    assert (found["kind"], found["version"]) == (kind, byoc_lab.__version__)
    schema = validator()
    own = schema.evolve(schema={**schema.schema, "oneOf": [{"$ref": f"#/$defs/{kind}"}]})
    assert [error.message for error in own.iter_errors(found)] == []
    assert validator().is_valid(found)


def test_fix_as_json_has_the_module_and_the_written_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = printed(capsys, "fix", "wrong.relay")
    assert not byoc_lab.lint(byoc_lab.relay.parse(shown["module"])) and shown["written"] is None
    assert printed(capsys, "fix", "wrong.relay", "--apply")["written"] == "wrong.relay"
    clean = printed(capsys, "fix", "wrong.relay", "--apply")
    assert (clean["steps"], clean["module"], clean["written"]) == ([], None, None)
    assert validator().is_valid(clean)


def test_relax_rules_as_json_have_no_severity(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["BYR001"]):
        found = printed(capsys, "rule", *arguments)
        assert validator().is_valid(found)
        relax = {r["code"]: r["severity"] for r in found["rules"]}
        assert relax["BYR001"] is None


def test_schema_refuses_missing_and_additional_members(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, *COMMANDS["explanations"])
    assert not validator().is_valid({**found, "extra": 1})
    assert not validator().is_valid({name: v for name, v in found.items() if name != "calls"})
    assert not validator().is_valid({**found, "schema": 3})


def test_commands_print_json_for_relax_modules(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    from tests.importers.test_tvm_script import TEXT

    Path("net.py").write_text(TEXT)
    for command in ("explain", "trace", "lint", "coverage"):
        found = printed(capsys, command, "net.py")
        assert [e.message for e in validator().iter_errors(found)] == [], command


def test_decode_of_a_successful_trace_prints_no_messages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    byoc_lab.trace(byoc_lab.relay.parse(CLEAN), "dnnl").save("net.trace")
    assert printed(capsys, "decode", "net.trace")["messages"] == []


def test_findings_for_standard_input_name_it_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NO_END))
    [finding] = printed(capsys, "lint", "-")["findings"]
    assert finding["file"] == "<stdin>"
