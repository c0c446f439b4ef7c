"""`fused`: a replay of FuseOpsByPattern that also reports its rewrites, and the reasons.

TVM's pass is written in C++ and reports neither. A replay is shown only if its result equals TVM's.
Source: PatternBasedPartitioner in src/relax/transform/fuse_ops.cc of TVM 0.27.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.relax.patterns.checks import why_refused
from byoc_lab.relax.tracing.outlining import Group, Outlined, dataflow_bindings, has_attr, outlined
from byoc_lab.run.tvm_runtime import import_tvm


@dataclass(frozen=True)
class Refusal:
    """A match that the check of an entry refuses: its function, variable and reason."""

    entry: str
    function: str
    variable: Any
    reason: str


@dataclass(frozen=True)
class EntryRun:
    """The effect of a table entry on a module: the module before, and outlined."""

    entry: str
    before: Any
    outlined: Outlined


def fused(
    mod: Any, table: Sequence[Any], *, bind_constants: bool
) -> tuple[Any, list[EntryRun], list[Refusal]]:
    """The result of FuseOpsByPattern, the entries that changed the module, and the matches that
    checks refused. table: its patterns, in either of TVM's forms.

    Raises PredicateError if a check raises.
    """
    kind = import_tvm().relax.transform.FusionPattern
    runs: list[EntryRun] = []
    refusals: list[Refusal] = []
    for given in table:
        entry = kind(*given) if isinstance(given, tuple) else given
        # TVM's object has a separate check function, which hides the reason of a refusal.
        check = given[3] if isinstance(given, tuple) and len(given) > 3 else entry.check
        groups: dict[Any, Group] = {}
        for name, function in _searched(mod):
            found = _Partitioner(entry, check, name, function)
            groups |= found.groups()
            refusals += found.refusals
        if groups:
            made = outlined(mod, groups, lift_constants=not bind_constants)
            runs.append(EntryRun(str(entry.name), mod, made))
            mod = made.mod
    return mod, runs, refusals


def _searched(mod: Any) -> Iterator[tuple[str, Any]]:
    """The functions in which matches are outlined."""
    relax = import_tvm().relax
    for gv, function in mod.functions.items():
        if isinstance(function, relax.Function) and not has_attr(function, "Primitive"):
            yield str(gv.name_hint), function


@dataclass(eq=False)
class _Node:
    """The node of a bound variable in a union-find: its group is that of `into`, or a new group."""

    variable: Any
    into: _Node | None = None
    size: int = 1
    attrs: dict[str, Any] | None = None

    @property
    def root(self) -> _Node:
        return self if self.into is None else self.into.root


class _Partitioner:
    """Applies one entry to one function."""

    def __init__(self, entry: Any, check: Any, name: str, function: Any):
        self.tvm = import_tvm()
        self.entry, self.check, self.name, self.function = entry, check, name, function
        self.refusals: list[Refusal] = []
        self._nodes: dict[Any, _Node] = {}
        self._bound: dict[Any, Any] = {}  # {value: variable}
        self._values = self.tvm.relax.analysis.get_var2val(function)

    def groups(self) -> dict[Any, Group]:
        """The groups, by the variables that they contain."""
        block_seen, uses = None, {}
        for block, binding in dataflow_bindings(self.function):
            if block is not block_seen:
                block_seen, uses = block, self.tvm.relax.analysis.udchain(block)
            self._nodes[binding.var] = _Node(binding.var)
            self._bound[binding.value] = binding.var
            if isinstance(binding.value, self.tvm.relax.Call):
                self._try(binding, uses)
        made: dict[_Node, Group] = {}
        found = {}
        for variable, node in self._nodes.items():
            root = node.root
            if root.attrs is not None:
                found[variable] = made.setdefault(root, Group(root.attrs))
        return found

    def _try(self, binding: Any, uses: Any) -> None:
        matched = self.entry.pattern.extract_matched_expr(binding.value, self._values)
        if not matched:
            return
        dpl = self.tvm.relax.dpl
        inside = (dpl.CallPattern, dpl.TupleGetItemPattern)  # values that move into the composite
        parts = [
            value
            for pattern, value in matched.items()
            if isinstance(pattern, inside) and value in self._bound
        ]
        context = self._context(binding.value, matched, parts, uses)
        name = str(self.entry.name)
        refused = None if self.check is None else why_refused(self.check, context, name)
        if refused is not None:
            self.refusals.append(Refusal(name, self.name, binding.var, refused))
            return
        inner = [self._bound[v] for v in parts if not v.same_as(binding.value)]
        if any(self._nodes[v].size > 1 for v in inner):
            return  # the root of an earlier match
        root = self._nodes[binding.var].root
        root.attrs = {**(root.attrs or {}), "Composite": name}
        if self.entry.attrs_getter is not None:
            root.attrs |= dict(self.entry.attrs_getter(context).items())
        for variable in inner:
            node = self._nodes[variable]
            if node is not root:  # an earlier match with a different root loses it
                node.into = root
                root.size += 1

    def _context(self, call: Any, matched: Any, parts: Sequence[Any], uses: Any) -> Any:
        annotated = {
            name: matched[pattern]
            for name, pattern in self.entry.annotation_patterns.items()
            if pattern in matched
        }
        bindings = {self._bound[value]: value for value in parts}
        make = self.tvm.relax.transform.PatternCheckContext
        return make(call, annotated, bindings, uses, self._bound)
