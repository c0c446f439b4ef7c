"""AnnotateTarget: annotates the operators that each compiler supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.passes.framework.hook import is_heard, keeps_in, note, report
from byoc_lab.passes.framework.passes import FunctionPass, ModulePass, PassContext
from byoc_lab.passes.framework.predicates import ask_operator, refusal
from byoc_lab.relay.analysis.annotations import (
    BEGIN,
    DEFAULT,
    END,
    begin,
    compiler_of,
    end,
    is_annotation,
)
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
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild

MAX_ANNOTATIONS = 100
"""The maximum number of annotations of one node that are separate events."""
BEYOND_TVM = "beyond_tvm"
"""The operator attribute `beyond_tvm.<name>` is a predicate for calls that back end <name> supports
and TVM's back end of that name does not."""


class AnnotateTarget(ModulePass):
    """Annotate the operators that each compiler supports with `compiler_begin` and `compiler_end`.

    A call of an operator is assigned to the first target whose predicate (the operator's attribute
    `target.<name>`) accepts it; a call of a composite function to the target named before the first
    dot of its name; all other calls to "default". Each argument of a call gets a `compiler_begin`,
    and each use of a value that a target computes gets a `compiler_end`.

    include_non_call_ops: also annotate tuples and projections whose operands all have the same
    target; references stay on the host. era="0.16": like TVM 0.16, including its bugs. beyond_tvm:
    also offload the operators that a back end registers as `beyond_tvm`; TVM's back end of that
    name and era="0.16" do not offload them.

    Raises PassError for an unknown era, PredicateError for a predicate that raises.

    Source: src/relay/transforms/annotate_target.cc of TVM 0.16. Without era="0.16", four of its
    bugs are fixed. (1) References are not annotated; PartitionGraph rejects their annotations
    ("Cannot find the corresponding region for end annotation"). (2) The value of a `let` gets no
    begin, because the begin would have no end and its region a free variable. (3) Existing begins
    keep their positions among the arguments. (4) If a second run assigns a call to a target, each
    "default" end around it becomes an end of that target (in TVM only at the end of a scope)."""

    eras = ("0.16",)

    def __init__(
        self,
        targets: str | Sequence[str],
        include_non_call_ops: bool = True,
        era: str | None = None,
        beyond_tvm: bool = True,
    ):
        self.targets = [targets] if isinstance(targets, str) else list(targets)
        self.include_non_call_ops = include_non_call_ops
        self.era = self.checked_era(era)
        self.beyond_tvm = beyond_tvm and era is None

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _AnnotateTargetFunc(self)(mod)

    def predicate(self, op: Op, target: str) -> Any:
        """The predicate of `target` for an operator; None if it does not support the operator."""
        predicate = op.get_attr(f"target.{target}")
        if predicate is None and self.beyond_tvm:
            return op.get_attr(f"{BEYOND_TVM}.{target}")
        return predicate


