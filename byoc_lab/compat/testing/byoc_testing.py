"""`tvm.relay.testing.byoc`: an annotator for tests of external functions."""

from __future__ import annotations

from byoc_lab.relay import annotation
from byoc_lab.relay.ir.expr import Call, Expr, Op, Var
from byoc_lab.relay.ir.expr_functor import ExprMutator

COMPILER = "ccompiler"


class CcompilerAnnotator(ExprMutator):
    """Annotates sequences of add, subtract and multiply for "ccompiler".

    The region begins at the operands of the add, and at variables between add and multiply; it ends
    after the multiply. `in_compiler`: 1 below a multiply, 2 after the add was found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.in_compiler = 0

    def visit_call(self, call: Call) -> Expr:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "multiply":
            self.in_compiler = 1
            product = Call(call.op, self._operands(call))
            complete = self.in_compiler == 2
            self.in_compiler = 0
            return annotation.compiler_end(product, COMPILER) if complete else product
        if name == "subtract" and self.in_compiler == 1:
            return Call(call.op, self._operands(call))
        if name == "add" and self.in_compiler == 1:
            begins = [annotation.compiler_begin(self.visit(arg), COMPILER) for arg in call.args]
            self.in_compiler = 2
            return Call(call.op, begins)
        return super().visit_call(call)

    def _operands(self, call: Call) -> list[Expr]:
        """The operands of a call; variables begin the region."""
        visited = [self.visit(arg) for arg in call.args]
        return [
            annotation.compiler_begin(arg, COMPILER) if isinstance(arg, Var) else arg
            for arg in visited
        ]


__all__ = ["CcompilerAnnotator"]
