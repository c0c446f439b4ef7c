"""Lint rule BYL004 free-variable: a global function uses a variable outside the scope of its
binder."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.lab.linting.edits import Proposal, Remove, edited_module
from byoc_lab.lab.linting.external import is_external, name_of
from byoc_lab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.variables import free_among, free_vars, walk_scopes
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module

_T = "Tensor[(10, 10), float32]"
_X = 'annotation.compiler_begin(%x, compiler="A")'


class FreeVariable(LintRule):
    """A global function uses a variable that is not bound (now or after PartitionGraph), that is
    bound twice, or that is used outside of its scope or in the value of its own let; or an external
    function that is defined inside a function uses a variable of that function.

    ## Why is this bad?
    A global function has no enclosing scope that could bind a free variable, so the module rejects
    it ("Check failed: fv.size() == 0"). Partitioning creates a free variable for every begin
    without an end. AnnotateTarget of TVM 0.8 to 0.19 creates such a begin for every `let` whose
    value it offloads: it puts a begin around the value but no end on the variable.

    The variable of a let has no value while that value is computed: type inference refuses it
    ("Check failed: (is_functional_literal || !this->type_map_.count(op->var))"), except in a
    function literal, which may call itself.

    The partitioner of January 2020 defined external functions inside @main. If a begin is missing
    on a variable of @main, such a function uses the variable, but a back end compiles a function by
    itself: the function gets only the values of its parameters.

    ## What to do instead
    For a let: keep the end on its value and remove the begin around it, so that the region ends
    inside the value (byoc_lab's AnnotateTarget does this), or run ToGraphNormalForm before
    annotating. For other variables: make the variable a parameter, or bind it. For a variable that
    is bound twice, or used outside of its scope: give each binder a separate variable.

    ## References
    The thread "Confusing Behavior with Graph Partitioning" (TVM forum, January 2021).
    """

    code, name = "BYL004", "free-variable"
    VALID = (
        Sample(
            f"def @main(%x: {_T}) {{\n  %0 = {_X};\n  %1 = nn.relu(%0);\n"
            '  let %a = annotation.compiler_end(%1, compiler="A");\n  abs(%a)\n}'
        ),
    )
    INVALID = (
        Sample(f"fn () {{\n  free_var %z: {_T};\n  nn.relu(%z)\n}}"),
        Sample(
            f"def @main(%x: {_T}) {{\n  let %a = {_X};\n  nn.relu(%a)\n}}",
            points_at="annotation.compiler_begin",
        ),
        Sample(
            f"def @main(%x: {_T}, %y: {_T}) {{\n"
            f'  %0 = fn (%a: {_T}, Compiler="A", ExternalSymbol="A_0") {{\n    add(%a, %y)\n  }};\n'
            "  %0(%x)\n}"
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for variable in free_among(subject.nodes):
            yield self.finding(
                f"%{variable.name_hint} is used in @{subject.name} and bound nowhere",
                f"make %{variable.name_hint} a parameter of @{subject.name}, or bind it with let",
                variable,
                subject,
            )
        scopes = walk_scopes(subject.func)
        for fault in dict.fromkeys(scopes.faults or scopes.in_own_value):
            yield self.finding(
                f"%{fault.variable.name_hint} in @{subject.name} is {fault.how}",
                fault.to_do,
                fault.variable,
                subject,
            )
        yield from self._captured(subject)
        for node in subject.nodes:
            if isinstance(node, Let) and is_annotation(node.value, BEGIN):
                yield from self._begin_on_let(node, subject)

    def _captured(self, subject: Subject) -> Iterator[Finding]:
        """Report the variables that the outermost local external functions do not bind."""
        if is_external(subject.func):
            return

        def enter(node: Expr) -> bool:
            return not isinstance(node, Function) or not is_external(node)

        for node in post_order(subject.func, enter=enter):
            if isinstance(node, Function) and is_external(node):
                name = name_of(node, subject.name, subject.mod)
                for variable in free_vars(node):
                    yield self.finding(
                        f"external function {name} uses %{variable.name_hint}, which is not one "
                        f"of its parameters",
                        f"put compiler_begin on %{variable.name_hint} where it enters the region "
                        f"(lint the annotated module: BYL001), and partition again",
                        node,
                        subject,
                    )

    def _begin_on_let(self, let: Let, subject: Subject) -> Iterator[Finding]:
        begin = let.value
        assert isinstance(begin, Call)
        region = subject.regions.of(begin)
        compiler = compiler_of(begin)
        if region is None or region.outputs or compiler == "default":
            # it is closed, or PartitionGraph removes it because it is a "default" annotation
            return
        variable: Var = let.var
        free = f"%{compiler}_{subject.function_number(region)}_i0"
        yield self.finding(
            f"compiler_begin[{compiler}] on the value of let %{variable.name_hint} has no end: "
            f"PartitionGraph will leave {free} free",
            f"remove this begin and keep the compiler_end inside it: %{variable.name_hint} itself "
            f"belongs to no region",
            begin,
            subject,
            0,
            proposals=[
                Proposal(
                    f"remove compiler_begin[{compiler}] on the value of let %{variable.name_hint}",
                    subject.name,
                    (Remove(begin),),
                ),
                Proposal("bring the module into graph form, without lets", make=_graph_form),
            ],
        )


def _graph_form(mod: IRModule) -> IRModule:
    """The module in graph form, without lets and without the begins on their values."""
    edits = {
        gv.name_hint: [
            Remove(n.value)
            for n in post_order(func)
            if isinstance(n, Let) and is_annotation(n.value, BEGIN)
        ]
        for gv, func in mod.functions.items()
    }
    return ToGraphNormalForm()(infer_module(edited_module(mod, edits)))
