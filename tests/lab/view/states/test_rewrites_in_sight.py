"""The box of each rewrite is drawn, inside the window, in readable type."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from byoc_lab.lab.view.assets import STATIC
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.rewrites import Steps
from tests.lab.view.javascript import node
from tests.lab.view.samples import chain, mobilenet
from tests.lab.view.states.test_rewrites import (
    inception,
    layers_with_parameters,
    resnet,
    transformer,
)

# The page's processing of a step, for the graph's window on a screen of 1600 x 1000.
SHOWN = """
const graph = process.argv[1];
const { layOut } = await import(`${graph}/layout.js`);
const { firstNew, newIn } = await import(`${graph}/scene_search.js`);
const { Camera } = await import(`${graph}/camera.js`);
const canvas = { clientWidth: 760, clientHeight: 700, dataset: {}, addEventListener() {} };
const room = { w: canvas.clientWidth - 24, h: canvas.clientHeight - 24 };
const said = { folded: [], outside: [], small: [] };
let text = "";
for await (const part of process.stdin) text += part;
for (const { name, before, after, replaced } of JSON.parse(text)) {
  const { key, around } = firstNew(after, newIn(after, before, new Set(replaced)));
  const open = after.groups.filter((g) => g.open || around.includes(g.id)).map((g) => g.id);
  const placed = layOut(after, open, room);
  const node = placed.nodes.find((n) => n.key === key);
  if (!node) { said.folded.push(name); continue; }
  const camera = new Camera(canvas, { setAttribute() {} }, () => {}, null);
  camera.size = placed;
  camera.fitAround(node);
  if (!camera.shows(node)) said.outside.push(name);
  if (16 * camera.scale < 12) said.small.push(name);
}
console.log(JSON.stringify(said));
"""
SAMPLED = 4  # number of checked rewrites per pass


@pytest.mark.parametrize(
    ("network", "of_each"),
    [
        pytest.param(layers_with_parameters, SAMPLED, id="some of a chain of layers"),
        pytest.param(layers_with_parameters, None, id="chain of layers", marks=pytest.mark.slow),
        pytest.param(lambda: chain(True), None, id="chain of blocks"),
        pytest.param(mobilenet, None, id="mobilenet", marks=pytest.mark.slow),
        pytest.param(transformer, None, id="transformer", marks=pytest.mark.slow),
        pytest.param(resnet, SAMPLED, id="resnet-50", marks=pytest.mark.slow),
        pytest.param(inception, SAMPLED, id="inception-v3", marks=pytest.mark.slow),
    ],
)
def test_box_of_each_rewrite_is_open_in_the_window_and_readable(
    network: Any, of_each: int | None
) -> None:
    trace = network()
    steps = Steps(trace, state_and_ids(trace)[1])
    sent = []
    for n, stage in enumerate(trace.stages):
        count = len(stage.events)
        for rewrite in range(1, count + 1, max(1, count // of_each) if of_each else 1):
            step = steps.step(n, rewrite, "picture")
            before, after = (module["scene"] for module in step["modules"])
            name = f"{stage.name} {rewrite}"
            sides = {"before": before, "after": after, "replaced": step["replaced"]}
            sent.append({"name": name, **sides})
    assert sent
    command = [node(), "--input-type=module", "--eval", SHOWN, (STATIC / "graph").as_uri()]
    done = subprocess.run(
        command, input=json.dumps(sent), capture_output=True, text=True, check=True, timeout=600
    )
    assert json.loads(done.stdout) == {"folded": [], "outside": [], "small": []}
