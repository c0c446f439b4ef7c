"""The playground of the laboratory in one file: inputs, passes, links."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from playwright.sync_api import expect

from byoc_lab.lessons import cases
from tests.lite.test_playground import CAUSES, CHOICES, looked
from tools.lite.choices import SAMPLE

from .conftest import Tab
from .laboratory import Laboratory

pytestmark = pytest.mark.browser


def link(value: Any) -> str:
    """The part of an address that encodes an input, as link.js writes it."""
    return encoded(json.dumps(value).encode())


def encoded(data: bytes) -> str:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(data) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def shown(lab: Laboratory) -> Any:
    return lab.page.locator("#play-shown")


def expect_passes(lab: Laboratory, *names: str) -> None:
    """Waits until these passes are shown, because a link is read after a delay."""
    expect(lab.page.locator("#play-passes li")).to_have_text([*names])


def run(lab: Laboratory) -> None:
    lab.page.get_by_role("button", name="Run", exact=False).filter(visible=True).first.click()
    lab.settle()


def test_first_screen_steps_through_a_network_before_python_runs(tab: Tab) -> None:
    page = tab().page
    expect(page.locator("body")).to_have_attribute("data-python", "starting")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "See what each pass does to your network"
    )
    page.set_viewport_size({"width": 1280, "height": 800})
    stepper = page.locator("#play-shown .byl[data-ready]")
    at = int(stepper.get_attribute("data-index"))
    place = stepper.bounding_box()
    assert place["width"] > 0.9 * 1280
    assert place["y"] < 0.66 * 800
    stepper.locator(".byl-next").click()
    expect(stepper).to_have_attribute("data-index", str(at + 1))


def test_case_shows_its_finding_fix_and_passes(lab: Laboratory) -> None:
    lab.open("playground")
    lab.page.locator("#play-case").select_option("nested-partition")
    lab.settle()
    expect(shown(lab)).to_contain_text("BYL001")
    headings = shown(lab).locator(":scope > h2")
    expect(headings).to_have_text(["Step by step", "Findings", "Fix"])
    expect_passes(lab, "PartitionGraph")


def test_address_with_an_input_shows_the_input_and_runs_nothing(lab: Laboratory) -> None:
    lab.open("playground")
    lab.page.locator("#play-case").select_option("let-bound-calls")
    expect(shown(lab)).to_contain_text("BYL004")
    lab.page.locator("#play-link").click()  # the address has this input now, not after a delay
    expect(lab.page.locator("#play-said")).to_contain_text("Whoever opens it sees the input")
    address = lab.page.evaluate("() => location.hash.slice(1)")
    first = lab.page.url
    lab.page.locator("#play-case").select_option("nested-partition")
    expect(shown(lab)).to_contain_text("BYL001")
    expect(lab.page).not_to_have_url(first)  # the address is updated after a delay
    lab.show(address)
    expect(lab.page.locator("#play-said")).to_contain_text("Nothing has run yet")
    expect(shown(lab).locator(":scope > *")).to_have_count(0)
    expect(lab.page.locator("body")).to_have_attribute("data-python", "ready")
    run(lab)
    expect(shown(lab)).to_contain_text("BYL004")


def test_address_with_a_new_input_clears_the_earlier_results(
    lab: Laboratory,
) -> None:
    lab.open("playground")
    lab.page.locator("#play-case").select_option("nested-partition")  # also runs the case
    lab.show(f"playground/{link({**SAMPLE, 'passes': ['InferType']})}")
    expect_passes(lab, "InferType")
    lab.settle()
    expect(lab.page.locator("#play-said")).to_contain_text("Nothing has run yet")
    expect(shown(lab).locator(":scope > *")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES["cases"])
def test_link_of_a_case_shows_the_headings_of_native_python(lab: Laboratory, name: str) -> None:
    texts = {key: CHOICES["cases"][name].get(key, "") for key in ("relay_text", "message")}
    lab.open(f"playground/{link({**SAMPLE, **texts, 'pipeline': name})}")
    expect(shown(lab).locator(":scope > *")).to_have_count(0)
    run(lab)
    headings = [heading for heading, _ in looked(name)]
    expect(shown(lab).locator(":scope > h2")).to_have_text(headings)
    expect(shown(lab).locator(".error, .stderr")).to_have_count(0)
    if (code := CAUSES.get(name, "")).startswith("BYL"):
        expect(shown(lab)).to_contain_text(code)


def test_link_written_by_python_is_read_by_the_page(lab: Laboratory) -> None:
    given = {**SAMPLE, "passes": ["InferType"], "message": "é"}
    lab.open(f"playground/{link(given)}")
    expect_passes(lab, "InferType")
    expect(lab.page.locator("[data-kind=message] .cm-content")).to_have_text("é")


HOSTILE = {
    "not base64": "!!!",
    "not deflated": "AAAA",
    "not JSON": encoded(b"<script>document.title = 1</script>"),
    "null": link(None),
    "a list": link([]),
    "no text": link({**SAMPLE, "relay_text": 1}),
    "not a list of passes": link({**SAMPLE, "passes": "InferType"}),
    "unknown pipeline": link({**SAMPLE, "pipeline": "nothing"}),
    "a name of objects": link({**SAMPLE, "pipeline": "__proto__"}),
    "a method of objects": link({**SAMPLE, "era": "constructor"}),
    "a bomb": encoded(b" " * 50_000_000),
    "nested": encoded(b"[" * 3_000_000),
    "not UTF-8": encoded(b'"\xff"'),
    "not an address": "%",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_link_changes_nothing(lab: Laboratory, name: str) -> None:
    lab.open(f"playground/{link({**SAMPLE, 'message': name})}")
    expect(lab.page.locator("#play-said")).to_contain_text("Nothing has run yet")
    before = lab.page.locator("#play-texts").inner_text()
    lab.show(f"playground/{HOSTILE[name]}")
    if name != "not an address":  # shows the playground without an input
        expect(lab.page.locator("#play-said")).to_contain_text("no input that can be read")
    assert lab.page.locator("#play-texts").inner_text() == before
    expect(shown(lab).locator(":scope > *")).to_have_count(0)
    expect(lab.page.locator("body")).to_have_attribute("data-python", "ready")


def test_input_that_is_markup_stays_text(lab: Laboratory) -> None:
    markup = "<img src=data:, onerror=document.title=1>"
    given = {**SAMPLE, "relay_text": markup, "message": markup, "passes": [markup]}
    lab.open(f"playground/{link(given)}")
    run(lab)
    expect(shown(lab)).to_contain_text("The Relay text cannot be read")
    expect(lab.page.locator("#playground img")).to_have_count(0)
    assert "Playground" in lab.page.title()


def test_pattern_table_is_python_code_that_runs_on_demand(lab: Laboratory) -> None:
    table = (
        "from byoc_lab.relay.dataflow_pattern import is_op, wildcard\n"
        "conv2d = is_op('nn.conv2d')(wildcard(), wildcard())\n"
        "[('mychip.conv2d', conv2d), ('mychip.conv2d_relu', is_op('nn.relu')(conv2d))]"
    )
    plain = cases.get("shadowed-pattern")
    assert isinstance(plain, cases.LiveCase)
    text = plain.plain().astext()
    lab.open(f"playground/{link({**SAMPLE, 'relay_text': text, 'table': table})}")
    expect(lab.page.locator("#play-said")).to_contain_text("the Python code of its pattern table")
    run(lab)
    report = shown(lab).locator("h2:text-is('Pattern table') + .shown")
    expect(report).to_contain_text("mychip.conv2d_relu")
    expect(report).to_contain_text("shadowed")


def test_passes_are_moved_removed_and_inserted_by_keyboard(lab: Laboratory) -> None:
    lab.open(f"playground/{link({**SAMPLE, 'passes': ['InferType', 'FoldConstant']})}")
    expect_passes(lab, "InferType", "FoldConstant")
    lab.page.locator("#play-passes li button").first.focus()
    lab.page.keyboard.press("Alt+ArrowRight")
    expect_passes(lab, "FoldConstant", "InferType")
    lab.page.keyboard.press("ArrowLeft")
    lab.page.keyboard.press("Delete")
    expect_passes(lab, "InferType")
    lab.page.get_by_label("Insert a pass").select_option("SimplifyInference")
    expect_passes(lab, "InferType", "SimplifyInference")
    lab.page.get_by_label("Code of").or_(
        lab.page.locator("[data-kind=relay_text] .cm-content")
    ).first.focus()
    lab.page.keyboard.press("ControlOrMeta+Enter")
    stages = shown(lab).locator(".byl[data-ready]").first
    expect(stages).to_contain_text("SimplifyInference")
    expect(stages).not_to_contain_text("PartitionGraph")


def test_era_runs_the_passes_of_that_tvm_version(lab: Laboratory) -> None:
    lab.open("playground")
    lab.page.locator("#play-case").select_option("nested-partition")
    lab.settle()
    lab.page.get_by_label("Behaves like").select_option("2020-01")
    run(lab)
    expect(shown(lab)).to_contain_text("BYL003")  # nested regions
