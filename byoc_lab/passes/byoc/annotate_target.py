"""AnnotateTarget: mark what each compiler takes with `compiler_begin` and `compiler_end`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import keeps_in, report
from byoc_lab.passes.framework.passes import FunctionPass, ModulePass, PassContext
from byoc_lab.passes.framework.predicates import ask_operator
from byoc_lab.relay.analysis.annotations import BEGIN, END, begin, compiler_of, end, is_annotation
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild

DEFAULT = "default"
BEYOND_TVM = "beyond_tvm"
"""`beyond_tvm.<name>`: an operator's predicate for what TVM's back end <name> does not offload."""


class AnnotateTarget(ModulePass):
    """Annotate what each compiler supports with `compiler_begin` and `compiler_end`.

    A call is taken by the first listed target whose predicate (`target.<name>` of the operator)
    accepts it, or whose name stands before the first dot of a composite function's name; all else
    is "default". Every edge into a call gets a begin, every edge out of one an end.

    include_non_call_ops: tuples and projections go along with the calls around them when those
    agree. References stay with the host. era="0.16": as TVM 0.16 does, faults included. beyond_tvm:
    also offload the operators that a back end registers as `beyond_tvm`; TVM's back end of that
    name leaves them to the host, and so does era="0.16".

    Source: src/relay/transforms/annotate_target.cc of TVM 0.16. Four of its faults are fixed
    unless era="0.16" asks for them: references are annotated as tuples are, which PartitionGraph
    refuses ("Cannot find the corresponding region for end annotation"); the value of a `let` is
    closed but not opened again (a begin there has no end, and its region leaves a free variable);
    begins that are there already keep their place among the arguments; and where a second run gives
    a call to a target, every "default" end of the first run goes over to that target (TVM: only at
    the end of a scope)."""

    def __init__(
        self,
        targets: str | Sequence[str],
        include_non_call_ops: bool = True,
        era: str | None = None,
        beyond_tvm: bool = True,
    ):
        if era not in (None, "0.16"):
            raise PassError(f'AnnotateTarget: era must be None or "0.16", found {era!r}')
        self.targets = [targets] if isinstance(targets, str) else list(targets)
        self.include_non_call_ops = include_non_call_ops
        self.era = era
        self.beyond_tvm = beyond_tvm and era is None

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _AnnotateTargetFunc(self)(mod)

    def predicate(self, op: Op, target: str) -> Any:
        """The function of a call that says whether `target` takes it; None: never."""
        predicate = op.get_attr(f"target.{target}")
        if predicate is None and self.beyond_tvm:
            return op.get_attr(f"{BEYOND_TVM}.{target}")
        return predicate


class _AnnotateTargetFunc(FunctionPass):
    """The pass inside, which instruments hear of as they do in TVM."""

    def __init__(self, options: AnnotateTarget):
        self.options = options

    @property
    def name(self) -> str:
        return "AnnotateTargetFunc"

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _Annotator(self.options).run(func)


class _Annotator:
    def __init__(self, options: AnnotateTarget):
        self.options = options
        self.target_of: dict[Expr, str] = {}  # by rewritten node

    def run(self, func: Function) -> Function:
        def enter(node: Expr) -> bool:
            return not (isinstance(node, Function) and "Composite" in node.attrs)

        made: dict[Expr, Expr] = {}
        keeps_in(made)
        return rebuild(func, self._rewrite, enter, made)

    def _rewrite(self, pre: Expr, post: Any) -> Expr:
        if isinstance(pre, Call):
            return self._call(pre, post)
        grouping = isinstance(pre, Tuple) and bool(pre.fields)
        if grouping or isinstance(pre, (TupleGetItem, RefCreate, RefRead, RefWrite)):
            return self._non_call(pre, post)
        if isinstance(post, Function) and "Composite" not in post.attrs:
            return self._scope(pre, post, [*post.params, self._close(post.body)])
        if isinstance(post, If):
            return self._scope(pre, post, [self._close(p) for p in post.parts()])
        if isinstance(post, Let):
            value, variable, body = post.parts()
            return self._scope(pre, post, [self._let_value(value), variable, self._close(body)])
        return post

    def _scope(self, pre: Expr, post: Expr, parts: list[Expr]) -> Expr:
        new = self._rebuilt(post, parts)
        if new is not post:
            report("close", "what a target computed leaves it at the end of a scope", pre, new)
        return new

    def _rebuilt(self, node: Expr, parts: list[Expr]) -> Expr:
        same = all(a is b for a, b in zip(node.parts(), parts, strict=True))
        if same:
            return node
        return _remade(node, parts)

    # Calls ---------------------------------------------------------------------------------------

    def _call(self, pre: Call, post: Call) -> Expr:
        if is_annotation(pre):
            return self._annotation(pre, post)
        first = pre.args[0] if pre.args else None
        if is_annotation(first, BEGIN) and compiler_of(first) != DEFAULT:
            return post  # annotated by hand, or by an earlier run
        if not self.options.include_non_call_ops and isinstance(pre.op, Var):
            return self._non_call(pre, post)
        target = self._target(pre)
        new = Call(post.op, self._arguments(post.args, target), post.attrs, span=post.span)
        self.target_of[new] = target
        taken = f"{target} takes it" if target != DEFAULT else "no target takes it"
        report(f"annotate {target}", taken, pre, new)
        return new

    def _annotation(self, pre: Call, post: Call) -> Expr:
        """A mark of an earlier run."""
        if self.options.era:
            return post
        new = self._taken_over(post)
        if new is not post:
            report("take over", "what ends here has a target by now", pre, new)
        return new

    def _taken_over(self, expr: Expr) -> Expr:
        """An end of "default" around a call that a target takes by now: an end of that target."""
        if is_annotation(expr, END) and compiler_of(expr) == DEFAULT:
            target = self.target_of.get(expr.args[0], DEFAULT)
            return expr if target == DEFAULT else end(expr.args[0], target)
        return expr

    def _target(self, call: Call) -> str:
        if isinstance(call.op, Op):
            for target in self.options.targets:
                accepts = self.options.predicate(call.op, target)
                if accepts is not None and ask_operator(accepts, call, target):
                    return target
        elif isinstance(call.op, Function):
            prefix, dot, _ = str(call.op.attrs.get("Composite", "")).partition(".")
            if dot and prefix in self.options.targets:
                return prefix
        return DEFAULT

    def _arguments(self, args: Sequence[Expr], target: str) -> list[Expr]:
        """Each argument behind a begin of `target`; begins of another compiler are kept."""
        kept: list[Expr] = []
        made: list[Expr] = []
        order: list[Expr] = []
        for arg in args:
            if is_annotation(arg, BEGIN) and compiler_of(arg) != DEFAULT:
                kept.append(arg)
                order.append(arg)
                continue
            if is_annotation(arg, BEGIN):
                arg = arg.args[0]
            new = begin(self._end(arg), target)
            made.append(new)
            order.append(new)
        return [*kept, *made] if self.options.era else order

    def _end(self, arg: Expr) -> Expr:
        """`arg` behind an end of its own target, when it was computed by a target."""
        if arg not in self.target_of or (isinstance(arg, Call) and not arg.args):
            return arg
        return end(arg, self.target_of[arg])

    # All else ------------------------------------------------------------------------------------

    def _non_call(self, pre: Expr, post: Expr) -> Expr:
        """Tuples and projections: of the target that all parts agree on; references: of none."""
        parts = post.parts()
        if isinstance(post, Call):
            parts = post.args
        # TVM 0.16 annotates references too, whose annotations PartitionGraph then refuses.
        stays = isinstance(pre, (RefCreate, RefRead, RefWrite)) and not self.options.era
        if stays or not self.options.include_non_call_ops:
            new = [self._end(self._taken_over(p)) for p in parts]
            done = self._rebuilt(post, [post.op, *new] if isinstance(post, Call) else new)
            if done is not post:
                report("close", "what a target computed leaves it here", pre, done)
            return done
        targets = {self._target_of_part(p) for p in parts}
        target = targets.pop() if len(targets) == 1 else DEFAULT
        made = _remade(post, self._arguments(parts, target))
        self.target_of[made] = target
        report(f"annotate {target}", "it goes along with what it is made of", pre, made)
        return made

    def _target_of_part(self, part: Expr) -> str:
        if is_annotation(part, BEGIN):
            return compiler_of(part)
        return self.target_of.get(part, DEFAULT)

    def _close(self, expr: Expr) -> Expr:
        """The result of a scope: behind an end when a target computed it."""
        if isinstance(expr, (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)):
            return self._end(self._taken_over(expr))
        return expr

    def _let_value(self, value: Expr) -> Expr:
        if isinstance(value, Function):
            return value
        closed = self._end(value)
        if not self.options.era:
            return closed
        target = self.target_of.get(value, DEFAULT)
        return begin(closed, target)


def _remade(node: Expr, parts: Sequence[Expr]) -> Expr:
    if isinstance(node, TupleGetItem):
        return TupleGetItem(parts[0], node.index, node.span)
    return node.with_parts(parts)
