"""Operators defined in compat: registered by `import byoc_lab.compat`, and named in the core's
errors before it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.relay.op import IN_COMPAT

BEFORE = """
from byoc_lab import relay
from byoc_lab.errors import ParseError

core = set(relay.Op.list_op_names())
text = '#[version = "0.0.5"]\\nfn (%x: Tensor[(4), int64]) { invert_permutation(%x) }'
try:
    relay.parse_expr(text)
except ParseError as error:
    assert "import byoc_lab.compat" in str(error), error
else:
    raise AssertionError("read without compat")
try:
    relay.nn.contrib_conv2d_nchwc
except AttributeError as error:
    assert "import byoc_lab.compat" in str(error), error
else:
    raise AssertionError("found without compat")

import byoc_lab.compat

assert relay.parse_expr(text).body.op.name == "invert_permutation"
assert relay.nn.contrib_conv2d_nchwc
print(*sorted(set(relay.Op.list_op_names()) - core))
"""


def test_core_error_names_the_operators_of_compat() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEFORE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == IN_COMPAT


def test_builder_attribute_is_the_same_object_each_time() -> None:
    assert relay.reverse_reshape is relay.reverse_reshape
    assert relay.annotation.on_device is relay.annotation.on_device
    with pytest.raises(
        AttributeError,
        match=r"'byoc_lab\.relay\.nn' has no attribute 'conv9d'; did you mean 'conv3d'",
    ):
        _ = relay.nn.conv9d
