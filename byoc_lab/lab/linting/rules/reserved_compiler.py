"""Lint rule BYL034 reserved-compiler: the compiler of a region is not the name of a back end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byoc_lab.backends.registry import why_no_name
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.lab.linting.external import external_functions, name_of
from byoc_lab.relay.analysis.annotations import DEFAULT, compiler_of, is_annotation
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild

_T = "Tensor[(2, 3), float32]"
OF_REGIONS = ("Compiler", "Primitive", "Inline", "global_symbol")
"""Attributes that make a function external."""


def _text(compiler: str) -> str:
    return (
        f"def @main(%x: {_T}) -> {_T} {{\n  @f(%x)\n}}\n"
        f'def @f(%p: {_T}, Compiler={compiler}, Primitive=1, global_symbol="f") -> {_T} {{\n'
        "  nn.relu(%p)\n}"
    )


class ReservedCompiler(LintRule):
    """An external function, or an annotation, has a compiler that cannot be a back end: "default",
    an empty name, a name with a space or another character that cannot be part of a symbol, or a
    value that is not a string.

    Annotations of "default" are not reported: PartitionGraph removes them.

    ## Why is this bad?
    "default" means that TVM itself compiles an operator, so no code generator is registered for it.
    The build stops at such a function ("Failed to find the codegen tool for relay.ext.default").
    A name becomes part of the symbols and parameters of its regions; with other characters than
    letters, digits, `_` and `-`, the text of the partitioned module cannot be parsed.

    ## What to do instead
    Remove the attribute "Compiler" from a function that the host should compile, or give it the
    name of a back end.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc (RemoveDefaultAnnotations) and
    src/relay/backend/te_compiler.cc.
    """

    code, name = "BYL034", "reserved-compiler"
    VALID = (Sample(_text('"mychip"')),)
    INVALID = (
        Sample(_text('"default"')),
        Sample(_text('""')),
        Sample(_text("1")),
        Sample(
            f'def @main(%x: {_T}) {{\n  %0 = annotation.compiler_begin(%x, compiler="");\n'
            '  %1 = nn.relu(%0);\n  annotation.compiler_end(%1, compiler="")\n}',
            points_at="annotation.compiler_begin",
        ),
        Sample(_text('"np u"')),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            if not is_annotation(node) or compiler_of(node) == DEFAULT:
                continue
            if why := why_no_name(compiler_of(node)):
                yield self.finding(
                    f"{called(node)} names the compiler {compiler_of(node)!r}, which is not the "
                    f"name of a back end ({why})",
                    "give it the name of a back end",
                    node,
                    subject,
                )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        for func, home in external_functions(mod):
            compiler = func.attrs["Compiler"]
            why = why_no_name(compiler)
            if not why:
                continue
            name = f"function {name_of(func, home, mod)}"
            yield self.finding(
                f"{name} has Compiler={compiler!r}, which is not "
                f"the name of a back end"
                + (": it means that the host compiles it" if compiler == DEFAULT else f" ({why})"),
                'remove the attribute "Compiler", or give the function the name of a back end',
                func,
                function=home,
                proposals=[
                    Proposal(
                        f"leave {name} to the host: without the attributes of an external function",
                        make=partial(_on_host, function=func),
                    )
                ],
            )


def _on_host(mod: IRModule, function: Function) -> IRModule:
    """The module with an ordinary function in place of the external function."""
    kept = {k: v for k, v in function.attrs.items() if k not in OF_REGIONS}

    def plain(pre: Expr, post: Expr) -> Expr:
        if pre is function and isinstance(post, Function):
            return post.replace(attrs=DictAttrs(kept))
        return post

    return mod.with_functions({gv: rebuild(f, plain) for gv, f in mod.functions.items()})
