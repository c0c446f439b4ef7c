"""The comparison itself: it must detect differences, or other tests here would prove nothing."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat import tvm

from .compare import difference, expected_error, missing, targets_registered

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2), float32]) {
  %0 = multiply(%x, 0.25f);
  nn.leaky_relu(%0, alpha=0.1f)
}
"""


def test_renamed_variables_are_not_a_difference() -> None:
    renamed = TEXT.replace("%x", "%other")
    assert difference(relay.parse(renamed), TEXT) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("multiply", "add", "different operators"),
        ("alpha=0.1f", "alpha=0.2f", "attribute 'alpha': 0.2 against 0.1"),
        ("(2, 2)", "(2, 3)", "type"),
        ("0.25f", "0.2501f", "values differ"),
        ("@main", "@other", "different sets of functions"),
    ],
)
def test_structural_differences_are_found_with_the_reason(old: str, new: str, why: str) -> None:
    found = difference(relay.parse(TEXT.replace(old, new)), TEXT)
    assert found is not None and why in found


def test_rounding_is_not_a_difference() -> None:
    """Six digits of a scalar in a text; rounding of a kernel in an array."""
    assert difference(relay.parse(TEXT.replace("0.25f", "0.2500005f")), TEXT) is None


def test_constants_without_metadata_are_compared_by_type() -> None:
    """A text without metadata has the shapes of constants, but not their values."""

    def module(shape: tuple[int, ...]) -> tvm.IRModule:
        x = relay.var("x", shape=(2, 2))
        body = relay.add(x, relay.const(np.ones(shape, "float32")))
        return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))

    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] {
  add(%x, meta[relay.Constant][0] /* ty=Tensor[(1, 2), float32] */)
}
"""
    with pytest.warns(UserWarning, match="metadata"):
        assert difference(module((1, 2)), text) is None
        found = difference(module((2, 1)), text)
    assert found is not None and "constants of different types" in found


def test_registered_predicates_are_restored() -> None:
    """Tests in other folders need the package's own predicates."""
    add = relay.op.get("add")
    before = add.get_attr("target.dnnl"), add.get_attr("target.A")
    with targets_registered():
        assert add.get_attr("target.A")(None)
    assert (add.get_attr("target.dnnl"), add.get_attr("target.A")) == before


def test_missing_pass_is_named() -> None:
    assert missing(["InferType", {"annotate": "vars"}, {"pass": "NoSuchPass"}]) == "NoSuchPass"
    assert missing(["InferType", {"sequential": ["FoldConstant"]}, "drop_let_begins"]) is None


def test_unknown_failure_raises_key_error() -> None:
    with pytest.raises(KeyError, match="Check failed: other"):
        expected_error("Check failed: other")
