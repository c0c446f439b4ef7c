"""Reading Relay text: `parse`, `parse_expr`, `parse_programs`, `parse_file`.

The grammar is that of TVM 0.16's parser for version 0.0.5, with some rules relaxed:

    module   := version? (def | typedef)* metadata?
                                                 version := '#[version = "0.0.5"]' | v0.0.4
    def      := 'def' '@'name fndef
    fndef    := ('[' T,* ']')? '(' (%x (':' type)?),* (key '=' value),* ')' ('->' type)? block
    block    := '{' expr '}'
    expr     := (binding | expr ';')* binary     binding := '%'N '=' value ';'
                                                          | 'let' '%'x (':' type)? '=' value ';'
                                                          | 'free_var' '%'x (':' type)? ';'?
    binary   := operand (OP operand)*            OP: * / then + - then < <= > >= then == !=
    operand  := atom ( '(' expr,* (key '=' value),* ')' | '.' INT )*
    atom     := NUMBER | 'True' | 'False' | %x | %N | @f | operator.name | meta[T][i] | 'fn' fndef
              | 'if' '(' expr ')' block 'else' block | '(' expr,* ')'
              | 'ref(' expr ')' | 'ref_read(' expr ')' | 'ref_write(' expr ',' expr ')'
              | Constructor | match              (these and typedef: see parser_adt.py)

Accepted here, but rejected or misread by TVM 0.16: `%N` restarts in each global function (in TVM, a
number keeps its first definition in the whole file); `1.0` and `1e-5` are float32; several
projections in a row; a block or a match as the value of a binding; extern types above others;
escapes in strings; `nanf`; names with `.`, `::` or `-`, which importers create; annotations without
`attrs_type_key`; devices outside the metadata; attribute keys in quotes; a comment `/* name="..."
*/` after a variable or global function, which is its real name (see `print_lines`); and the text of
printers up to 0.8: no header or `v0.0.4`, a bare function (read as @main), omitted metadata, `%r^`,
`(%r := %v)`, `;;`. Rejected here, but silently accepted by TVM: a number, parameter or global
function that is defined twice; a type that is not defined.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from byoc_lab.errors import (
    ArgumentError,
    ElidedMetadataWarning,
    ParseError,
    TypeInferenceError,
    UnknownNameError,
)
from byoc_lab.files import path_of
from byoc_lab.relay.ir.diagnosis import diagnosed
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import RecursiveRule, run
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.json.metadata import MetaTable, read_metadata
from byoc_lab.relay.text.json.reader import metadata_reader
from byoc_lab.relay.text.lexer import METADATA_MARKS, tokenize
from byoc_lab.relay.text.parser_cursor import Places
from byoc_lab.relay.text.parser_expr import ExprParser
from byoc_lab.relay.text.parser_meta import MetaEntries
from byoc_lab.relay.text.parser_programs import readable, split_programs
from byoc_lab.relay.typing.infer import infer_module

_VERSION = re.compile(r'#\[version\s*=\s*"0\.0\.5"\s*\]')
MAX_CHARACTERS = 100_000_000
"""The maximum number of characters of a text; longer texts are rejected unread. Weights belong in a
separate file."""
# The maximum number of waiting rules: about 150,000 nested ifs. Deeper text is not a real program,
# and reading it would take minutes.
_MAX_NESTED = 600_000
_CALLER = 3  # `stacklevel` for the caller of a function that calls `_warn`
_DEFINITIONS = ("def", "type", "extern")
_OLD_VERSIONS = ("v0.0.1", "v0.0.2", "v0.0.3", "v0.0.4")


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
    *,
    infer: bool = True,
    compiler: str | None = None,
    places: type[Places] = Places,
    max_characters: int | None = None,
) -> IRModule:
    """The module that a Relay text describes, with types unless `infer` is False.

    Args:
        source: the text of one program, of any version from 0.0.4 on; see also `parse_programs`.
        source_name: the name of the text in spans and errors.
        init_module: functions that the text may use; they are part of the result.
        init_meta_table: the values of `meta[T][i]`, by T, if the text has no metadata itself.
        compiler: the compiler's name for annotations whose attributes the text omits.
        places: the class that determines the span of a node (see `Places`). max_characters: the
        maximum length of the text, by default `MAX_CHARACTERS`; longer texts are rejected unread.
        Reading takes up to 20 bytes of memory per character.

    Raises ParseError for invalid text, TypeInferenceError or UnknownNameError if type inference
    fails. A text without the header of version 0.0.5 is treated as a fragment and may use global
    functions that it does not define (`IRModule.declared` then has their types).
    """
    level, most = _CALLER + 1, _limit(max_characters)
    return _parse(
        source, source_name, init_module, init_meta_table, infer, compiler, places, level, most
    )


fromtext = parse


def parse_file(
    path: str | Path,
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
    *,
    infer: bool = True,
    compiler: str | None = None,
    max_characters: int | None = None,
) -> IRModule:
    """`parse` of a file. Raises ParseError also for a file that is not UTF-8, and OSError."""
    most = _limit(max_characters)
    with path_of(path).open("rb") as file:
        data = file.read(most + 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = Source(data[: error.start].decode("utf-8"), str(path))
        message = f"this is not a text file: {error.reason} in UTF-8"
        raise before.error(message, len(before.text)) from None
    level = _CALLER + 1
    return _parse(
        text, str(path), init_module, init_meta_table, infer, compiler, Places, level, most
    )


def parse_expr(
    source: str,
    source_name: str = "from_string",
    *,
    compiler: str | None = None,
    places: type[Places] = Places,
) -> Expr:
    """The expression that a text describes, with or without a header; types are not inferred.

    Raises ParseError. Variables must be declared: `free_var %x: Tensor[(1, 3), float32];`.
    """
    named = _source(source, source_name)
    with _diagnosed(named):
        reader = _reader(named, 0, len(named.text), None, None, compiler, places)
        _header(reader)
        expr = _read(reader, reader.expr())
        reader.end_of_program()
    _warn(reader.meta, _CALLER)
    return expr


def parse_programs(
    text: str, source_name: str = "from_string", *, infer: bool = True, compiler: str | None = None
) -> list[IRModule]:
    """All programs in a pasted text, such as a forum thread: prose between programs is skipped.

    A program begins with a version header, `def @` or `fn (`, and ends with its last closing
    brace (and metadata). Raises ParseError for an invalid program; positions refer to `text`.
    """
    source = _source(text, source_name)
    modules = []
    for start, end in split_programs(source):
        mod, complete = _module(
            _reader(source, start, end, None, None, compiler, Places), None, _CALLER + 1
        )
        modules.append(_typed(mod, source, not complete, in_place=True) if infer else mod)
    return modules


def _parse(
    text: str,
    name: str,
    init_module: IRModule | None,
    init_meta_table: Mapping[str, Sequence[Any]] | None,
    infer: bool,
    compiler: str | None,
    places: type[Places],
    level: int,
    most: int,
) -> IRModule:
    source = _source(text, name, most)
    with _diagnosed(source):
        end = len(source.text)
        mod, complete = _module(  # the parser and its tokens are released before inference
            _reader(source, 0, end, init_module, init_meta_table, compiler, places),
            init_module,
            level + 1,
        )
        all_new = init_module is None and init_meta_table is None
        return _typed(mod, source, not complete, all_new) if infer else mod


def _diagnosed(source: Source) -> AbstractContextManager[None]:
    """A context in which errors refer to `source`."""
    unread = IRModule()
    unread.source_map.add(source.name, source.text)
    return diagnosed(unread)


MAX_FILE_NAME = 1_000
_FILE = re.compile(r"[\w./\\~-]+\.(relay|rly|txt|json|onnx)")


MAX_POSITION = 2**32 - 1  # the lexer stores positions in four bytes


def _limit(max_characters: int | None) -> int:
    if max_characters is None:
        return MAX_CHARACTERS
    if not isinstance(max_characters, int) or not 0 < max_characters <= MAX_POSITION:
        raise ArgumentError(
            f"max_characters must be an int from 1 to {MAX_POSITION:,}, found "
            f"{max_characters!r:.80}"
        )
    return max_characters


def _source(text: str, name: str, most: int | None = None) -> Source:
    most = MAX_CHARACTERS if most is None else most
    if not isinstance(text, str):
        raise ParseError(f"expected text, found {type(text).__name__}", name, 1, 1)
    if len(text) <= MAX_FILE_NAME and _FILE.fullmatch(text):
        found = f"expected text, found {text!r}, the name of a file; pass the contents of the file"
        raise ParseError(found, name, 1, 1)
    if len(text) > most:
        raise ParseError(
            f"the text has more than {most:,} characters, the limit. Replace large constants by "
            f"parameters and save their values separately, with numpy.savez; or, with enough "
            f"memory, raise the limit: relay.parse(text, max_characters=...)",
            name,
            1,
            1,
        )
    return Source(readable(text), name)


def _read(reader: Any, rule: RecursiveRule) -> Any:
    def too_deep() -> None:
        reader.fail("this nests too deep to be read; bind inner parts to names (%0 = ...;)")

    return run(rule, _MAX_NESTED, too_deep)


def _reader(
    source: Source,
    start: int,
    end: int,
    init_module: IRModule | None,
    init_meta_table: Mapping[str, Sequence[Any]] | None,
    compiler: str | None,
    places: type[Places],
) -> ExprParser:
    tokens = tokenize(source, start, end)
    table: MetaTable | None = None
    if init_meta_table is not None:
        table = {key: list(entries) for key, entries in init_meta_table.items()}
    if tokens.metadata is not None:
        mark = next(m for m in METADATA_MARKS if source.text.startswith(m, tokens.metadata))
        table, after = read_metadata(source, tokens.metadata + len(mark), metadata_reader)
        rest = tokenize(source, after, end)
        if rest.texts[0]:
            raise source.error("nothing may follow the metadata section", rest.starts[0])
    return ExprParser(tokens, MetaEntries(table, compiler), init_module, places)


def _header(reader: ExprParser) -> bool:
    """Read an optional version; returns whether it implies that the text is complete."""
    token = reader.tok
    if token.startswith("#[version"):
        if not _VERSION.fullmatch(token):
            reader.fail('this version is not known; expected #[version = "0.0.5"] or v0.0.4')
        reader.i += 1
        return True
    if token in _OLD_VERSIONS:
        reader.i += 1
        reader.parens_are_tuples = False
    return False


def _module(reader: ExprParser, init_module: IRModule | None, level: int) -> tuple[IRModule, bool]:
    """The module without types, and whether the text declares itself complete."""
    complete = _header(reader)
    mod = init_module.copy() if init_module else IRModule()
    mod.source_map.add(reader.source.name, reader.source.text)
    if reader.tok in _DEFINITIONS or (complete and not reader.tok):
        _definitions(reader, mod)
    else:
        if not reader.tok:
            reader.fail("the text holds no program; expected 'def @main(...) {...}'")
        expr = _read(reader, reader.expr())
        reader.end_of_program()
        mod.update(IRModule.from_expr(expr))
    note = _warn(reader.meta, level)
    if note:
        mod.notes.append(note)
    return mod, complete


def _definitions(reader: ExprParser, mod: IRModule) -> None:
    places: dict[str, int] = {}
    functions: dict[str, Function] = {}
    while reader.tok in _DEFINITIONS:
        if reader.tok != "def":
            data = reader.type_definition()
            mod[data.header] = data
            continue
        at = reader.i
        reader.i += 1
        name = reader.tok[1:]
        if reader.tok[:1] != "@" or not name:
            reader.unexpected("the name of a global function, such as @main")
        if name in places:
            first = reader.line_of(places[name])
            reader.fail(f"@{name} is defined twice: first in line {first}")
        if name in mod:
            reader.fail(f"@{name} is defined in init_module already")
        places[name] = at
        reader.leaf()  # creates the global variable shared by all uses
        reader.numbered, reader.begin = {}, at
        reader.count_node()  # the module's entry
        begin = reader.places.function_start(at, reader.i)
        functions[name] = _read(reader, reader.function(begin))
    if reader.tok:
        complete = functions or mod.type_definitions
        reader.end_of_program() if complete else reader.unexpected("'def @name(...) {...}'")
    for name, func in functions.items():
        mod[reader.globals[name]] = func


def _warn(meta: MetaEntries, level: int) -> str | None:
    """Warn about placeholders, on behalf of the caller `level` calls above."""
    note = meta.note()
    if note:
        warnings.warn(note, ElidedMetadataWarning, stacklevel=level)
    return note


def _typed(mod: IRModule, source: Source, fragment: bool, in_place: bool) -> IRModule:
    try:
        return infer_module(mod, declare_globals=fragment, in_place=in_place)
    except (TypeInferenceError, UnknownNameError) as error:
        place = re.match(rf"{re.escape(source.name)}:(\d+):(\d+): (.*)", str(error), re.DOTALL)
        if place is None:
            raise
        shown = str(source.error(place[3], source.offset(int(place[1]), int(place[2]))))
        if isinstance(error, TypeInferenceError):
            raise TypeInferenceError(shown, error.node) from error
        raise UnknownNameError(shown) from error
