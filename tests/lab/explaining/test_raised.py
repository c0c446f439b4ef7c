"""Every error of byoc_lab on BYOC is decoded: checked at each `raise` in the sources."""

from __future__ import annotations

import ast
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, decode, relay
from byoc_lab.errors import BuildError, ByocLabError, RegionError
from byoc_lab.lab.explaining.messages.raised import FOLDERS, Raised, own_errors, raised
from byoc_lab.passes import InferType
from tests.lab.explaining.logs import FORMS, in_pytest

PLACES = raised()
BYOC = ("PassError", "PartitionError", "PredicateError", "BuildError", "RegionError")


def _said(place: Raised) -> str:
    return "".join("value" if part is None else part for part in place.parts)


def _ids(place: Raised) -> str:
    return f"{place.file}:{place.line}"


def test_all_raise_statements_are_found() -> None:
    """At least as many as a textual search finds, in each folder."""
    package = Path(byoc_lab.__file__).parent
    for folder in FOLDERS:
        texts = [f.read_text() for f in (package / folder).rglob("*.py")]
        pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(own_errors())})\((?!\w+, \w+\):|\):)")
        code = "\n".join(ast.unparse(ast.parse(text)) for text in texts)
        classes = len(re.findall(r"^class \w+\(\w*Error\)", code, re.MULTILINE))
        found = [p for p in PLACES if p.file.startswith(f"{folder}/")]
        assert len(found) >= len(pattern.findall(code)) - classes - code.count("super()"), folder
    assert len(PLACES) > 200


@pytest.mark.parametrize("place", PLACES, ids=_ids)
def test_error_is_decoded(place: Raised) -> None:
    """As an exception, as its line in a traceback, and as text alone if enough of the text is
    fixed."""
    error = own_errors()[place.error](_said(place)) if place.error in BYOC else None
    logs: list[str | BaseException] = [error] if error is not None else []
    logs.append(f"Traceback:\n  File x\nbyoc_lab.errors.{place.error}: {_said(place)}\n")
    logs.append(f"2026-01-01 12:00:00 ERROR byoc_lab.errors.{place.error}: {_said(place)}")
    logs.append(f"tvm.error.InternalError: {place.error}: {_said(place)}")
    logs.append(in_pytest(f"byoc_lab.errors.{place.error}: {_said(place)}"))
    if place.is_recognizable:
        logs += [around(_said(place)) for around in FORMS.values()]
    for log in logs:
        found = decode(log)
        assert found and found.cause and found.what_to_do, log
        assert "{" not in found.what_to_do


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (lambda a: 1 / 0, "its function failed at "),
        (lambda a: os.kill(os.getpid(), signal.SIGKILL), "its function crashed its process"),
        (lambda a: os._exit(3), "its function ended its process (exit status 3)"),
        (lambda a: None, "its function returned None"),
    ],
)
def test_failing_region_is_decoded_without_the_class_name(
    fails: Callable[[Any], Any], said: str
) -> None:
    region = backends.PythonRegion(fails, isolated="failed at" not in said)
    backends.register("failing", supports=["abs"], codegen=lambda function, symbol: region)
    try:
        x = relay.var("x", shape=(2,))
        mod = byoc_lab.trace(relay.IRModule.from_expr(relay.abs(x)), "failing").result
        with pytest.raises(RegionError) as caught:
            byoc_lab.build(mod).run([np.ones(2, "float32")])
    finally:
        backends.unregister("failing")
    for form, around in FORMS.items():
        (found,) = decode(around(str(caught.value)))
        assert found.name == "own-region-error" and said in found.cause, form
        assert found.cause.startswith("region @") and found.what_to_do == RegionError.advice


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "said",
    [
        "region @silent: its code returned -1, which says that it failed, and set no error",
        "region @f: DNNL has no tuples but the result. Leave tuple out of the region",
    ],
)
def test_any_message_about_a_region_is_decoded_without_the_class_name(form: str, said: str) -> None:
    (found,) = decode(FORMS[form](said))
    assert found.cause == said and found.what_to_do


def test_only_few_messages_are_recognized_by_their_class_name_alone() -> None:
    """These are composed elsewhere, or consist of values alone."""
    short = [place for place in PLACES if not place.is_recognizable]
    assert len(short) < len(PLACES) / 6, [_ids(p) for p in short]


def test_each_error_class_of_byoc_has_its_own_advice() -> None:
    for name in BYOC:
        assert own_errors()[name].advice != ByocLabError.advice, name


def test_findings_of_a_module_explain_its_build_error() -> None:
    tensor = "Tensor[(4), float32]"
    mod = InferType()(
        relay.parse(
            f"def @main(%x: {tensor}) {{\n  @f(%x)\n}}\n"
            f'def @f(%x: {tensor}, Compiler="dnnl", Primitive=1, global_symbol="f") {{\n'
            "  erf(%x)\n}"
        )
    )
    with pytest.raises(BuildError) as caught:
        byoc_lab.build(mod)
    for said in (caught.value, str(caught.value)):
        found = decode(said, mod)
        assert found.rule == "BYL026" and found[0].findings


@pytest.mark.parametrize(
    "text", ["ValueError: expected a tensor", "region", "RegionError", "is a str, expected an int"]
)
def test_unrelated_text_is_not_decoded(text: str) -> None:
    assert not decode(text)


def test_error_of_a_user_s_class_is_decoded() -> None:
    class NpuError(BuildError):
        """An error class of a user's back end."""

        advice = "Ask the vendor"

    found = decode(NpuError("no kernel for this"))
    assert found.cause == "no kernel for this" and found.what_to_do == "Ask the vendor"
