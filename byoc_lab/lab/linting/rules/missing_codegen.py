"""Lint rule BYL020 missing-codegen: no code generator for an external function."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.errors import nearest
from byoc_lab.lab.linting.base import Finding, LintRule, Sample
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.external import external_functions, name_of
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.backends import backend_names, has_backend

_T = "Tensor[(2, 3), float32]"


def _text(compiler: str) -> str:
    return (
        f"def @main(%x: {_T}) -> {_T} {{\n  @f(%x)\n}}\n"
        f'def @f(%p: {_T}, Compiler="{compiler}", Primitive=1, global_symbol="f") -> {_T} {{\n'
        "  nn.relu(%p)\n}"
    )


class MissingCodegen(LintRule):
    """The module has an external function of a compiler that has no code generator.

    It is reported if the back end or the pipeline of the module is known.

    ## Why is this bad?
    Building the module fails, because no code generator exists for the function ("Cannot find ...
    codegen").

    ## What to do instead
    Register the code generator, `byoc_lab.backends.register(name, codegen=...)`, or correct the
    name of the compiler.

    ## References
    TVM 0.16, src/relay/backend/te_compiler.cc.
    """

    code, name = "BYL020", "missing-codegen"
    VALID = (Sample(_text("dnnl"), backend="dnnl"), Sample(_text("mychip")))
    INVALID = (Sample(_text("mychip"), backend="dnnl"),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        if context.backend is None and context.passes is None:
            return
        for func, home in external_functions(mod):
            compiler = str(func.attrs["Compiler"])
            if not has_backend(compiler):
                yield self.finding(
                    f"external function {name_of(func, home, mod)} is for the compiler "
                    f"{compiler!r}, which has no code generator: the module cannot be built",
                    f"register one with byoc_lab.backends.register({compiler!r}, codegen=...); "
                    f"{nearest(compiler, backend_names())}",
                    func,
                    function=home,
                )
