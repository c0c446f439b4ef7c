"""`outlined`: a replay of how TVM's passes create a function from each group of bindings.

Source: OperatorFusor and FunctionCreator in src/relax/transform/fuse_ops.cc of TVM 0.27.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.relax.ir.types import is_tuple
from byoc_lab.run.relax_values import name_of, tensor_of
from byoc_lab.run.tvm_runtime import import_tvm

CALLS_CODE = ("relax.call_tir", "relax.call_tir_inplace")


@dataclass(eq=False)
class Group:
    """Bindings that become one function.

    attrs: the attributes of the function. bindings: in the order of the text. outputs: the
    variables that are used outside the group. symbol: of the function. result: the variable of its
    call. All fields except attrs are set when the group is outlined.
    """

    attrs: dict[str, Any]
    bindings: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    symbol: str = ""
    result: Any = None


@dataclass
class Outlined:
    """A module with groups outlined.

    groups: per function, in the order of their calls. unused: per function, the groups without
    uses, which are dropped. places: {variable of the input: its new variable}, except variables
    that are used only inside a group.
    """

    mod: Any
    groups: dict[str, list[Group]]
    unused: dict[str, list[Group]]
    places: dict[Any, Any]


def outlined(mod: Any, groups: Mapping[Any, Group], lift_constants: bool) -> Outlined:
    """A module in which each group is a call of a separate function.

    groups: by the variables of the bindings. lift_constants: constants become parameters.
    """
    relax = import_tvm().relax
    builder = relax.BlockBuilder(mod)
    result = Outlined(mod, {}, {}, {})
    for gv, function in mod.functions.items():
        if not isinstance(function, relax.Function) or has_attr(function, "Primitive"):
            continue
        if not any(binding.var in groups for _, binding in dataflow_bindings(function)):
            continue
        made = _Function(builder, groups, lift_constants)
        builder.update_func(gv, made.function(function))
        result.groups[str(gv.name_hint)] = made.called
        result.unused[str(gv.name_hint)] = made.unused
        result.places |= made.places
    result.mod = builder.get()
    return result


def dataflow_bindings(function: Any) -> Iterator[tuple[Any, Any]]:
    """The bindings of the dataflow blocks of a function, each with its block."""
    relax = import_tvm().relax
    for block in getattr(function.body, "blocks", ()):
        if isinstance(block, relax.DataflowBlock):
            for binding in block.bindings:
                yield block, binding


def has_attr(function: Any, name: str) -> bool:
    """Whether a function has an attribute that is neither absent nor 0."""
    return bool(function.attrs) and name in function.attrs and bool(function.attrs[name])


def substituted(value: Any, places: Mapping[Any, Any]) -> Any:
    """A value with some operands replaced."""
    relax = import_tvm().relax
    found = places.get(value)
    if found is not None:
        return found
    if isinstance(value, relax.Tuple):
        fields = [substituted(f, places) for f in value.fields]
        return value if _same(fields, value.fields) else relax.Tuple(fields)
    if isinstance(value, relax.TupleGetItem):
        whole = substituted(value.tuple_value, places)
        return value if whole is value.tuple_value else relax.TupleGetItem(whole, value.index)
    if isinstance(value, relax.Call):
        args = [substituted(arg, places) for arg in value.args]
        if _same(args, value.args):
            return value
        return relax.Call(value.op, args, value.attrs, value.ty_args)
    return value


def _same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return all(a.same_as(b) for a, b in zip(new, old, strict=True))


class _Function:
    """Outlines the groups in one function."""

    def __init__(self, builder: Any, groups: Mapping[Any, Group], lift_constants: bool):
        self.builder, self.groups, self.lift_constants = builder, groups, lift_constants
        self.tvm = import_tvm()
        self.relax = self.tvm.relax
        self.places: dict[Any, Any] = {}
        self.called: list[Group] = []
        self.unused: list[Group] = []

    def function(self, function: Any) -> Any:
        relax = self.relax
        self.builder.begin_scope(list(function.params))
        blocks = [
            self.block(block) if isinstance(block, relax.DataflowBlock) else block
            for block in function.body.blocks
        ]
        body = relax.SeqExpr(blocks, substituted(function.body.body, self.places))
        body = self.builder.normalize(body)
        self.builder.end_scope()
        ret = function.ret_ty
        return relax.Function(function.params, body, ret, function.is_pure, function.attrs)

    def block(self, block: Any) -> Any:
        bindings = list(block.bindings)
        creators: dict[Group, _Creator] = {}
        for binding in bindings:
            group = self.groups.get(binding.var)
            if group is not None:
                creators.setdefault(group, _Creator(self.lift_constants)).append(binding)
        needs = self._boundaries(bindings, creators)
        for group, creator in creators.items():
            creator.create(self.builder, group)
            if creator.function is None:
                self.unused.append(group)
        self.builder._begin_dataflow_block()
        for binding in self._sorted(bindings, needs):
            group = self.groups.get(binding.var)
            if group is None:
                self._emit(binding)
            elif creators[group].function is not None and binding is group.bindings[-1]:
                self._emit_call(group, creators[group], binding)
        return self.builder._end_block()

    def _boundaries(
        self, bindings: Sequence[Any], creators: Mapping[Group, _Creator]
    ) -> dict[Any, list[Any]]:
        """Finds the outputs of the groups. Returns the inputs of each group, and of each variable
        outside the groups."""
        needs: dict[Any, list[Any]] = defaultdict(list)
        for binding in bindings:
            mine = self.groups.get(binding.var, binding.var)
            for used in variables_of(binding.value):
                producer = self.groups.get(used, used)
                if producer is not mine:
                    needs[mine].append(producer)
                    if producer in creators:
                        creators[producer].output(used)
        return needs

    def _sorted(self, bindings: Sequence[Any], needs: Mapping[Any, list[Any]]) -> list[Any]:
        """The bindings sorted operands first, with the bindings of one group together."""
        members: dict[Any, list[Any]] = defaultdict(list)
        for binding in bindings:
            members[self.groups.get(binding.var, binding.var)].append(binding)
        found, seen = list[Any](), set[Any]()
        todo = list(reversed(members))
        while todo:
            at = todo[-1]
            if at not in seen:
                seen.add(at)
                todo += [n for n in reversed(needs.get(at, ())) if n not in seen and n in members]
                continue
            todo.pop()
            found += members.pop(at, ())
        return found

    def _emit(self, binding: Any) -> None:
        """Emit a binding outside the groups, with new operands; its variable is kept."""
        value = substituted(binding.value, self.places)
        if value is not binding.value:
            value = self.builder.normalize(value)
            if isinstance(binding, self.relax.MatchCast):
                binding = self.relax.MatchCast(binding.var, value, binding.ty)
            else:
                binding = self.relax.VarBinding(binding.var, value)
        self.builder.emit_normalized(binding)

    def _emit_call(self, group: Group, creator: _Creator, last: Any) -> None:
        """Emit the call of a group's function at the group's last binding."""
        gv = self.builder.add_func(creator.function, creator.name)
        args = [substituted(arg, self.places) for arg in creator.arguments]
        call = self.relax.Call(gv, args)
        several = len(creator.outputs) > 1
        result = self._bind(call, inner=several or self._is_inner(last.var))
        group.symbol, group.result, group.outputs = str(gv.name_hint), result, creator.outputs
        self.called.append(group)
        if not several:
            self.places[creator.outputs[0]] = result
            return
        position = {variable: index for index, variable in enumerate(creator.outputs)}
        for binding in group.bindings:
            if binding.var in position:
                item = self.relax.TupleGetItem(result, position[binding.var])
                self.places[binding.var] = self._bind(item, inner=self._is_inner(binding.var))

    def _is_inner(self, variable: Any) -> bool:
        """Whether a variable is visible only inside its dataflow block."""
        return isinstance(variable, self.relax.DataflowVar)

    def _bind(self, value: Any, inner: bool) -> Any:
        return self.builder.emit(value) if inner else self.builder.emit_output(value)


class _Creator:
    """Creates the function of one group."""

    def __init__(self, lift_constants: bool):
        self.lift_constants = lift_constants
        self.tvm = import_tvm()
        self.relax = self.tvm.relax
        self.name = "fused"
        self.bindings: list[Any] = []
        self.arguments: list[Any] = []
        self.params: list[Any] = []
        self.outputs: list[Any] = []
        self.function: Any = None
        self._defined: set[Any] = set()
        self._items: dict[Any, list[int]] = {}  # parameters for the used items of tuples
        self._lifted = 0

    def append(self, binding: Any) -> None:
        value = binding.value
        if isinstance(value, self.relax.Call):
            self._append_call(value)
        elif isinstance(value, self.relax.TupleGetItem):
            self._needs(value.tuple_value)
            if value.tuple_value in self._items:
                self._items[value.tuple_value].append(int(value.index))
        self._defined.add(binding.var)
        if not isinstance(binding.var, self.relax.DataflowVar):
            self.output(binding.var)
        self.bindings.append(binding)

    def _append_call(self, call: Any) -> None:
        name = str(getattr(call.op, "name", getattr(call.op, "name_hint", "")))
        if name in CALLS_CODE:
            self.name += f"_{call.args[0].name_hint}"
            args = list(call.args[1].fields)
        else:
            self.name += f"_{name.removeprefix('fused_')}" if name else ""
            args = list(call.args)
        for arg in args:
            self._needs(arg)
            self._items.pop(arg, None)  # a tuple that is also used as a whole

    def output(self, variable: Any) -> None:
        """Register a variable of the group that is used outside."""
        if not any(variable.same_as(known) for known in self.outputs):
            self.outputs.append(variable)

    def _needs(self, value: Any) -> None:
        """Add a parameter for a variable from outside the group."""
        if isinstance(value, self.relax.Tuple):
            for part in value.fields:
                self._needs(part)
            return
        constant = tensor_of(value) is not None
        given = any(value.same_as(known) for known in self.arguments)
        if given or value in self._defined or (constant and not self.lift_constants):
            return
        variable = isinstance(value, self.relax.Var)
        if not variable and not constant:
            return  # a number or a shape stays in the function
        if variable:
            name = name_of(value)
        else:
            name, self._lifted = f"param_{self._lifted}", self._lifted + 1
        self.params.append(self.relax.Var(name, value.ty))
        self.arguments.append(value)
        if is_tuple(value):
            self._items[value] = []

    def create(self, builder: Any, group: Group) -> None:
        """Creates `function`, if the group is used outside."""
        group.bindings = self.bindings
        inside: dict[Any, Any] = {}
        self._split_tuples(inside)
        inside |= dict(zip(self.arguments, self.params, strict=True))
        builder._begin_dataflow_block()
        for binding in self.bindings:
            value = binding.value
            if isinstance(value, self.relax.TupleGetItem):
                item = inside.get((value.tuple_value, int(value.index)))
                if item is not None:
                    inside[binding.var] = item
                    continue
            made = builder.normalize(substituted(value, inside))
            is_output = any(binding.var.same_as(v) for v in self.outputs)
            inside[binding.var] = builder.emit_output(made) if is_output else builder.emit(made)
        block = builder._end_block()
        if self.outputs:
            self.function = self._function(builder, block, [inside[v] for v in self.outputs], group)

    def _split_tuples(self, inside: dict[Any, Any]) -> None:
        """Replaces a tuple parameter by parameters for its items."""
        for whole, indices in self._items.items():
            at = next(n for n, arg in enumerate(self.arguments) if arg.same_as(whole))
            name, fields = name_of(self.params[at]), whole.ty.fields
            indices = list(dict.fromkeys(indices))
            params = [self.relax.Var(f"{name}_{n}", fields[n]) for n in indices]
            inside |= {(whole, n): p for n, p in zip(indices, params, strict=True)}
            self.params[at : at + 1] = params
            self.arguments[at : at + 1] = [self.relax.TupleGetItem(whole, n) for n in indices]

    def _function(self, builder: Any, block: Any, outputs: list[Any], group: Group) -> Any:
        relax = self.relax
        body = outputs[0] if len(outputs) == 1 else relax.Tuple(outputs)
        body = builder.normalize(relax.SeqExpr([block], builder.normalize(body)))
        attrs = self.tvm.ir.make_node("ir.DictAttrs", **group.attrs, Primitive=True)
        function = relax.Function(self.params, body, None, True, attrs)
        sizes = list(relax.analysis.free_symbolic_vars(function))
        if sizes:
            self.params.append(relax.Var("tir_vars", relax.ShapeType(values=sizes)))
            self.arguments.append(relax.ShapeExpr(sizes))
            function = relax.Function(self.params, body, None, True, attrs)
        return relax.utils.copy_with_new_vars(function)  # and new size variables


def variables_of(value: Any) -> list[Any]:
    """The distinct variables in a value."""
    return list(import_tvm().relax.analysis.all_vars(value))
