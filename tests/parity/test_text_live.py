"""Random modules with every feature of the text format, between byoc_lab and a live TVM 0.16.

TVM gets each module twice: as JSON (`recipe.py`) and as the text that byoc_lab prints. It must read
exactly this module from the text; and byoc_lab must read this module from TVM's text.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, note, settings

from byoc_lab import relay
from byoc_lab.errors import ParseError
from tests.relay.text import rich
from tests.sweeps import some

from .client import Oracle
from .recipe import recipe_of

pytestmark = [pytest.mark.oracle, pytest.mark.slow]
THOROUGH = settings(
    max_examples=some(400), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    assert found is not None
    with found:
        yield found


@THOROUGH
@given(mod=rich.modules(of=rich.READ_BY_TVM))
def test_tvm_reads_exactly_the_module_in_byoc_lab_s_text(
    oracle: Oracle, mod: relay.IRModule
) -> None:
    built, read = oracle.run(recipe_of(mod), [{"reads": mod.astext(for_tvm=True)}])
    assert built.error is None, built.error
    assert read.error is None, read.error.message


@THOROUGH
@given(mod=rich.modules(of=rich.PRINTED_BY_TVM))
def test_byoc_lab_reads_exactly_the_module_in_tvm_s_text(
    oracle: Oracle, mod: relay.IRModule
) -> None:
    (built,) = oracle.run(recipe_of(mod), [])
    note(built.text)
    try:
        read = relay.parse(built.text)
    except ParseError:
        # TVM prints a value that two scopes share in one of them, which may be the later one.
        _, own = oracle.run(recipe_of(mod), [{"reads": built.text}])
        assert own.error is not None, "TVM reads it"
    else:
        relay.assert_structural_equal(read, mod)
