"""The node tests of the onnx package: right results, or an error that names the operator."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.errors import BuildError, PassError
from tests.importers.onnx import nodes

pytestmark = pytest.mark.skipif(
    nodes.FOLDER is None, reason="the data of onnx 1.14.1 is not installed"
)

AT_LEAST = 850  # TVM 0.16's importer accepts 743 of the 924 tests, and 666 give right results
ALL = 924
CHUNKS = 8
NAMES_ITS_NODE = re.compile(
    r"(node '.+'|the node that (computes '.+'|has no outputs)), operator \S+, opset \d+"
)


@cache
def outcomes() -> list[nodes.Outcome]:
    return [nodes.outcome(name) for name in nodes.names()]


def test_every_node_test_is_right_or_refused_with_the_operator() -> None:
    assert len(outcomes()) == ALL
    assert sum(o.kind in ("right", "frozen") for o in outcomes()) >= AT_LEAST
    for one in outcomes():
        assert one.kind != "refused" or NAMES_ITS_NODE.search(one.error), one


def test_importers_page_has_these_results() -> None:
    """`python -m tests.importers.onnx.nodes` writes them."""
    text = nodes.PAGE.read_text(encoding="utf-8")
    assert text == nodes.written(text, nodes.page(outcomes()))


def _built(mod: Any, inputs: list[Any]) -> list[np.ndarray]:
    return byoc_lab.build(mod).run([np.asarray(value) for value in inputs])


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_compiled_nodes_give_the_stored_results(chunk: int) -> None:
    """Except for nodes that need a size or a parameter at compile time."""
    compiled = 0
    for name in nodes.names()[chunk::CHUNKS]:
        with suppress(BuildError, PassError):
            compiled += nodes.outcome(name, _built).kind != "refused"
    assert compiled > 0.7 * ALL / CHUNKS
