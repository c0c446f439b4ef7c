"""IRModule: a set of global functions and of type definitions.

A module can be filled step by step, as in TVM; passes never change the one they are given, they
work on a `copy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from byoc_lab.display import Shown
from byoc_lab.errors import ArgumentError, FreeVariableError, UnknownNameError, counted, kind_of
from byoc_lab.printing import printable
from byoc_lab.relay.ir.adt import Constructor, TypeData
from byoc_lab.relay.ir.attrs import Attrs, DictAttrs
from byoc_lab.relay.ir.expr import Expr, Function, GlobalVar, Op, TupleWrapper
from byoc_lab.relay.ir.node_code import NODE_CODE
from byoc_lab.relay.ir.source_map import SourceMap
from byoc_lab.relay.ir.types import GlobalTypeVar, Type
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order, rebuild

Key = TypeVar("Key")
Value = TypeVar("Value")


class Map(dict[Key, Value]):
    """A dict whose `items` can be indexed, as in TVM's maps: `items()[0]`."""

    def items(self) -> list[tuple[Key, Value]]:  # type: ignore[override]
        return list(super().items())


def module_expected(taker: str, value: Any) -> str:
    """The error message of a function that got `value` instead of a module."""
    shown = repr(value)
    found = kind_of(value) if "\n" in shown else f"{kind_of(value)} {shown:.80}"
    return f"{taker} expects an IRModule, found {found}; {module_hint(value)}"


def module_hint(value: Any) -> str:
    """Advice on how to get a module from a value of another type."""
    if isinstance(value, tuple) and any(isinstance(each, IRModule) for each in value):
        return "an importer returns (mod, params): mod, params = ..."
    if isinstance(getattr(type(value), "result", None), property):
        return "a trace has its module as .result"
    if type(value).__module__.partition(".")[0] == "tvm":
        return "byoc_lab.importers.relax.from_relax(mod) returns (mod, params) of a Relax module"
    if isinstance(value, str):
        return "the module comes first; relay.parse(text) creates one from text"
    if isinstance(value, list):
        return "the module comes first, then the passes"
    return "IRModule.from_expr(...) creates one from a function or an expression"


