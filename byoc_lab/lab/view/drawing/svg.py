"""Renders a picture with its layout as SVG.

Colours are CSS classes, styled by `static/graph/graph.css` with the same variables as the rest of
the view, so one drawing serves the light and the dark theme. The label and the pattern of a region
identify it as well as its colour. `_text` escapes all text that comes from a module.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from byoc_lab.errors import counted
from byoc_lab.lab.view.drawing.elements import Box, Picture, PictureFrame
from byoc_lab.lab.view.drawing.layout import PictureLayout, Rectangle

COLOURS = 6  # a colour-blind-safe set (Okabe and Ito, 2008), in graph.css
PAD = 6.0

# One pattern per region colour, drawn in that colour: lines in various directions, and dots.
_PATTERNS = (
    '<path d="M-1 9L9-1M-1 1L1-1M7 9L9 7"/>',
    '<circle cx="2" cy="2" r=".9"/><circle cx="6" cy="6" r=".9"/>',
    '<path d="M-1-1L9 9M7-1L9 1M-1 7L1 9"/>',
    '<path d="M0 4H8"/>',
    '<path d="M4 0V8"/>',
    '<path d="M0 4H8M4 0V8"/>',
)


def svg_of(picture: Picture, layout: PictureLayout, style: str) -> str:
    """The SVG text of a self-contained drawing, which includes the CSS `style`."""
    w, h = layout.width + 2 * PAD, layout.height + 2 * PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="byl-graph" role="img" '
        f'aria-label="{_text(_summary(picture))}" viewBox="0 0 {w:.0f} {h:.0f}" '
        f'width="{w:.0f}" height="{h:.0f}">',
        f'<style>{style}</style><rect class="byl-ground" width="100%" height="100%" rx="6"/>',
        _definitions(picture),
        f'<g class="byl-zoom"><g transform="translate({PAD:g} {PAD:g})">',
    ]
    for frame in picture.frames:
        if frame in layout.frames:
            parts.append(_frame(frame, layout.frames[frame]))
    for arrow in picture.arrows:
        (x, y), *rest = layout.curves[arrow]
        path = f"M{x:.1f} {y:.1f}C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in rest)
        classes = "byl-arrow byl-crossing" if arrow.crossing else "byl-arrow"
        title = "<title>crosses a region border without an annotation</title>"
        parts.append(
            f'<path class="{classes}" d="{path}">{title}</path>'
            if arrow.crossing
            else f'<path class="{classes}" d="{path}"/>'
        )
    # labels of frames after the arrows, because arrows would cross them out
    for frame in picture.frames:
        if frame in layout.frames:
            parts.append(_label(frame, layout.frames[frame]))
    for box in picture.boxes:
        parts.append(_box(box, layout.boxes[box]))
    parts.append("</g></g></svg>")
    return "".join(parts)


def _definitions(picture: Picture) -> str:
    used = sorted({f.colour % COLOURS for f in picture.frames if f.colour is not None})
    patterns = "".join(
        f'<pattern id="byl-p{n}" class="byl-c{n}" width="8" height="8" '
        f'patternUnits="userSpaceOnUse">{_PATTERNS[n]}</pattern>'
        for n in used
    )
    head = '<path d="M0 0L6 3L0 6z"/>'
    marker = (
        '<marker id="byl-{0}" class="byl-{0}" viewBox="0 0 6 6" refX="5.6" refY="3" '
        'markerUnits="userSpaceOnUse" markerWidth="7" markerHeight="7" orient="auto">'
        + head
        + "</marker>"
    )
    return f"<defs>{patterns}{marker.format('head')}{marker.format('head-bad')}</defs>"


def _frame(frame: PictureFrame, at: Rectangle) -> str:
    n = "" if frame.colour is None else frame.colour % COLOURS
    colour = f" byl-c{n}" if frame.colour is not None else ""
    rect = f'x="{at.x:.1f}" y="{at.y:.1f}" width="{at.w:.1f}" height="{at.h:.1f}" rx="7"'
    fill = f'<rect {rect} fill="url(#byl-p{n})"/>' if colour else ""
    return (
        f'<g class="byl-frame byl-{frame.kind}{colour}">'
        f"<title>{_text(frame.label)}</title>"
        f'<rect class="byl-border" {rect}/>{fill}</g>'
    )


def _label(frame: PictureFrame, at: Rectangle) -> str:
    colour = f" byl-c{frame.colour % COLOURS}" if frame.colour is not None else ""
    text = _text(_fit(frame.label, int(at.w / 5.9) - 1))
    where = f'x="{at.x + 8:.1f}" y="{at.y + 13:.1f}"'
    return f'<text class="byl-label byl-{frame.kind}{colour}" {where}>{text}</text>'


def _box(box: Box, at: Rectangle) -> str:
    colour = box.frame.colour if box.frame else None
    tint = f" byl-c{colour % COLOURS}" if colour is not None else ""
    round_ = at.h / 2 if box.kind in ("begin", "end", "input", "output") else 4
    middle = at.x + at.w / 2
    title_y = at.y + (at.h / 2 + 3.8 if not box.detail or at.h < 20 else 14.5)
    detail = ""
    if box.detail and at.h >= 20:
        where = f'x="{middle:.1f}" y="{at.y + 26.5:.1f}"'
        detail = f'<text class="byl-detail" {where}>{_text(box.detail)}</text>'
    tip = f"{box.title} {box.detail}".strip()
    if box.weights:
        tip += f", {counted(box.weights, 'weight')} not drawn"
    return (
        f'<g class="byl-box byl-{box.kind}{tint}"><title>{_text(tip)}</title>'
        f'<rect x="{at.x:.1f}" y="{at.y:.1f}" width="{at.w:.1f}" height="{at.h:.1f}" '
        f'rx="{round_:g}"/><text x="{middle:.1f}" y="{title_y:.1f}">{_text(box.title)}</text>'
        f"{detail}</g>"
    )


def _fit(label: str, room: int) -> str:
    """A label shortened in the middle, which is the least informative part of a name."""
    if len(label) <= room or room < 8:
        return label if len(label) <= room else label[: max(room, 1)]
    head = room // 3
    return f"{label[:head]}…{label[head + 1 - room :]}"


def _summary(picture: Picture) -> str:
    ops = sum(b.kind == "op" for b in picture.boxes)
    return f"Dataflow graph: {counted(ops, 'operator')}, {counted(picture.regions, 'region')}"


def _text(value: str) -> str:
    """Text for XML: escaped, without the control characters that XML forbids."""
    clean = "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in value)
    return escape(clean, {'"': "&quot;", "'": "&#39;"})
