"""The exercise on the same flow in today's Relax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.needs import TVM
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.run.tvm_runtime import import_tvm

NAME = "edu.conv2d_bias_relu"
KERNEL = ["relax.nn.conv2d", "relax.add", "relax.nn.relu"]
HOST = ("tanh", "exp", "sigmoid")


class PortToRelax(Exercise):
    """conv2d + bias + relu again, in Relax: a pattern, FuseOpsByPattern, and the attribute Codegen.

    The student's process returns a summary of the result (functions, attributes, operators),
    because another process cannot read a Relax module safely.
    """

    name = "port-to-relax"
    title = "Port the partition to Relax"
    minutes = 20
    needs = TVM
    statement = """\
Write `answer(mod)` for a module of today's Relax (`tvm.relax`). It returns the module with every
conv2d + add + relu in a separate function, as a composite `edu.conv2d_bias_relu`, with the
attribute `Codegen="edu"` by which RunCodegen finds it. Everything else stays where it is. This
module has $blocks of these three operators; variants differ in their number.

`tvm.relax.transform.FuseOpsByPattern` does with patterns of `tvm.relax.dpl` what MergeComposite and
PartitionGraph do in Relay.
"""
    stub = """\
def answer(mod):
    from tvm import relax
    from tvm.relax.dpl import is_op, wildcard

    return mod
"""
    mistakes = {
        "no-region": "No operator was moved into a function: does the pattern match anything?",
        "no-codegen": "The composites are there, without the attribute Codegen: FuseOpsByPattern "
        "writes it if it is told to.",
        "name": "The name of the composite differs from the one in the statement.",
        "too-much": "More was matched than the kernel: which composite is not one of the blocks?",
        "missed": "Only some of the blocks were matched: what differs between them and the rest?",
        "merged": "Several kernels are in one function, as after MergeCompositeFunctions. Each is "
        "to have a function.",
        "other-operators": "A composite has other operators than the kernel: compare your pattern, "
        "from its root on, with the kernel.",
        "outside": "An operator outside of the composites was changed. Only the kernels move.",
        "kind": "The answer is a function that returns a Relax module.",
        "unregistered": "Operators of Relax have names that begin with relax.",
    }
    errors = {"is not registered": "unregistered", "should start with a compiler name": "name"}
    hints = (
        "The pattern is the one of Relay with other names of operators.",
        "Read the parameters of FuseOpsByPattern: one of them turns each composite into a function "
        "for a code generator.",
    )
    only_functions = True

    def words(self, seed: int) -> Mapping[str, str]:
        return {"blocks": counted(_blocks(seed), "block")}

    def question(self, seed: int = 0) -> Any:
        return self.made(self.drawn(seed))

    def drawn(self, seed: int) -> tuple[int, str]:
        """The number of blocks and the operator of the host, because pickle does not support TVM
        modules."""
        return _blocks(seed), HOST[seed % 3]

    def made(self, drawn: Any) -> Any:
        """A Relax module: the blocks, a conv2d and relu without bias, and an operator of the
        host."""
        blocks, host = drawn
        relax = import_tvm().relax

        def var(name: str, *shape: int) -> Any:
            return relax.Var(name, relax.TensorType(shape, "float32"))

        x, w, b = var("x", 1, 3, 8, 8), var("w", 3, 3, 3, 3), var("b", 1, 3, 1, 1)
        builder = relax.BlockBuilder()
        with builder.function("main", [x, w, b]):
            with builder.dataflow():
                out = x
                for block in range(blocks):  # with equal constants, blocks would share a function
                    padding = (1 + block, 1 + block)
                    out = builder.emit(relax.op.nn.conv2d(out, w, padding=padding))
                    out = builder.emit(relax.op.add(out, b))
                    out = builder.emit(relax.op.nn.relu(out))
                out = builder.emit(relax.op.nn.conv2d(out, w))
                out = builder.emit(relax.op.nn.relu(out))
                out = builder.emit_output(getattr(relax.op, host)(out))
            builder.emit_func_output(out)
        return builder.get()

    def respond(self, answer: Any, question: Any) -> Any:
        found = answer(question)
        tvm = import_tvm()
        if not isinstance(found, tvm.IRModule):
            return type(found).__name__
        return [_summary(tvm, function) for function in found.functions.values()]

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, (list, tuple)) or not all(map(_is_summary, reply)):
            found = reply if isinstance(reply, str) else type(reply).__name__
            return Mistake("kind", f"expected a Relax module, found {found}")
        blocks = _blocks(seed)
        composites = [each for each in reply if each[1]]
        told = "; ".join(f"{', '.join(c)} of {', '.join(ops)}" for _, c, ops in composites)
        told = f"expected {blocks} of {NAME}; found {told or 'no composite'}"
        if not composites:
            return Mistake("no-region", told)
        names = {name for _, found, _ in composites for name in found}
        if NAME not in names:
            return Mistake("name", told)
        count = sum(len(found) for _, found, _ in composites)
        operators = [ops for _, _, ops in composites]
        if count > blocks:
            return Mistake("too-much", told)
        if count < blocks:
            return Mistake("missed", told)
        if any(codegen != "edu" for codegen, _, _ in composites):
            inside = [op for ops in operators for op in ops]
            whole = all(op in inside for op in KERNEL)
            if whole:
                names = {repr(codegen) for codegen, _, _ in composites}
                told = f"expected the attribute Codegen='edu', found {', '.join(sorted(names))}"
                return Mistake("no-codegen", told)
            return Mistake("other-operators", told)
        if any(len(found) > 1 for _, found, _ in composites):
            return Mistake("merged", told)
        if any(list(ops) != KERNEL for ops in operators):
            return Mistake("other-operators", told)
        rest = sorted(op for codegen, _, ops in reply if codegen != "edu" for op in ops)
        wanted = sorted(["relax.nn.conv2d", "relax.nn.relu", f"relax.{HOST[seed % 3]}"])
        if rest != wanted:
            return Mistake("outside", f"expected {wanted} outside, found {rest}")
        return None


def _blocks(seed: int) -> int:
    return 1 + seed % 2


def _is_summary(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) == 3
        and isinstance(value[0], str)
        and all(isinstance(each, (list, tuple)) for each in value[1:])
        and all(isinstance(name, str) for each in value[1:] for name in each)
    )


def _summary(tvm: Any, function: Any) -> list[Any]:
    """The code generator, the composites, and the operators of a function, in order."""
    relax = tvm.relax
    composites: list[str] = []
    operators: list[str] = []

    def note(node: Any) -> None:
        if isinstance(node, relax.Function) and node.attrs and "Composite" in node.attrs:
            composites.append(str(node.attrs["Composite"]))
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            operators.append(str(node.op.name))

    if not isinstance(function, relax.Function):
        return ["", [], []]
    relax.analysis.post_order_visit(function, note)
    attrs = function.attrs
    return [str(attrs["Codegen"]) if attrs and "Codegen" in attrs else "", composites, operators]
