"""Boxes keep their position from stage to stage of the DNNL pipeline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.relay import testing

PLACES = Path(__file__).parents[1] / "js" / "places.mjs"
NETWORKS = {
    "mobilenet": testing.mobilenet.get_workload,
    "squeezenet": testing.squeezenet.get_workload,
    "resnet-50": lambda: testing.resnet.get_workload(num_layers=50),
}


def scenes(name: str) -> list[Any]:
    mod, params = NETWORKS[name]()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    parts = Parts(byoc_lab.trace(mod, "dnnl"), whole=False)
    stages = (parts.part(n)["stage"] for n in range(len(parts.trace)))
    return [parts.builder.modules[stage["after"]]["scene"] for stage in stages]


@pytest.mark.parametrize(
    ("name", "mean", "most"),
    [
        ("mobilenet", 9, 120),
        ("squeezenet", 6, 105),
        pytest.param("resnet-50", 9, 115, marks=pytest.mark.slow),
    ],
)
def test_remaining_boxes_move_little(name: str, mean: int, most: int, tmp_path: Path) -> None:
    """In pixels, on a screen of 1,600 x 1,000 with boxes about 300 pixels wide, from each stage to
    the next that keeps at least half of the boxes.

    Boxes that move far are beside regions that were merged.
    """
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail("node is not installed; CI must have it")
        pytest.skip("node is not installed; it runs the layout")
    path = tmp_path / "scenes.json"
    drawn = scenes(name)
    for scene in drawn:
        assert [box["group"] for box in scene["boxes"] if box["kind"] == "input"] == [-1]
    path.write_text(json.dumps(drawn))
    done = subprocess.run([node, PLACES, path], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    moved = json.loads(done.stdout)
    assert moved["mean"] < mean
    assert moved["most"] < most