class _AnnotateTargetFunc(FunctionPass):
    """The inner function pass, which instruments observe as in TVM."""

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
        self.target_of: dict[Expr, str] = {}  # the target that computes a rewritten node

    def run(self, func: Function) -> Function:
        def enter(node: Expr) -> bool:
            return not (isinstance(node, Function) and "Composite" in node.attrs)

        made: dict[Expr, Expr] = {}
        keeps_in(made)
        after: Function = rebuild(func, self._rewrite, enter, made)
        return after

    def _rewrite(self, pre: Expr, post: Any) -> Any:
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
        return self._annotated(pre, post, parts, "its value leaves the region and its scope")

    def _annotated(self, pre: Expr, post: Expr, parts: Sequence[Expr], reason: str) -> Expr:
        """`post` with annotated parts, or `post` itself if none was annotated."""
        if all(a is b for a, b in zip(post.parts(), parts, strict=True)):
            return post
        new = _remade(post, parts)
        if is_heard():
            report_annotations(pre, post, new, reason)
        return new

    # Calls ---------------------------------------------------------------------------------------

    def _call(self, pre: Call, post: Call) -> Expr:
        if is_annotation(pre):
            return self._annotation(pre, post)
        first = pre.args[0] if pre.args else None
        if is_annotation(first, BEGIN) and compiler_of(first) != DEFAULT:
            return post  # annotated manually or by an earlier run
        if not self.options.include_non_call_ops and isinstance(pre.op, Var):
            return self._non_call(pre, post)
        target = self._target(pre)
        reason = f"{target} supports {_callee(pre)}"
        if target == DEFAULT:
            reason = f"none of {', '.join(self.options.targets)} supports {_callee(pre)}"
        new = self._annotated(pre, post, (post.op, *self._arguments(post.args, target)), reason)
        self.target_of[new] = target
        return new

    def _annotation(self, pre: Call, post: Call) -> Expr:
        """Handle a `compiler_begin` or `compiler_end` that an earlier run added."""
        if self.options.era:
            return post
        new = self._taken_over(post)
        if new is not post:
            compiler = compiler_of(new)
            report(f"end {compiler}", f"{compiler} supports the call that ends here", pre, new)
        return new

    def _taken_over(self, expr: Expr) -> Expr:
        """For an end of "default" around a call that now has a target: an end of that target."""
        if is_annotation(expr, END) and compiler_of(expr) == DEFAULT:
            target = self.target_of.get(expr.args[0], DEFAULT)
            return expr if target == DEFAULT else end(expr.args[0], target)
        return expr

    def _target(self, call: Call) -> str:
        """The first target that supports a call. Targets that refuse it are reported as notes."""
        for target in self.options.targets:
            if isinstance(call.op, Op):
                predicate = self.options.predicate(call.op, target)
                answer = predicate is not None and ask_operator(predicate, call, target)
                if answer:
                    return target
                if is_heard():
                    unknown = f"{target} does not list {call.op.name} among its operators"
                    reason = unknown if predicate is None else refusal(target, call, answer)
                    note(f"refuse {target}", reason, call)
            elif isinstance(call.op, Function) and "Composite" in call.op.attrs:
                if prefix_of(str(call.op.attrs["Composite"])) == target:
                    return target
                if is_heard():
                    reason = f"the name of {_callee(call)} does not begin with '{target}.'"
                    note(f"refuse {target}", reason, call)
        return DEFAULT

    def _arguments(self, args: Sequence[Expr], target: str) -> list[Expr]:
        """Each argument with a begin of `target`; begins of other compilers are kept."""
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
        """`arg` with an end of the target that computes it; `arg` itself if no target does."""
        if arg not in self.target_of or (isinstance(arg, Call) and not arg.args):
            return arg
        return end(arg, self.target_of[arg])

    # Other nodes ---------------------------------------------------------------------------------

    def _non_call(self, pre: Expr, post: Expr) -> Expr:
        """Annotate a tuple or projection with the target that all its operands have; references get
        no target."""
        parts = post.parts()
        if isinstance(post, Call):
            parts = post.args
        # TVM 0.16 also annotates references; PartitionGraph rejects their annotations.
        stays = isinstance(pre, (RefCreate, RefRead, RefWrite)) and not self.options.era
        if stays or not self.options.include_non_call_ops:
            new = [self._end(self._taken_over(p)) for p in parts]
            whole = [post.op, *new] if isinstance(post, Call) else new
            return self._annotated(pre, post, whole, "its value leaves the region here")
        targets = {self._target_of_part(p) for p in parts}
        target = targets.pop() if len(targets) == 1 else DEFAULT
        reason = f"all operands of {describe(pre)} belong to {target}"
        if target == DEFAULT:
            reason = f"the operands of {describe(pre)} do not all belong to one target"
        new = self._arguments(parts, target)
        whole = [post.op, *new] if isinstance(post, Call) else new
        made = self._annotated(pre, post, whole, reason)
        self.target_of[made] = target
        return made

    def _target_of_part(self, part: Expr) -> str:
        if is_annotation(part, BEGIN):
            return compiler_of(part)
        return self.target_of.get(part, DEFAULT)

    def _close(self, expr: Expr) -> Expr:
        """The result of a scope, with an end if a target computes it."""
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


def prefix_of(composite: str) -> str | None:
    """The target in the name of a composite: the part before its first dot; None without a dot."""
    prefix, dot, _ = composite.partition(".")
    return prefix if dot else None


def _callee(call: Call) -> str:
    """The callee of a call, in words."""
    if isinstance(call.op, Function) and "Composite" in call.op.attrs:
        return f"the composite function {call.op.attrs['Composite']}"
    return call.op_name or describe(call.op)


def _remade(node: Expr, parts: Sequence[Expr]) -> Expr:
    """`node` with other parts, without the types of its arguments."""
    if isinstance(node, Call):
        return Call(parts[0], parts[1:], node.attrs, span=node.span)
    if isinstance(node, TupleGetItem):
        return TupleGetItem(parts[0], node.index, node.span)
    return node.with_parts(parts)


def report_annotations(pre: Expr, post: Expr, new: Expr, reason: str) -> None:
    """Report each annotation of the parts of `new` as an event. post: the node without them.

    If a node has more than MAX_ANNOTATIONS annotated parts, the last event includes all remaining
    ones.
    """
    parts = list(post.parts())
    states: list[tuple[str, str, list[Expr]]] = []
    for n, part in enumerate(new.parts()):
        if part is parts[n]:
            continue
        if len(states) > MAX_ANNOTATIONS:
            parts = list(new.parts())
            break
        inner = part.args[0] if is_annotation(part, BEGIN) else part
        if inner is not part and is_annotation(inner, END) and _bare(parts[n]) is not inner:
            states.append(("end", compiler_of(inner), [*parts[:n], inner, *parts[n + 1 :]]))
        parts[n] = part
        kind = "begin" if inner is not part else "end" if is_annotation(part, END) else "place"
        states.append((kind, compiler_of(part), list(parts)))
    for n, (kind, compiler, state) in enumerate(states, 1):
        after = new if n == len(states) else _remade(post, state)
        report(f"{kind} {compiler}", reason, pre, after, sources=())


def _bare(part: Expr) -> Expr:
    """The operand of a `compiler_begin`; any other node unchanged."""
    return part.args[0] if is_annotation(part, BEGIN) else part
