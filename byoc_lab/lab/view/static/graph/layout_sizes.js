// Sizes in the drawing, in pixels at scale 1, for text of 16 px; `enough`: the scale at which the
// text is large enough, 13.6 px.
export const SIZES = { char: 9.65, line: 21, pad: 12, gapX: 26, gapY: 40, opener: 26, head: 30, column: 56, wire: 10, longest: 24, enough: 0.85 };
