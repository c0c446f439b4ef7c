"""Scenes: pictures whose groups can be closed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.drawing.scene import colour_of, scene_of
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lessons import mobilenet as lessons_mobilenet
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn
from tests.lab.view.samples import chain, lists, mobilenet


def scene(mod: Any) -> dict[str, Any]:
    ids = Ids()
    return scene_of(picture_of(mod), ids.of)


def top(made: dict[str, Any]) -> list[tuple[str, ...]]:
    """The texts of the drawn boxes when all groups are closed."""
    boxes = [b["lines"] for b in made["boxes"] if b["group"] < 0]
    return boxes + [g["lines"] for g in made["groups"] if g["group"] < 0]


def test_scene_is_plain_data_with_unique_ids() -> None:
    for stage in mobilenet():
        made = scene(stage.after)
        assert json.loads(json.dumps(made)) == lists(made)
        for kind in ("boxes", "groups"):
            names = [x["id"] for x in made[kind]]
            assert len(names) == len(set(names)), stage.name
        for n, group in enumerate(made["groups"]):
            assert group["group"] < n, "a group comes after the group that it is in"


def test_mobilenet_is_drawn_as_about_a_dozen_boxes() -> None:
    for stage in mobilenet():
        made = scene(stage.after)
        assert len(top(made)) <= 14, stage.name
        (repeat,) = [g for g in made["groups"] if g["group"] < 0 and g["kind"] == "repeat"]
        assert repeat["lines"][-1] == "13 times"


def test_operator_names_stay_whole_if_some_are_omitted() -> None:
    made = scene(byoc_lab.trace(lessons_mobilenet.module(), "dnnl").result)
    large = next(g for g in made["groups"] if g["kind"] == "external")
    assert large["lines"][:3] == (
        "conv2d + add + relu +",
        "depthwise conv2d + add + relu",
        "… + global_avg_pool2d",
    )


def test_repeated_block_begins_with_its_convolution() -> None:
    made = scene(mobilenet()["MergeComposite"].before)
    repeat = next(g for g in made["groups"] if g["kind"] == "repeat")
    assert repeat["lines"][0].startswith("depthwise conv2d + add + relu")


def test_annotations_are_labels_of_arrows() -> None:
    made = scene(chain(fixed=True)["Annotate"].after)
    assert not {"begin", "end"} & {b["kind"] for b in made["boxes"]}
    begins = [begin for *_, begin, _ in made["arrows"] if begin]
    ends = [end for *_, end in made["arrows"] if end]
    assert len(begins) == 2 and len(set(ends)) == 2


def test_empty_region_keeps_its_annotations() -> None:
    from byoc_lab.relay.analysis.annotations import begin, end

    x = relay.var("x", shape=(2, 2))
    body = nn.relu(end(begin(x, "dnnl"), "dnnl"))
    made = scene(relay.IRModule.from_expr(relay.Function([x], body)))
    assert {"begin", "end"} <= {b["kind"] for b in made["boxes"]}


def test_operators_on_weights_are_one_box() -> None:
    made = scene(mobilenet()["SimplifyInference"].after)
    weights = [g for g in made["groups"] if g["kind"] == "weights"]
    assert len(weights) == 2 * 27
    assert weights[0]["lines"][1] == "on weights alone"


@pytest.mark.parametrize(("count", "boxes"), [(7, 9), (8, 4)])
def test_many_parameters_of_one_box_are_one_box(count: int, boxes: int) -> None:
    """The first input, which carries the data, stays separate."""
    inputs = [relay.var(f"x{n}", shape=(1, 4)) for n in range(count)]
    made = scene(InferType()(relay.IRModule.from_expr(relay.concatenate(inputs, axis=0))))
    assert len(top(made)) == boxes
    assert (("7 parameters",) in top(made)) == (count == 8)


def test_scene_has_every_arrow_of_the_picture() -> None:
    picture = picture_of(mobilenet()["FoldConstant"].after)
    made = scene_of(picture, Ids().of)
    assert len(made["arrows"]) == len(picture.arrows)


@pytest.mark.parametrize(
    ("compiler", "colour"), [(None, None), ("default", None), ("dnnl", 0), ("ccompiler", 1)]
)
def test_known_back_ends_have_fixed_colours(compiler: str | None, colour: int | None) -> None:
    assert colour_of(compiler) == colour


def test_unlisted_back_end_has_a_fixed_colour_other_than_the_host_colour() -> None:
    assert colour_of("mychip") not in (None, 0, 1)
    assert colour_of("mychip") == colour_of("mychip")


def test_regions_of_different_back_ends_have_different_colours() -> None:
    made = [g["colour"] for g in scene(chain(fixed=True)["PartitionGraph"].after)["groups"]]
    assert set(made) == {0}


def test_bidirectional_control_characters_are_escaped() -> None:
    """Otherwise "a<RLO>evil" would be displayed as "alive"."""
    x = relay.var("a\u202eevil\u202c", shape=(2,))
    scene = scene_of(picture_of(relay.IRModule.from_expr(relay.exp(x))), lambda node: None)
    shown = " ".join(line for box in scene["boxes"] for line in box["lines"])
    assert "\\u202eevil" in shown
    assert "\u202e" not in shown


def test_blocks_of_a_large_network_are_single_boxes() -> None:
    mod, _ = relay.testing.inception_v3.get_workload()
    made = scene(InferType()(mod))
    assert len(top(made)) < 24
    blocks = [g for g in made["groups"] if g["kind"] == "block"]
    assert len(blocks) >= 5
