"""Seeds: invalid ones are refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.cli import main
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons import check, exercise, mobilenet
from byoc_lab.relay.testing.init import Initializer
from byoc_lab.run.build import build

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 4), float32]) { nn.relu(%x) }'
MODULE = relay.parse(TEXT)
DOORS: dict[str, Callable[[Any], object]] = {
    "validate": lambda seed: byoc_lab.validate(MODULE, MODULE, seed=seed),
    "bisect": lambda seed: byoc_lab.bisect(MODULE, ["InferType"], seed=seed),
    "exercise": lambda seed: exercise("annotate-diamond", seed),
    "check": lambda seed: check("order-the-passes", ["InferType"], seed),
    "mobilenet": lambda seed: mobilenet.image(8, seed),
    "initializer": lambda seed: Initializer().seed(seed),
    "inputs": lambda seed: build(MODULE).example_inputs(seed),
}


@pytest.mark.parametrize("seed", [-1, 2**32, 2.5, "a", None], ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_invalid_seed_is_refused_with_the_range(door: str, seed: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"a seed must be (an int|from 0 to 2\*\*32 - 1), found"
    ):
        DOORS[door](seed)


@pytest.mark.parametrize("command", ["validate", "bisect"])
def test_negative_seed_on_the_command_line_exits_with_usage_error(
    command: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "relu.relay"
    file.write_text(TEXT)
    assert main([command, str(file), "--seed", "-1"]) == 2
    assert "a seed must be from 0 to 2**32 - 1, found -1" in capsys.readouterr().err
