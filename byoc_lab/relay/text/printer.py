"""Writing Relay text: `print_text`, and `print_lines` for tools that need the node of each line.

Source: the text printers of TVM 0.16, 0.7 and 0.6, checked against what they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from byoc_lab.errors import ArgumentError, UnknownNameError, nearest
from byoc_lab.relay.ir.adt import TypeData
from byoc_lab.relay.ir.expr import Expr, TupleWrapper
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.json.metadata import write_metadata
from byoc_lab.relay.text.json.writer import metadata_writer
from byoc_lab.relay.text.printer_lines import STYLES, Indented, Line, Style
from byoc_lab.relay.text.printer_nodes import MARKS, NodePrinter

# A level of nesting is indented by two blanks, up to this depth: otherwise a text of n nested
# blocks would have n * n blanks. White space has no meaning in Relay.
_MAX_INDENT = 40
_MARKS = re.compile("|".join(MARKS))
_TYPE = re.compile("[^\x03]*".join(MARKS))
_OPTIONS = ("show_meta_data", "header", "style", "show_types", "show_span", "exact", "for_tvm")


def print_text(
    obj: Expr | IRModule | TupleWrapper,
    show_meta_data: bool = True,
    annotate: Callable[[Expr], str] | None = None,
    **options: Any,
) -> str:
    """Relay text of a module or expression; see `print_lines` for the options.

    Raises ArgumentError for an option that does not exist.
    """
    for option in options:
        if option not in _OPTIONS:
            raise ArgumentError(f"a text has no option {option!r}; {nearest(option, _OPTIONS)}")
    lines, metadata = _print(obj, show_meta_data, annotate, **options)
    said = metadata and (show_meta_data or options.get("header", True))
    # As in TVM, a text that ends with a note on metadata has no final line break.
    ends = isinstance(obj, IRModule) and not (said and options.get("style", "0.0.5") == "0.0.5")
    return "\n".join(line.text for line in lines) + "\n" * ends


def print_shown(obj: Expr | IRModule, show_span: bool = False) -> str:
    """The result of `str`, as in TVM: the text without the note on omitted metadata."""
    lines, metadata = _print(obj, False, None, header=False, show_span=show_span)
    return "\n".join(line.text for line in lines) + "\n" * (isinstance(obj, IRModule) + metadata)


def print_lines(
    obj: Expr | IRModule | TupleWrapper,
    show_meta_data: bool = True,
    annotate: Callable[[Expr], str] | None = None,
    **options: Any,
) -> list[Line]:
    """The lines of `print_text`, each with its expression.

    Args:
        show_meta_data: whether constants and the like are appended, so that the text is complete.
        annotate: returns the text that follows an expression in place of its type.
        header: whether the version (and a note on omitted metadata) is printed.
        style: "0.0.5", "0.7" or "0.0.4".
        show_types: whether comments state types.
        show_span: whether comments state source locations.
        exact: whether parsing the text, by TVM or byoc_lab, must restore the module exactly:
            scalars get all their digits (TVM prints 6), values without a text form are put into the
            metadata, and a name that TVM prints but cannot parse is replaced by a similar one, with
            the real name in a comment. Default: with the metadata and without annotations, in style
            "0.0.5".
        for_tvm: whether attributes that TVM's parser reads only from the metadata are put there. If
            not, annotations show their compiler in the text: `compiler="dnnl"`.

    Raises UnknownNameError for an unknown style.
    """
    return _print(obj, show_meta_data, annotate, **options)[0]


def print_both(mod: IRModule) -> tuple[list[Line], list[Line]]:
    """The lines of a module with type comments, and the same lines without them, printed once.
    Neither has a header or metadata."""
    marked = _print(mod, False, None, header=False, mark_types=True)[0]
    typed = [_with_text(line, _MARKS.sub("", line.text)) for line in marked]
    return typed, [_with_text(line, _TYPE.sub("", line.text)) for line in marked]


def _with_text(line: Line, text: str) -> Line:
    return Line(text, line.node, line.function, line.refs, line.defines)


def _print(
    obj: Expr | IRModule | TupleWrapper,
    show_meta_data: bool,
    annotate: Callable[[Expr], str] | None,
    header: bool = True,
    style: str = "0.0.5",
    show_types: bool = True,
    show_span: bool = False,
    exact: bool | None = None,
    for_tvm: bool = False,
    mark_types: bool = False,
) -> tuple[list[Line], bool]:
    """The lines, and whether there is metadata, even if it is not shown."""
    if style not in STYLES:
        raise UnknownNameError(f"no text style is named {style!r}; there are {', '.join(STYLES)}")
    if isinstance(obj, UnparsedModule):
        return [Line(text) for text in obj.text.split("\n")], False
    if isinstance(obj, ForeignModule):
        return list(obj.lines), False
    chosen = STYLES[style]
    is_to_be_read = show_meta_data and annotate is None
    exact = style == "0.0.5" and (is_to_be_read if exact is None else exact)
    nodes = NodePrinter(chosen, show_meta_data, annotate, show_types, show_span, exact, for_tvm)
    nodes.marks = MARKS if mark_types else ("", "")
    lines = [Line(chosen.header)] if header else []
    if isinstance(obj, IRModule):
        items = list(obj.items())
        if chosen.sorted_functions:
            items.sort(key=lambda item: item[0].name_hint)
        blocks = [_flat(_definition(data, nodes), None) for data in _definitions(obj, chosen)]
        nodes.name_globals(obj)
        for gv, func in items:
            blocks.append(_flat(nodes.global_function(gv.name_hint, func), gv.name_hint))
        for n, block in enumerate(blocks):
            lines += [Line("")] * (n > 0)
            lines += block
    else:
        expr = obj.tuple_value if isinstance(obj, TupleWrapper) else obj
        lines += _flat(nodes.expression(expr), None)
    if nodes.metadata:
        if show_meta_data:
            lines += [Line(""), Line(chosen.metadata_mark)]
            written = write_metadata(nodes.metadata, metadata_writer(nodes.metadata))
            lines += map(Line, written.split("\n"))
        elif header:
            lines += [Line("")] * isinstance(obj, IRModule) * chosen.late_numbers
            lines += map(Line, chosen.metadata_omitted)
    return lines, bool(nodes.metadata)


def _definitions(mod: IRModule, style: Style) -> list[TypeData]:
    found = list(mod.type_definitions.values())
    return sorted(found, key=lambda d: d.header.name_hint) if style.sorted_functions else found


def _definition(data: TypeData, nodes: NodePrinter) -> list[Any]:
    return [Line(data.head), Indented(map(Line, data.lines(nodes.type))), Line("}")]


def _flat(block: Iterable[Any], function: str | None) -> Iterator[Line]:
    """The lines of nested blocks, indented by their depth."""
    stack = [iter(block)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, Indented):
                stack.append(iter(item))
                break
            item.text = "  " * min(len(stack) - 1, _MAX_INDENT) + item.text
            item.function = function
            yield item
        else:
            stack.pop()