class IRModule(Shown):
    """Functions by global variable. `mod["main"]`, `mod["f"] = function`, `print(mod)`.

    Attributes: `functions` (GlobalVar -> Function, in the order they were added),
    `type_definitions` (GlobalTypeVar -> TypeData, set and got by `mod[type_var]`), `attrs`,
    `declared` (types of globals that a pasted text mentions but does not define), `notes`
    (assumptions of the parser), and `source_map` (the texts it was read from).
    """

    def __init__(
        self,
        functions: Mapping[Any, Function] | None = None,
        type_definitions: Mapping[GlobalTypeVar, TypeData] | None = None,
        attrs: Mapping[str, Any] | Attrs | None = None,
    ):
        self.functions: Map[GlobalVar, Function] = Map()
        self._by_name: dict[str, GlobalVar] = {}
        self.type_definitions: Map[GlobalTypeVar, TypeData] = Map()
        self.attrs: Attrs = DictAttrs(dict(attrs or {}))
        self.declared: dict[GlobalVar, Type] = {}
        self.notes: list[str] = []
        self.source_map = SourceMap()
        for type_var, data in (type_definitions or {}).items():
            self._put(type_var, data)
        for name, func in (functions or {}).items():
            self._put(name, func, closed=False)  # as in TVM: visible, but rejected by InferType

    @staticmethod
    def from_expr(
        expr: Expr, functions: Mapping[Any, Function] | None = None, type_defs: Any = None
    ) -> IRModule:
        """A module with `expr` as @main (or under its global_symbol); free variables of an
        expression that is not a Function become parameters. If `functions` already use the name, it
        gets a number."""
        mod = IRModule(functions, type_defs)
        if isinstance(expr, TupleWrapper):
            expr = expr.tuple_value
        if not isinstance(expr, Expr):
            what = "a module already" if isinstance(expr, IRModule) else "no expression"
            raise ArgumentError(
                f"IRModule.from_expr expects a function or an expression, found {kind_of(expr)} "
                f"{expr!r:.80}, which is {what}"
            )
        if isinstance(expr, GlobalVar) and expr.name_hint not in (functions or {}):
            raise ArgumentError(
                f"IRModule.from_expr found the global variable @{expr.name_hint} alone, without "
                f"its module. Unpacking a module gives the names of its functions: if this is from "
                f"`mod, config = partition_for_...(mod)`, that returns the module alone"
            )
        func = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        name = base = func.attrs.get("global_symbol", "main")
        count = 0
        while name in mod:
            count += 1
            name = f"{base}_{count}"
        mod[name] = func
        return mod

    @staticmethod
    def unchecked(func: Function, name: str = "main") -> IRModule:
        """A module of one possibly malformed function, for tools that examine it."""
        mod = IRModule()
        mod.put_unchecked(name, func)
        return mod

    def __reduce__(self) -> tuple[Any, ...]:
        """Deep copies and pickles: see `pickling`."""
        return NODE_CODE().reduce(self)

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same object."""
        return self is other

    def copy(self) -> IRModule:
        """A module with the same functions; changing the copy does not change this module."""
        copied = IRModule()
        copied.functions, copied._by_name = Map(self.functions), dict(self._by_name)
        copied.type_definitions, copied.attrs = Map(self.type_definitions), self.attrs
        copied.declared, copied.notes = dict(self.declared), list(self.notes)
        copied.source_map = self.source_map.copy()
        return copied

    def with_functions(self, functions: Mapping[GlobalVar, Function]) -> IRModule:
        """A module of these functions, with the types, attributes and notes of this one."""
        copied = self.copy()
        copied.functions, copied._by_name = Map(), {}
        for name, func in functions.items():
            copied._put(name, func, closed=False)
        return copied

    def __getitem__(self, name: str | GlobalVar | GlobalTypeVar) -> Any:
        """The function of that name, or the TypeData of that type."""
        if isinstance(name, GlobalTypeVar):
            return self.type_definitions[self.get_global_type_var(name.name_hint)]
        return self.functions[self.get_global_var(name)]

    def __setitem__(
        self, name: str | GlobalVar | GlobalTypeVar, func: Expr | TupleWrapper | TypeData
    ) -> None:
        self._put(name, func)

    def __delitem__(self, name: str | GlobalVar) -> None:
        gv = self.get_global_var(name)
        del self.functions[gv], self._by_name[gv.name_hint]

    def put_unchecked(self, name: str, func: Function) -> None:
        """Add a function that may be malformed, for tools that examine it."""
        gv = self._by_name.setdefault(name, GlobalVar(name))
        self.functions[gv] = func

    def rename_unchecked(self, renamed: Mapping[GlobalVar, GlobalVar]) -> None:
        """Rename functions, including all their calls and the link names of external functions."""
        memo: dict[Expr, Expr] = dict(renamed.items())
        names = {old.name_hint: new for old, new in renamed.items()}
        functions, self.functions, self._by_name = self.functions, Map(), {}
        for gv, func in functions.items():
            key, changed = gv, rebuild(func, lambda pre, post: post, memo=memo)
            if gv.name_hint in names:
                key = names[gv.name_hint]
                changed = changed.with_attr("global_symbol", key.name_hint)
            self._by_name[key.name_hint] = key
            self.functions[key] = changed

    def _put(
        self, name: str | GlobalVar | GlobalTypeVar, func: Any, *, closed: bool = True
    ) -> None:
        if isinstance(func, TypeData):
            if name not in (func.header, func.header.name_hint):
                raise UnknownNameError(
                    f"the definition of type {func.header} is assigned to {name!r}"
                )
            self.type_definitions[func.header] = func
            return
        if isinstance(name, GlobalTypeVar):
            raise ArgumentError(f"type {name} needs a definition (TypeData), found {func!r}")
        if isinstance(func, TupleWrapper):
            func = func.tuple_value
        if not isinstance(func, Function):
            if not isinstance(func, Expr):
                raise ArgumentError(f"a module holds Relay functions, found {func!r} for {name!r}")
            func = Function([], func)
        text = name if isinstance(name, str) else name.name_hint
        if closed:
            check_closed(func, text)
        known = self._by_name.get(text)
        gv = known or (name if isinstance(name, GlobalVar) else GlobalVar(text))
        self._by_name[text] = gv
        self.functions[gv] = func

    def update_func(self, var: GlobalVar, func: Function) -> None:
        self._put(var, func)

    def _add(self, var: str | GlobalVar, val: Any, update: bool = True) -> None:
        """`mod[var] = val`, under TVM's name."""
        self._put(var, val)

    def update(self, other: IRModule | Mapping[Any, Function]) -> None:
        """Add the functions and types of another module or mapping, replacing equally named ones.

        Each name keeps one GlobalVar in this module: calls between the added functions are changed
        to call these.
        """
        if isinstance(other, IRModule):
            self.type_definitions.update(other.type_definitions)
            self.declared.update(other.declared)
        mine: dict[Expr, Expr] = {}
        for gv in other:
            name = gv if isinstance(gv, str) else gv.name_hint
            own = gv if isinstance(gv, GlobalVar) else GlobalVar(name)
            mine[own] = self._by_name.setdefault(name, own)
        for gv, func in other.items():
            self._put(gv, rebuild(func, lambda pre, post: post, memo=dict(mine)))

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The module's data type of that name. Raises UnknownNameError."""
        for type_var in self.type_definitions:
            if type_var.name_hint == name:
                return type_var
        have = ", ".join(v.name_hint for v in self.type_definitions) or "none"
        raise UnknownNameError(f"the module defines no type {name}; it has {have}")

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        return list(self.type_definitions)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """A list: the data type of that name, then its constructors."""
        type_var = self.get_global_type_var(name)
        return (type_var, *self.type_definitions[type_var].constructors)

    def get_constructor(self, tag: int) -> Constructor:
        """The constructor of the module that has this `tag`. Raises UnknownNameError."""
        for data in self.type_definitions.values():
            for c in data.constructors:
                if c.tag == tag:
                    return c
        raise UnknownNameError(f"no type of the module has a constructor of tag {tag}")

    def get_global_var(self, name: str | GlobalVar) -> GlobalVar:
        """The module's own GlobalVar of that name. Raises UnknownNameError."""
        text = name if isinstance(name, str) else name.name_hint
        if text not in self._by_name:
            have = ", ".join(f"@{n}" for n in self._by_name) or "none"
            raise UnknownNameError(f"the module has no function @{text}; it has {have}")
        return self._by_name[text]

    def get_global_vars(self) -> list[GlobalVar]:
        return list(self.functions)

    def contain_global_var(self, name: str) -> bool:
        return name in self._by_name

    def __contains__(self, name: object) -> bool:
        if isinstance(name, GlobalTypeVar):
            return name in self.type_definitions
        text = name.name_hint if isinstance(name, GlobalVar) else name
        return text in self._by_name

    def items(self):
        return self.functions.items()

    def functions_items(self) -> list[tuple[GlobalVar, Function]]:
        return list(self.functions.items())

    def __bool__(self) -> bool:
        """A module is true even without functions."""
        return True

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def get_attr(self, key: str) -> Any:
        return self.attrs.get(key)

    def with_attr(self, key: str, value: Any) -> IRModule:
        """A copy with one attribute set."""
        return self.with_attrs({key: value})

    def with_attrs(self, attr_map: Mapping[str, Any] | Attrs) -> IRModule:
        """A copy with attributes added or replaced."""
        copied = self.copy()
        copied.attrs = DictAttrs({**self.attrs, **dict(attr_map.items())})
        return copied

    def without_attr(self, attr_key: str) -> IRModule:
        """A copy without an attribute; the module itself if it does not have the attribute."""
        copied = self.copy()
        copied.attrs = DictAttrs({k: v for k, v in self.attrs.items() if k != attr_key})
        return copied

    def astext(self, show_meta_data: bool = True, annotate: Any = None, **options: Any) -> str:
        """The module as Relay text (see `relay.print_text` for the options)."""
        return NODE_CODE().print_text(
            self, show_meta_data=show_meta_data, annotate=annotate, **options
        )

    def script(self, *, show_meta: bool = False) -> str:
        """The module's text, without a header; `show_meta`: with the metadata."""
        return self.astext(header=False) if show_meta else NODE_CODE().print_shown(self)

    @printable
    def __str__(self) -> str:
        return self.script()

    def show(self) -> None:
        """Print the module, without its metadata."""
        print(self)

    def __repr__(self) -> str:
        calls = sum(
            1
            for func in self.functions.values()
            for n in post_order(func)
            if isinstance(getattr(n, "op", None), Op)
        )
        names = ", ".join(f"@{gv.name_hint}" for gv in self.functions)
        functions = f"{counted(len(self), 'function')} ({names})"
        return f"<IRModule of {functions}, {counted(calls, 'operator call')}>"


def check_closed(func: Function, name: str) -> None:
    """Raise FreeVariableError if a global function has free variables."""
    free = free_vars(func)
    if free:
        listed = ", ".join(
            f"%{v.name_hint}: {v.type_annotation}" if v.type_annotation else f"%{v.name_hint}"
            for v in free
        )
        text = func.astext(show_meta_data=False, header=False)
        raise FreeVariableError(
            f"@{name} contains free variables: [{listed}]. A global function may only use its "
            f"own parameters: add the variable to them. If PartitionGraph made the function, a "
            f"region lacks a begin or an end; byoc_lab.lint of the module before PartitionGraph "
            f"finds it. Function:\n{text}",
            tuple(free),
        )
