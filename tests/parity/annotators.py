"""Hand-written annotators of the conv + batch norm + relu networks; they differ in one rule.

All three traverse from a relu through the known operators to a conv2d, end the region after the
relu, and begin it on some arguments. The rules:

* `vars` begins on variables only, so a convolution that reads the previous region's result
  directly gets no begin: the annotation that fails for two blocks.
* `conv_args` begins also on every argument of a convolution: the corrected form.
* `all_inputs` begins also on constants, and knows the operators that a batch norm is
  decomposed into: TVM's requirement since April 2020.
"""

from __future__ import annotations

from typing import Any

BLOCK = ("nn.conv2d", "nn.batch_norm", "nn.relu")
FOLDED_BLOCK = (*BLOCK, "add", "multiply")


def annotate(mod: Any, relay: Any, rule: str, compiler: str = "dnnl") -> Any:
    """`mod` with its main function annotated by `rule`, one of RULES."""
    known, opens = RULES[rule](relay)
    begin = relay.op.annotation.compiler_begin
    end = relay.op.annotation.compiler_end

    class BlockAnnotator(relay.ExprMutator):
        """Is inside a block between its relu and its convolution, outside elsewhere."""

        def __init__(self) -> None:
            super().__init__()
            self.inside = False

        def visit_call(self, call: Any) -> Any:
            name = getattr(call.op, "name", None)
            if name == "nn.relu":
                self.inside = True
                closed = end(self.with_begins(call), compiler)
                self.inside = False
                return closed
            if name in known and self.inside:
                if name == "nn.conv2d":
                    self.inside = False
                return self.with_begins(call)
            return super().visit_call(call)

        def with_begins(self, call: Any) -> Any:
            args = []
            for original in call.args:
                arg = self.visit(original)
                args.append(begin(arg, compiler) if opens(call, arg) else arg)
            return relay.Call(call.op, args, call.attrs, call.type_args)

    mod["main"] = BlockAnnotator().visit(mod["main"])
    return relay.transform.InferType()(mod)


def drop_let_begins(mod: Any, relay: Any) -> Any:
    """`mod` with main's let values annotated as TVM should do it: an end, but no begin."""

    begin = relay.op.get("annotation.compiler_begin")

    class Dropper(relay.ExprMutator):
        def visit_let(self, let: Any) -> Any:
            value = self.visit(let.value)
            if isinstance(value, relay.Call) and value.op == begin:
                value = value.args[0]
            return relay.Let(self.visit(let.var), value, self.visit(let.body))

    mod["main"] = Dropper().visit(mod["main"])
    return relay.transform.InferType()(mod)


def _is_conv(call: Any) -> bool:
    return call.op.name == "nn.conv2d"


RULES = {
    "vars": lambda relay: (BLOCK, lambda call, arg: isinstance(arg, relay.Var)),
    "conv_args": lambda relay: (
        BLOCK,
        lambda call, arg: _is_conv(call) or isinstance(arg, relay.Var),
    ),
    "all_inputs": lambda relay: (
        FOLDED_BLOCK,
        lambda call, arg: _is_conv(call) or isinstance(arg, (relay.Var, relay.Constant)),
    ),
}
