"""The lines of Relay text (`Line`) and the printing styles (`STYLES`).

"0.0.5" is what TVM 0.16 prints, "0.7" and "0.0.4" what TVM printed in 2020. The styles differ in
when numbers are assigned, which nodes get type comments, and how attributes that need the metadata
section are written.

Source: the text printers of TVM 0.16, 0.7 and 0.6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from byoc_lab.relay.ir.node import Expr


@dataclass(frozen=True)
class Style:
    """The differences between the printers of different years.

    late_numbers: a node gets its number when its first user is printed, not when the node itself is
    printed. note_all: variables, functions, tuples and projections also get type comments.
    sorted_functions: functions are sorted by name, not in the order of the module.
    doubled: a constant in the metadata gets two type comments.
    old_attributes: attributes of unknown class are printed as `meta[T][i]`, even if the metadata is
    not shown. suffixes: dtype of a scalar -> suffix after the digits; scalars of other dtypes are
    put into the metadata.
    """

    header: str
    metadata_mark: str
    metadata_omitted: tuple[str, ...]
    late_numbers: bool
    note_all: bool
    sorted_functions: bool
    doubled: bool
    old_attributes: bool
    suffixes: dict[str, str]


_OMITTED = (
    "/* For debugging purposes the metadata section has been omitted.",
    " * If you would like to see the full metadata section you can set the ",
    " * option to `True` when invoking `astext`. ",
    " */",
)
_OMITTED_OLD = ("// meta data omitted. you can use show_meta_data=True to include meta data",)
_HEADER = '#[version = "0.0.5"]'
_SUFFIXES = {
    "int16": "i16",
    "int32": "",
    "int64": "i64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
}
_OLD_SUFFIXES = {"int32": "", "int64": "", "float32": "f", "float64": ""}
STYLES = {
    "0.0.5": Style(_HEADER, "#[metadata]", _OMITTED, True, True, True, False, False, _SUFFIXES),
    "0.7": Style(_HEADER, "#[metadata]", _OMITTED, False, False, False, False, True, _OLD_SUFFIXES),
    "0.0.4": Style(
        "v0.0.4", "METADATA:", _OMITTED_OLD, False, False, False, True, True, _OLD_SUFFIXES
    ),
}


@dataclass(slots=True)
class Line:
    """One line of a text.

    text: the line, indented.
    node: the expression that the line defines or begins; None for `}` and the like.
    function: name of the global function it belongs to.
    refs: `%3`, `%x` and `@f` on the line -> the nodes that they refer to.
    defines: `%3` or `%x`, if the line defines it.
    """

    text: str
    node: Expr | None = None
    function: str | None = None
    refs: dict[str, Expr] = field(default_factory=dict)
    defines: str | None = None


class Indented(list):
    """Lines (and nested blocks) that are indented one level deeper than the surrounding lines."""
