"""PartitionGraph: every region becomes an external function of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from byoc_lab.errors import InputError, PartitionError
from byoc_lab.passes.byoc.partition_2020 import partition_2020
from byoc_lab.passes.framework.hook import keeps_in, report, report_function, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
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

DEFAULT = "default"


class PartitionGraph(ModulePass):
    """Every region becomes an external function of its own, called from where it was.

    %0 = begin[A](%x); %1 = nn.relu(%0); end[A](%1)  ->  @tvmgen_default_A_main_0(%x)

    1. An end around a tuple moves onto its fields; `default` marks are removed.
    2. Each begin becomes a parameter; begins over the same value share one.
    3. The first end of a region makes the function: its body is what the region computes, a tuple
       when several values leave. The end becomes the call, or a projection of it. What the compiler
       has registered as its optimizer (`relay.op.contrib.register_optimizer`) is applied to the
       function.
    4. The functions get the names that the runtime links by.

    mod_name: goes into the functions' names; None leaves it out. bind_constants: constants become
    part of the function instead of arguments. era="2020-01": the algorithm of January 2020, which
    makes closures and, on malformed annotations, nests them.

    Source: src/relay/transforms/partition_graph.cc of TVM 0.16. A region that needs its own result,
    on which TVM's recursion never ends, is refused here with the way the value takes.
    """

    def __init__(
        self, mod_name: str | None = "default", bind_constants: bool = True, era: str | None = None
    ):
        if era not in (None, "2020-01"):
            raise PartitionError(f'PartitionGraph: era must be None or "2020-01", found {era!r}')
        self.prefix = mangle_module_name(mod_name)
        self.bind_constants = bind_constants
        self.era = era

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = infer_module(mod)
        if self.era:
            return partition_2020(mod)
        for step in self.steps().values():
            mod = step(mod)
        return infer_module(mod)

    def steps(self) -> dict[str, Callable[[IRModule], IRModule]]:
        """The steps in order, by the names that they have in TVM."""
        return {
            "FlattenNestedTuples": lambda mod: _rewritten(mod, [flatten_tuple_end]),
            "RemoveDefaultAnnotations": lambda mod: _rewritten(mod, [remove_default]),
            "PartitionGraph": lambda mod: _Partitioner(mod, self.bind_constants).run(),
            "NameMangleExtFuncs": lambda mod: _mangle_names(mod, self.prefix),
        }


def _rewritten(mod: IRModule, rules: list) -> IRModule:
    out = mod.copy()
    for gv, func in mod.functions.items():
        with rewriting(func, gv.name_hint):
            out.functions[gv] = rewrite(func, rules)
    return infer_module(out)


@rule("flatten tuple end", "each field leaves the region by itself")
def flatten_tuple_end(pre: Expr, post: Expr) -> Expr | None:
    if is_annotation(post, END) and isinstance(post.args[0], Tuple):
        fields = post.args[0].fields
        return Tuple([end(f, compiler_of(post)) for f in fields])
    return None


@rule("remove default", "the default compiler needs no region")
def remove_default(pre: Expr, post: Expr) -> Expr | None:
    if is_annotation(post) and compiler_of(post) == DEFAULT:
        return post.args[0]
    return None


@dataclass(eq=False)
class _External:
    """What is known so far about the function that a region becomes."""

    params: dict[Expr, Var] = field(default_factory=dict)  # by the value behind the begin
    args: list[Expr] = field(default_factory=list)
    result_of: dict[Expr, Expr] | None = None  # by the value behind the end; set by the first end


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

    def add(self, name: str, func: Function) -> GlobalVar:
        """Add an external function under a free name."""
        free, n = name, 0
        while free in self.out:
            n += 1
            free = f"{name}_{n}"
        self.out[free] = func
        report_function("add function", f"{free} is cut out", free, None, func)
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

    def run(self, func: Function) -> Function:
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
        """Operands first; the first end of a region also needs what the others close."""
        active: dict[Expr, None] = {}
        finished: set[Expr] = set()
        stack: list[Expr | None] = [func]  # None: the node below it has had what it needs
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
        reason = f"region {region.id} is a function of compiler {region.target} now"
        report("outline", reason, pre, result)
        return result

    def _make_function(self, region: Region, external: _External) -> dict[Expr, Expr]:
        values = list(dict.fromkeys(o.args[0] for o in region.outputs))
        bodies = [self.memo[v] for v in values]
        single = len(values) == 1
        body = bodies[0] if single else Tuple(bodies)
        types = [v.checked_type for v in values]
        params, args, bound = [], [], {}
        for param, arg in zip(external.params.values(), external.args, strict=True):
            if self.owner.bind_constants and _is_flat_constant(arg):
                bound[param] = arg
            else:
                params.append(param)
                args.append(arg)
        name = f"{region.target}_{self.name}_{region.id}"
        body = substitute(body, bound)
        ret_type: Type | None = types[0] if single else TupleType(types)
        func = _optimized(Function(params, body, ret_type), region.target)
        attrs = {"global_symbol": name, "Primitive": 1, "Compiler": region.target, "Inline": 1}
        call = Call(self.owner.add(name, func.with_attr(attrs)), args)
        if single:
            return {values[0]: call}
        return {v: TupleGetItem(call, n) for n, v in enumerate(values)}


def _optimized(func: Function, compiler: str) -> Function:
    """What the compiler's own optimizer, if it registered one, makes of its function."""
    optimize = get_optimizer(compiler)
    if optimize is None:
        return func
    return optimize(infer_module(IRModule.from_expr(func)))["main"]


def _is_flat_constant(arg: Expr) -> bool:
    if isinstance(arg, Tuple):
        return all(isinstance(f, Constant) for f in arg.fields)
    return isinstance(arg, Constant)


def _cycle(node: Expr, active: dict[Expr, None]) -> str:
    chain = list(active)
    way = [n for n in chain[chain.index(node) :] if isinstance(n, Call)]
    shown = " <- ".join(describe(n) for n in [*way[:6], node])
    return (
        f"a region needs its own result: {shown}. It is not convex: a value leaves it, is used "
        f"outside, and comes back. End the region at that value and begin a new one there"
    )


def mangle_module_name(mod_name: str | None) -> str:
    """What the names of a module's functions begin with in a library. Raises InputError for a name
    that is not ASCII.
    """
    if mod_name and not mod_name.isascii():
        raise InputError(f"{mod_name!r} contains invalid characters: names in a library are ASCII")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"


def _mangle_names(mod: IRModule, prefix: str) -> IRModule:
    """External functions under the names that the runtime links by."""
    renamed: dict[Expr, GlobalVar] = {}
    for gv, func in mod.functions.items():
        if "Compiler" in func.attrs:
            name = re.sub(r"[^0-9a-zA-Z]", "_", f"{prefix}_{gv.name_hint}")
            if name in mod and name != gv.name_hint:
                raise PartitionError(
                    f"the external function @{gv.name_hint} is to be called @{name}, which the "
                    f"module has already; give PartitionGraph another mod_name"
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
