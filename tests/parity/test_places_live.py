"""Where nodes are said to be, in modules read from text: byoc_lab beside a live TVM 0.16.

Both read the same text, and run the same pass over it; the texts they then print must be equal to
the last column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from byoc_lab import passes, relay
from byoc_lab.relay.ir.span import follow_tvm
from tests.relay.text import rich

from .client import Oracle, skip_reason
from .golden_files import GOLDEN

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.slow,
    pytest.mark.skipif(skip_reason() is not None, reason=str(skip_reason())),
]
THOROUGH = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
HEADER = '#[version = "0.0.5"]\n'

PLACE = re.compile(r"span=from_string:\d+:\d+")
PASSES = (
    "DeadCodeElimination",
    "DefuseOps",
    "FoldConstant",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "SimplifyInference",
    "ToGraphNormalForm",
)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    assert found is not None
    with found:
        yield found


@pytest.fixture(autouse=True)
def _as_in_tvm() -> Iterator[None]:
    follow_tvm()
    yield
    follow_tvm(False)


def shown(mod: relay.IRModule) -> str:
    return mod.astext(show_meta_data=False)


@THOROUGH
@given(mod=rich.modules(of=rich.READ_BY_TVM))
def test_places_of_what_was_read(oracle: Oracle, mod: relay.IRModule) -> None:
    # Real names, in comments that only byoc_lab reads, are another matter.
    text = re.sub(r" /\* name=.*? \*/", "", mod.astext(show_span=False))
    (read,) = oracle.run(text, [], places=True)
    assert read.error is None, read.error.message
    # Sorted: where TVM writes a use above its definition, byoc_lab does not.
    found, wanted = (sorted(PLACE.findall(t)) for t in (shown(relay.parse(text)), read.bare or ""))
    assert found == wanted and wanted


@pytest.mark.parametrize("name", PASSES)
def test_places_after_a_pass(oracle: Oracle, name: str) -> None:
    """What goes into each golden file of the pass, where TVM reads it."""
    compared = 0
    for path in sorted((GOLDEN / name).glob("*.relay")):
        text = path.read_text().split("// ---- after")[0]
        text = HEADER + text.partition(HEADER)[2]
        read, *after = oracle.run(text, [name], places=True, constants_up_to=0)
        if read.error is None and after[0].error is None:
            made = getattr(passes, name)()(relay.parse(text))
            assert shown(made) == after[0].bare, path.name
            compared += 1
    assert compared > 2
