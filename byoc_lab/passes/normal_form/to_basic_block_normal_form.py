"""ToBasicBlockNormalForm: binds values shared by several branches or functions to variables around
them."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.errors import counted
from byoc_lab.passes.framework.hook import report
from byoc_lab.passes.framework.passes import ModulePass, PassContext, each_function
from byoc_lab.passes.normal_form.to_a_normal_form import Normaliser, is_open
from byoc_lab.relay.ir.expr import Expr, Function, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import is_dataflow


class ToBasicBlockNormalForm(ModulePass):
    """Bind each value that several branches or functions share to a variable around them.

    `if (%c) { add(abs(%x), %y) } else { abs(%x) }`, where both calls of abs are one node, -> `let
    %x_0 = abs(%x); if (%c) { add(%x_0, %y) } else { %x_0 }`. The rest of the graph is unchanged:
    inside one scope, shared values need no variable. So each scope is a basic block, and it is
    explicit which values are computed before a branch.

    Source: src/relay/transforms/to_basic_block_normal_form.cc of TVM 0.16. As in TVM, a value that
    the traversal first reaches outside the branches that use it belongs to that outer scope, and
    gets no variable.
    """

    opt_level = 1

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return each_function(mod, lambda func, out: _BlockNormaliser(func).run())


def find_lifted(expr: Expr) -> Iterator[Expr]:
    """The expressions that are used in several scopes and must be bound around them. Operators and
    global functions are excluded, because they belong to no scope."""
    normaliser = _BlockNormaliser(Function([], expr))
    normaliser._place(normaliser._opened(None))
    return (e for e in normaliser._find_lifted() if not isinstance(e, (Op, GlobalVar)))


class _BlockNormaliser(Normaliser):
    """Names only values whose scope differs from the scope of their first use."""

    lifted: frozenset[Expr] = frozenset()

    def needs_name(self, node: Expr) -> bool:
        return node in self.lifted and super().needs_name(node)

    def run(self) -> Function:
        root = self._opened(None)
        self._place(root)
        self.lifted = frozenset(self._find_lifted())
        self._fill(self.func.body)
        body = root.close(self.memo[self.func.body])
        if body is self.func.body:
            return self.func
        new = self.func.replace(body=body)
        report("bind", f"{counted(self.count, 'value')} shared between scopes", self.func, new)
        return new

    def _find_lifted(self) -> Iterator[Expr]:
        """The values whose scope differs from the scope of their first use.

        The first use is the edge that TVM's traversal visits first: the edges of a dataflow node
        when it leaves the node, the edges of other nodes one by one.
        """
        met: set[Expr] = {self.func.body}
        seen: set[Expr] = set()
        stack: list[tuple[Expr, int | None]] = [(self.func.body, None)]
        while stack:
            node, n = stack.pop()
            if n is not None:
                part, owner = node.parts()[n], self.opens(node, n)
                used_in = self.scope_of[node] if owner is None else self.inner[node, owner]
                if part not in met and used_in is not self.scope_of[part]:
                    yield part
                met.add(part)
            elif node not in seen:
                seen.add(node)
                parts = node.parts() if is_open(node) else ()
                edges = [(node, i) for i in range(len(parts))]
                below = [(p, None) for p in parts]
                if is_dataflow(node):
                    stack += [*reversed(edges), *reversed(below)]
                else:
                    turns = [e for pair in zip(below, edges, strict=True) for e in pair]
                    stack += reversed(turns)

    def _value(self, node: Expr) -> Expr:
        made = super()._value(node)
        if type(made) is not type(node) or made.parts() != node.parts():
            return made
        return node if made.span is node.span else made  # TVM loses this source location
