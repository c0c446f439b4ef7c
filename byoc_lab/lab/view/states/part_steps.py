"""`PartSteps`: the steps of a stage with large modules; each shows the surroundings of its
rewrite."""

from __future__ import annotations

from functools import partial

from byoc_lab.errors import counted
from byoc_lab.lab.tracing import Stage
from byoc_lab.lab.tracing.cutting import Part
from byoc_lab.lab.tracing.neighbourhood import Neighbourhood, Neighbourhoods
from byoc_lab.lab.view.drawing.elements import Picture
from byoc_lab.lab.view.drawing.groups import framed
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.drawing.scene import scene_of
from byoc_lab.lab.view.messages import Drawing, Step
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.state import Builder, content_of
from byoc_lab.relay.ir.expr import Expr, Var


class PartSteps:
    """The steps of one stage. `ids`: the ids of the nodes of its input."""

    def __init__(self, stage: Stage, ids: Ids):
        self._stage = stage
        self._around = Neighbourhoods(stage)
        self._ids = ids

    def step(self, rewrite: int) -> Step | None:
        """The step to a rewrite; None if the whole module is to be shown."""
        step = self._around.step(rewrite)
        if step is None:
            return None
        self._ids.follow_root(self._stage.provenance, step.round)
        sides = step.before, step.after
        earlier, later = map(self._ids.follow_part, sides)
        event = self._stage.events[rewrite - 1]
        modules = step.before.module, step.after.module
        replaced = self._ids.marked(event, later - earlier, *modules)
        builder = Builder(self._ids, {content_of(side.module): self._drawn(side) for side in sides})
        before, after, hunks = builder.compare(step.diff)
        _, shown, _ = calls = step.after.part.calls
        return {
            "rewrite": rewrite,
            "modules": [builder.modules[before], builder.modules[after]],
            "hunks": hunks,
            "replaced": sorted(replaced),
            "event": builder.event(event),
            "part": f"Shown: {counted(shown, 'call')} around it, of {sum(calls):,}, as a module.",
            "pending": "",
        }

    def prepare(self) -> None:
        """Compute the data that all steps share."""
        for found in self._around.prepare():
            self._ids.follow_root(self._stage.provenance, found)

    def _drawn(self, side: Neighbourhood) -> Drawing:
        """The fields of a module that come from its graph."""
        regions = side.part.regions
        cut = {node: regions[value] for node, value in side.origins.items() if value in regions}
        picture = picture_of(side.module, side.numbers, cut)
        _name_ends(picture, side.part)
        scene = scene_of(picture, partial(self._id, side), framed(picture))
        return {"stats": picture.stats(), "graph_note": "", "scene": scene}

    def _id(self, side: Neighbourhood, node: Expr) -> str | None:
        """The id of a node in the graph; None for a placeholder that represents the rest of the
        module."""
        origin = side.origins.get(node)
        shown = origin is not None and origin not in side.part.given
        return self._ids.drawn(node) if shown else None


def _name_ends(picture: Picture, part: Part) -> None:
    """Label the boxes at both ends of a part with the number of operators that are not drawn."""
    before, _, after = part.calls
    for box in picture.boxes:
        main = box.exprs[0] if box.exprs else None
        if isinstance(main, Var) and main.vid is part.before.vid:
            box.title, box.detail = f"{counted(before, 'call')} before", ""
    if not part.is_end:
        output = next(box for box in picture.boxes if box.kind == "output")  # @main is first
        output.title, output.detail = f"{counted(after, 'call')} after", ""
        for arrow in picture.arrows:
            arrow.crossing &= arrow.target is not output  # the region continues outside the part
