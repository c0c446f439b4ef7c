"""The picture of a Relay module: its boxes, frames and arrows.

A call of a function is drawn in place, as a frame around the body, so that a network keeps its
shape while it is annotated, fused and partitioned. Constants, and inputs that only serve as
weights, are folded into the box that uses them; projections and tuples are folded into the box they
come from. `Box.exprs` lists the folded nodes, so that selecting one in the text finds its box.
Malformed annotations are drawn unchanged: an arrow that crosses a region boundary without a
`compiler_begin` or `compiler_end` has `crossing` set.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from byoc_lab.errors import counted
from byoc_lab.lab.view.drawing.elements import (
    Arrow,
    Box,
    Picture,
    PictureFrame,
    fold_weights,
    used_frames,
)
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.analysis.region_numbers import Numbers, module_numbers, region_numbers
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.foreign import CODE, INPUTS, OPERATORS, ForeignModule, ForeignOp
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order

TIMES = "\N{MULTIPLICATION SIGN}"


def picture_of(
    obj: IRModule | Expr, numbers: Numbers | None = None, cut: Mapping[Expr, Call] | None = None
) -> Picture:
    """The picture of a module, function or expression.

    numbers: the numbers of its regions, by begin annotation; by default they are computed from the
    module alone. cut: for a part of a module, the values from regions outside the part, each with a
    begin annotation of the region.
    """
    artist = _Artist(obj, numbers, cut or {})
    if isinstance(obj, IRModule):
        # A function with callers is drawn at its calls, other functions in separate frames.
        drawn = (gv for gv in obj if CODE not in obj[gv].attrs)
        for gv in sorted(
            drawn, key=lambda gv: (gv.name_hint != "main", "Compiler" in obj[gv].attrs)
        ):
            if obj[gv] not in artist.drawn:
                first = len(artist.boxes)
                artist.draw_function(obj[gv], "" if gv.name_hint == "main" else gv.name_hint)
                if _unused(obj, gv):
                    artist.unused.add(obj[gv])
                    for box in artist.boxes[first:]:
                        box.operators = 0
    elif isinstance(obj, Function):
        artist.draw_function(obj, "")
    else:
        artist.draw_body(_Scope(obj))
    return artist.finish()


def _unused(mod: IRModule, gv: GlobalVar) -> bool:
    """Whether a function without callers is not an entry point: a function of another language that
    is not exported, or a region of @main (PartitionGraph adds the function before the call)."""
    if isinstance(mod, ForeignModule) and "global_symbol" not in mod[gv].attrs:
        return True
    return "Compiler" in mod[gv].attrs and any(other.name_hint == "main" for other in mod)


@dataclass(eq=False)
class _Scope:
    """The body of a function while it is drawn: boxes of its nodes, values of its variables."""

    body: Expr
    frame: PictureFrame | None = None
    outer: _Scope | None = None
    env: dict[Var, tuple[_Scope, Expr]] = field(default_factory=dict)  # parameter -> argument
    lets: dict[Var, Expr] = field(default_factory=dict)
    values: dict[Expr, tuple[Box, ...]] = field(default_factory=dict)
    regions: dict[Expr, PictureFrame] = field(default_factory=dict)

    def look_up(self, expr: Expr) -> tuple[_Scope, Expr]:
        """The value of a variable and its scope; any other expression is its own value."""
        scope, seen = self, set()
        while isinstance(expr, Var) and expr not in scope.values and (scope, expr) not in seen:
            seen.add((scope, expr))
            if expr in scope.env:
                scope, expr = scope.env[expr]
            elif expr in scope.lets:
                expr = scope.lets[expr]
            elif scope.outer is not None:
                scope = scope.outer
        return scope, expr

    def boxes(self, expr: Expr) -> tuple[Box, ...]:
        """The boxes that produce the value of `expr`."""
        scope, found = self.look_up(expr)
        return scope.values.get(found, ())

    def region(self, expr: Expr) -> PictureFrame | None:
        """The region of `expr` when used as an operand: None after the `compiler_end`."""
        scope, found = self.look_up(expr)
        if scope is not self or is_annotation(found, END):
            return None
        frame = self.regions.get(found)
        return frame.resolve() if frame else None


_Steps = Generator[_Scope, None, None]


class _Artist:
    def __init__(self, obj: IRModule | Expr, numbers: Numbers | None, cut: Mapping[Expr, Call]):
        self.obj = obj
        self.mod = obj if isinstance(obj, IRModule) else None
        self.given_numbers = numbers
        self.cut = cut
        self.boxes: list[Box] = []
        self.frames: list[PictureFrame] = []
        self.arrows: list[Arrow] = []
        self.drawn: set[Expr] = set()
        self.unused: set[Expr] = set()
        self.occupied: set[PictureFrame] = set()  # regions with more than a begin
        self.weights: set[Expr] = set()  # parameters that a function declares as weights

    # ---- walking ------------------------------------------------------------------------------

    def draw_function(self, func: Function, name: str) -> None:
        """Draw a function without a caller: its parameters are inputs, its result is an output."""
        self.drawn.add(func)
        scope = _Scope(func.body, self.function_frame(func, name, None) if name else None)
        for p in func.params:
            self.input(scope, p)
        self.weights.update(func.params[func.attrs.get(INPUTS, len(func.params)) :])
        self.draw_body(scope)

    def draw_body(self, root: _Scope) -> None:
        """Draw a body and, in place, the bodies of the functions it calls, without recursion."""
        stack = [self.steps(root)]
        while stack:
            try:
                stack.append(self.steps(next(stack[-1])))
            except StopIteration:
                stack.pop()
        out = Box("output", "output", _shape(root.body), [], root.frame)
        self.boxes.append(out)
        crossing = root.region(root.body) is not None
        for source in root.boxes(root.body):
            self.arrows.append(Arrow(source, out, crossing=crossing and source.kind != "end"))

    def steps(self, scope: _Scope) -> _Steps:
        """Draw the nodes of one body; yields the scopes of the functions to draw in place."""
        nodes = list(post_order(scope.body, enter=lambda n: not isinstance(n, Function)))
        scope.lets = {n.var: n.value for n in nodes if isinstance(n, Let)}
        for node in nodes:
            if isinstance(node, Call):
                home, callee = self.callee(scope, node.op)
                if callee is None or (callee in self.drawn and not self.again(scope, callee)):
                    self.call(scope, node)
                else:
                    inner = self.inline(scope, node, home, callee)
                    yield inner
                    scope.values[node] = inner.boxes(callee.body)
                    for box in scope.values[node][:1]:
                        box.exprs.append(node)
            elif isinstance(node, Var):
                if scope.look_up(node)[1] is node and not scope.boxes(node):
                    self.input(scope, node)
            elif isinstance(node, Constant):
                scope.values[node] = (self.box(scope, "constant", "constant", node),)
            elif isinstance(node, Let):
                scope.values[node] = scope.boxes(node.body)
            elif isinstance(node, If):
                self.connect(scope, self.box(scope, "if", "if", node), node.parts(), ("cond",))
            elif not isinstance(node, (Op, GlobalVar, Function)):
                self.fold(scope, node)
                if node in self.cut:
                    scope.regions[node] = self.region(scope, self.cut[node])

    def again(self, scope: _Scope, callee: Function) -> bool:
        """Whether to draw a function again at a further call. In Relax, equal regions are one
        function, and so are equal groups of fused operators."""
        frame = scope.frame
        while frame is not None and frame.expr is not callee:
            frame = frame.parent
        is_group = any(key in callee.attrs for key in ("Composite", "Compiler", "Primitive"))
        return isinstance(self.mod, ForeignModule) and is_group and frame is None

    def callee(self, scope: _Scope, op: Expr) -> tuple[_Scope | None, Function | None]:
        """The callee of a call, with the scope of its free variables."""
        home, found = scope.look_up(op)
        if isinstance(found, GlobalVar) and self.mod and found.name_hint in self.mod:
            return None, self.mod[found.name_hint]
        return (home, found) if isinstance(found, Function) else (None, None)

    # ---- drawing one node ---------------------------------------------------------------------

    def box(self, scope: _Scope, kind: str, title: str, node: Expr) -> Box:
        box = Box(kind, title, _shape(node), [node], scope.regions.get(node) or scope.frame)
        self.boxes.append(box)
        scope.values[node] = (box,)
        return box

    def input(self, scope: _Scope, var: Var) -> None:
        self.box(scope, "input", f"%{var.name_hint}", var)

    def call(self, scope: _Scope, node: Call) -> None:
        if is_annotation(node, BEGIN):
            scope.regions[node] = self.region(scope, node)
            box = self.box(scope, "begin", "begin", node)
        elif is_annotation(node, END):
            region = scope.region(node.args[0])
            if region:
                self.enter(scope, node, region)
            box = self.box(scope, "end", "end", node)
        else:
            self.join(scope, node, node.args)
            is_op = isinstance(node.op, Op)
            box = self.box(scope, "op" if is_op else "call", _callee_name(node), node)
            if isinstance(node.op, ForeignOp) and OPERATORS in node.attrs:
                box.operators = node.attrs[OPERATORS]
                known = counted(box.operators, "operator") if box.operators else "compiled code"
                box.detail = f"{known}, {box.detail}"
        definition = getattr(node.op, "definition", None)
        self.connect(scope, box, node.args, getattr(definition, "inputs", ()))

    def connect(self, scope: _Scope, box: Box, args: Sequence[Expr], roles: Sequence[str]) -> None:
        inside = box.frame.resolve() if box.frame and box.kind not in ("begin", "end") else None
        for n, arg in enumerate(args):
            role = roles[n].rstrip("*") if n < len(roles) else ""
            role = "weight" if scope.look_up(arg)[1] in self.weights else role
            crosses = bool(inside and inside.kind == "region" and scope.region(arg) is None)
            crosses |= box.kind == "begin" and scope.region(arg) is not None  # an unclosed region
            for source in scope.boxes(arg):
                self.arrows.append(Arrow(source, box, role, crosses))

    def fold(self, scope: _Scope, node: Expr) -> None:
        """Draw a tuple, a projection or a reference as the boxes that produce its parts."""
        parts = node.parts()
        if isinstance(node, TupleGetItem) and isinstance(node.tuple_value, Tuple):
            parts = node.tuple_value.fields[node.index : node.index + 1]
        found = dict.fromkeys(box for part in parts for box in scope.boxes(part))
        scope.values[node] = tuple(found)
        self.join(scope, node, node.parts())
        for box in list(found)[:1]:
            box.exprs.append(node)

    # ---- frames -------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Numbers:
        if self.given_numbers is not None:
            return self.given_numbers
        if isinstance(self.obj, IRModule):
            return module_numbers(self.obj)
        return region_numbers(self.obj)

    def region(self, scope: _Scope, begin: Call) -> PictureFrame:
        compiler, number = compiler_of(begin), self.numbers[begin]
        label = f"{compiler} · region {number}"
        frame = PictureFrame("region", label, compiler, scope.frame, number=number)
        self.frames.append(frame)
        return frame

    def join(self, scope: _Scope, node: Expr, operands: Sequence[Expr]) -> None:
        """Apply TVM's rule: a node belongs to the region of its operands, and regions of several
        operands are merged. Exception: the tuple that represents the outputs of a part of a
        module."""
        home: PictureFrame | None = None
        for operand in operands:
            region = scope.region(operand)
            if region is None or region is home:
                continue
            if home is None:
                home = region
            elif region.number == home.number:
                region.merged_into = home
                named = {home.compiler, *home.label.split(" + ")[1:]}
                if region.compiler not in named:
                    home.label += f" + {region.compiler}"
        if home is not None:
            self.enter(scope, node, home)

    def enter(self, scope: _Scope, node: Expr, region: PictureFrame) -> None:
        scope.regions[node] = region
        self.occupied.add(region)

    def inline(self, scope: _Scope, node: Call, home: _Scope | None, callee: Function) -> _Scope:
        """The scope of a called function, with a frame and its parameters bound to the
        arguments."""
        self.drawn.add(callee)
        self.join(scope, node, node.args)
        name = node.op.name_hint if isinstance(node.op, GlobalVar) else ""
        frame = self.function_frame(callee, name, scope.regions.get(node) or scope.frame)
        inner = _Scope(callee.body, frame, home)
        inner.env = {p: (scope, a) for p, a in zip(callee.params, node.args, strict=False)}
        return inner

    def function_frame(
        self, func: Function, name: str, parent: PictureFrame | None
    ) -> PictureFrame:
        attrs = func.attrs
        symbol = attrs.get("global_symbol") or attrs.get("ExternalSymbol") or name
        if "Compiler" in attrs:
            compiler = str(attrs["Compiler"])
            label = f"@{symbol}" if symbol else "fn"
            if compiler not in label:
                label += f" · {compiler}"
            if self.given_numbers and func in self.given_numbers:
                label += f" · region {self.given_numbers[func]}"
            frame = PictureFrame("external", label, compiler, parent, func)
        elif "Composite" in attrs:
            frame = PictureFrame("composite", str(attrs["Composite"]), None, parent, func)
        else:
            frame = PictureFrame("function", f"@{name}" if name else "fn", None, parent, func)
        self.frames.append(frame)
        return frame

    # ---- the finished picture -----------------------------------------------------------------

    def finish(self) -> Picture:
        for box in self.boxes:
            box.frame = box.frame.resolve() if box.frame else None
        folded = fold_weights(self.boxes, self.arrows)
        boxes = [b for b in self.boxes if b not in folded]
        arrows = [a for a in self.arrows if a.source not in folded]
        frames = used_frames(boxes)
        compiled = [f for f in frames if f.compiler not in (None, "default")]
        for n, frame in enumerate(compiled):
            frame.colour = n
        # A region with only projections and constants has no box, and so no frame. A region with
        # only a begin, as TVM 0.16 makes one for the value of each let, becomes no function.
        regions = {
            f.resolve()
            for f in self.frames
            if f.compiler not in (None, "default") and f.expr not in self.unused
            if f.kind != "region" or f in self.occupied
        }
        return Picture(boxes, frames, arrows, len(regions))


def _callee_name(node: Call) -> str:
    op = node.op
    if isinstance(op, ForeignOp) and node.args and isinstance(node.args[0], GlobalVar):
        return f"@{node.args[0].name_hint}"  # generated code that an operator calls
    if isinstance(op, Op):
        return op.name
    if isinstance(op, GlobalVar):
        return f"@{op.name_hint}"
    return f"%{op.name_hint}" if isinstance(op, Var) else "fn"


def _shape(node: Expr) -> str:
    """The shape of a value as a short text; empty if it has no type."""
    ty: Type | None = node.checked_type if node.is_typed else None
    if ty is None and isinstance(node, Var):
        ty = node.type_annotation
    if isinstance(ty, TupleType) and ty.fields:
        first = _shape_of(ty.fields[0])
        return f"{first} + {len(ty.fields) - 1} more" if len(ty.fields) > 1 else first
    return _shape_of(ty) if ty is not None else ""


def _shape_of(ty: Type) -> str:
    if not isinstance(ty, TensorType):
        return str(ty) if len(str(ty)) < 30 else type(ty).__name__
    dims = TIMES.join(map(str, ty.shape)) if ty.shape else "scalar"
    return dims if ty.dtype == "float32" else f"{dims} {ty.dtype}"
