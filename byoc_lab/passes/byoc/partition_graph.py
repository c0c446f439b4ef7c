"""PartitionGraph: each region becomes an external function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from byoc_lab.errors import InputError, PartitionError, counted
from byoc_lab.passes.byoc.partition_2020 import partition_2020
from byoc_lab.passes.framework.hook import (
    Sentence,
    copies_in,
    is_heard,
    keeps_in,
    naming_regions,
    report,
    report_function,
    rewriting,
)
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite, rule
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
    DEFAULT,
    END,
    compiler_of,
    end,
    is_annotation,
    skip_annotations,
)
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TupleType, Type
from byoc_lab.relay.ir.visit import post_order, rebuild, substitute, with_mapped_parts
from byoc_lab.relay.op.contrib import get_optimizer
from byoc_lab.relay.typing.infer import infer_module

MAX_LISTED = 6
"""The maximum number of inputs or outputs of a region that a sentence lists."""


class PartitionGraph(ModulePass):
    """Move each region into an external function, and call that function instead.

    %0 = begin[A](%x); %1 = nn.relu(%0); end[A](%1)  ->  @tvmgen_default_A_main_0(%x)

    1. An end of a tuple moves onto its fields; annotations of "default" are removed.
    2. Each begin becomes a parameter; begins of the same value share one.
    3. The first end of a region creates the function. Its body is the value that leaves the region,
       or a tuple of several values; each end becomes the call, or a projection of it. If the
       compiler has registered an optimizer (`relay.op.contrib.register_optimizer`), it is applied
       to the function.
    4. The functions get the names under which the runtime links them.

    mod_name: part of the functions' names; None omits it. bind_constants: move constants into the
    function instead of passing them as arguments. era="2020-01": the algorithm of January 2020,
    which creates closures, nested ones for malformed annotations.

    Raises PartitionError for malformed annotations, and for a region that depends on its own result
    (with the path of the value), on which TVM recurses endlessly; if the path contains a `let`,
    TVM's type inference rejects the result instead.

    Source: src/relay/transforms/partition_graph.cc of TVM 0.16.
    """

    eras = ("2020-01",)

    def __init__(
        self, mod_name: str | None = "default", bind_constants: bool = True, era: str | None = None
    ):
        self.prefix = mangle_module_name(mod_name)
        self.bind_constants = bind_constants
        self.era = self.checked_era(era)

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = infer_module(mod)
        if self.era:
            return partition_2020(mod)
        for step in self.steps().values():
            mod = step(mod)
        return infer_module(mod)

    def steps(self) -> dict[str, Callable[[IRModule], IRModule]]:
        """The steps in order, by their names in TVM."""
        return {
            "FlattenNestedTuples": lambda mod: _rewritten(mod, [flatten_tuple_end]),
            "RemoveDefaultAnnotations": lambda mod: _rewritten(mod, [remove_default]),
            "PartitionGraph": lambda mod: _Partitioner(mod, self.bind_constants).run(),
            "NameMangleExtFuncs": lambda mod: _mangle_names(mod, self.prefix),
        }


def _rewritten(mod: IRModule, rules: list[RewriteRule]) -> IRModule:
    out = mod.copy()
    for gv, func in mod.functions.items():
        with rewriting(func, gv.name_hint):
            out.functions[gv] = rewrite(func, rules)
    return infer_module(out)


@rule("flatten tuple end", "each field leaves the region separately")
def flatten_tuple_end(pre: Expr, post: Expr) -> Expr | None:
    if is_annotation(post, END) and isinstance(post.args[0], Tuple):
        fields = post.args[0].fields
        return Tuple([end(f, compiler_of(post)) for f in fields])
    return None


@rule("remove default", "the default compiler compiles everything outside regions")
def remove_default(pre: Expr, post: Expr) -> Expr | None:
    if is_annotation(post) and compiler_of(post) == DEFAULT:
        return post.args[0]
    return None


@dataclass(eq=False)
class _External:
    """The external function of a region while it is being created."""

    params: dict[Expr, Var] = field(default_factory=dict)  # key: operand of the begin
    args: list[Expr] = field(default_factory=list)
    result_of: dict[Expr, Expr] | None = None  # key: operand of the end; set by the first end
    name: str = ""  # set by the first end


class _Partitioner:
    def __init__(self, mod: IRModule, bind_constants: bool):
        self.mod = mod
        self.out = mod.copy()
        self.bind_constants = bind_constants
        # Checks all functions before anything is built.
        self.regions = {gv: RegionSet(func) for gv, func in mod.functions.items()}

    def run(self) -> IRModule:
        changed = False
        for gv, func in self.mod.functions.items():
            with rewriting(func, gv.name_hint):
                body = _FunctionPartitioner(self, gv.name_hint, self.regions[gv]).run(func)
            if body is not func:
                self.out[gv] = body
                changed = True
        return self.out if changed else self.mod

    def add(
        self, name: str, func: Function, reason: str | Sentence, nodes: list[Expr]
    ) -> GlobalVar:
        """Add the external function of a region (with nodes `nodes`) under an unused name."""
        free, n = name, 0
        while free in self.out:
            n += 1
            free = f"{name}_{n}"
        self.out[free] = func
        report_function("add function", reason, free, None, func, sources=nodes)
        return self.out.get_global_var(free)


class _FunctionPartitioner:
    def __init__(self, owner: _Partitioner, name: str, regions: RegionSet):
        self.owner, self.name, self.regions = owner, name, regions
        self.externals: dict[Region, _External] = {}
        self.position: dict[Expr, int] = {}
        for region in regions:
            self.externals[region] = _External()
            self.position.update({b: n for n, b in enumerate(region.inputs)})
        self.memo: dict[Expr, Expr] = {}
        self.root: Expr
        self.nodes_in: dict[Region, list[Expr]] = {}
        self.bound: dict[Expr, Expr] = {}  # the values of let variables

    def run(self, func: Function) -> Function:
        self.root = func
        lets = (n for n in post_order(func) if isinstance(n, Let))
        self.bound = {n.var: n.value for n in lets if not isinstance(n.value, Function)}
        keeps_in(self.memo)
        for node in self._order(func):
            post = with_mapped_parts(node, self.memo)
            if is_annotation(node, BEGIN):
                post = self._begin(node, post)
            elif is_annotation(node, END):
                post = self._end(node)
            self.memo[node] = post
        result = self.memo[func]
        assert isinstance(result, Function)
        return result

    def _order(self, func: Function) -> Iterator[Expr]:
        """Operands first; the first end of a region also needs the operands of its other ends."""
        active: dict[Expr, None] = {}
        finished: set[Expr] = set()
        # None marks that all operands of the node below it on the stack are done.
        stack: list[Expr | None] = [func]
        while stack:
            node = stack.pop()
            if node is None:
                stack.pop()
                done, _ = active.popitem()
                finished.add(done)
                yield done
            elif node in active:
                raise PartitionError(_cycle(node, active), node)
            elif node not in finished:
                active[node] = None
                stack += (node, None)
                stack += reversed(self._needs(node))

    def _needs(self, node: Expr) -> tuple[Expr, ...]:
        if node in self.bound:
            return (self.bound[node],)
        region = self.regions.of(node) if is_annotation(node, END) else None
        if region is None:
            return node.parts()
        return (*node.parts(), *(o.args[0] for o in region.outputs))

    def _begin(self, pre: Call, post: Call) -> Expr:
        region = self.regions.of(pre)
        assert region is not None
        external = self.externals[region]
        origin = skip_annotations(pre.args[0])
        if origin not in external.params:
            name = f"{region.target}_{region.id}_i{self.position.get(pre, 0)}"
            external.params[origin] = Var(name, pre.checked_type)
            external.args.append(post.args[0])
        return external.params[origin]

    def _end(self, pre: Call) -> Expr:
        region = self.regions.of(pre)
        assert region is not None
        external = self.externals[region]
        if external.result_of is None:
            external.result_of = self._make_function(region, external)
        result = external.result_of[pre.args[0]]
        if is_heard():
            first, name = self.regions.first_begin(region), external.name
            reason = naming_regions(first, f" of {region.target} is the external function @{name}")
            report("outline", reason, pre, result, sources=self._nodes_of(region))
        return result

    def _nodes_of(self, region: Region) -> list[Expr]:
        """The nodes of a region in evaluation order; empty if no listener is attached."""
        if is_heard() and not self.nodes_in:
            for node in post_order(self.root):
                found = self.regions.of(node)
                if found is not None:
                    self.nodes_in.setdefault(found, []).append(node)
        return self.nodes_in.get(region, [])

    def _make_function(self, region: Region, external: _External) -> dict[Expr, Expr]:
        values = list(dict.fromkeys(o.args[0] for o in region.outputs))
        bodies = [self.memo[v] for v in values]
        single = len(values) == 1
        body = bodies[0] if single else Tuple(bodies)
        types = [v.checked_type for v in values]
        params, args, bound = [], [], {}
        for param, arg in zip(external.params.values(), external.args, strict=True):
            if self.owner.bind_constants and is_flat_constant(arg):
                bound[param] = arg
            else:
                params.append(param)
                args.append(arg)
        name = f"{region.target}_{self.name}_{region.id}"
        copies: dict[Expr, Expr] = {}
        body = substitute(body, bound, copies)
        for copied in (copies, external.params):
            copies_in(copied)
        ret_type: Type | None = types[0] if single else TupleType(types)
        func = _optimized(Function(params, body, ret_type), region.target)
        attrs = {"global_symbol": name, "Primitive": 1, "Compiler": region.target, "Inline": 1}
        func = func.with_attr(attrs)
        reason = self._summary(region, external) if is_heard() else ""
        added = self.owner.add(name, func, reason, self._nodes_of(region))
        external.name = added.name_hint
        call = Call(added, args)
        if single:
            return {values[0]: call}
        return {v: TupleGetItem(call, n) for n, v in enumerate(values)}

    def _summary(self, region: Region, external: _External) -> Sentence:
        """The inputs and outputs of a region, in words."""
        inputs = _listed(list(external.params)) or "nothing"
        outputs = _listed([o.args[0] for o in region.outputs])
        told = f" of {region.target} computes {outputs} from {inputs}"
        return naming_regions(self.regions.first_begin(region), told)


def _listed(values: Sequence[Expr]) -> str:
    """The values in words; if there are many, the first ones and the number of constants."""
    if len(values) <= MAX_LISTED:
        return ", ".join(map(describe, values))
    others = [value for value in values if not isinstance(value, Constant)]
    words = list(map(describe, others[:MAX_LISTED]))
    if len(others) > MAX_LISTED:
        words.append(counted(len(others) - MAX_LISTED, "other value"))
    if len(others) < len(values):
        words.append(counted(len(values) - len(others), "constant"))
    return ", ".join(words)


def _optimized(func: Function, compiler: str) -> Function:
    """The function after the optimizer of its compiler, if one is registered."""
    optimize = get_optimizer(compiler)
    if optimize is None:
        return func
    optimized: Function = optimize(infer_module(IRModule.from_expr(func)))["main"]
    return optimized


def is_flat_constant(arg: Expr) -> bool:
    """Whether `bind_constants` moves an argument into the function: as in TVM, a constant or a
    tuple of constants, but not a nested tuple."""
    if isinstance(arg, Tuple):
        return all(isinstance(f, Constant) for f in arg.fields)
    return isinstance(arg, Constant)


def _cycle(node: Expr, active: dict[Expr, None]) -> str:
    chain = list(active)
    path = [n for n in chain[chain.index(node) :] if isinstance(n, Call)]
    shown = " <- ".join(describe(n) for n in [*path[:6], node])
    return (
        f"a region depends on its own result: {shown}. A value leaves it, is used outside, and "
        f"comes back. End the region at that value and begin a new one after it"
    )


def mangle_module_name(mod_name: str | None) -> str:
    """The prefix of the names of a module's functions in a library.

    Raises InputError for a name that is not ASCII.
    """
    if mod_name and not mod_name.isascii():
        raise InputError(f"{mod_name!r} contains invalid characters: names in a library are ASCII")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"


def _mangle_names(mod: IRModule, prefix: str) -> IRModule:
    """Give external functions the names under which the runtime links them."""
    renamed: dict[Expr, GlobalVar] = {}
    for gv, func in mod.functions.items():
        if "Compiler" in func.attrs:
            name = re.sub(r"[^0-9a-zA-Z]", "_", f"{prefix}_{gv.name_hint}")
            if name in mod and name != gv.name_hint:
                raise PartitionError(
                    f"the external function @{gv.name_hint} would be named @{name}, which the "
                    f"module already has; give PartitionGraph another mod_name"
                )
            renamed[gv] = GlobalVar(name)
            reason = "external functions are linked by this name"
            report_function("rename", reason, name, gv, renamed[gv])
    if not renamed:
        return mod
    functions: dict[GlobalVar, Function] = {}
    memo: dict[Expr, Expr] = {**renamed}
    for gv, func in mod.functions.items():
        new, key = func, renamed.get(gv, gv)
        if any(n in renamed for n in post_order(func)):
            new = rebuild(func, lambda pre, post: post, memo=memo)
        if key is not gv:
            new = new.replace(attrs=DictAttrs({**new.attrs, "global_symbol": key.name_hint}))
        functions[key] = new
    return mod.with_functions(functions)
