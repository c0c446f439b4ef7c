"""Lint rule BYL038 failing-function: a function in the pipeline raises for the module."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.framework.decorators import module_pass
from byoc_lab.relay.ir.module import IRModule

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


@module_pass(opt_level=0, name="partition_for_mychip")  # type: ignore[untyped-decorator]
def _unchanged(mod: IRModule, ctx: object) -> IRModule:
    return mod


@module_pass(opt_level=0, name="partition_for_mychip")  # type: ignore[untyped-decorator]
def _without_weights(mod: IRModule, ctx: object) -> IRModule:
    raise KeyError("conv1_weight")


class FailingFunction(LintRule):
    """A function in the pipeline raises an exception for this module.

    It is reported if the pipeline has a function from module to module, or a `module_pass`:
    `lint(mod, pipeline=partition_for_mychip)`. The function runs once. The passes before it are
    examined; the passes after it are not.

    ## Why is this bad?
    The pipeline ends there, and nothing is offloaded.

    ## What to do instead
    Correct the function, or the module that it gets. `byoc_lab.trace` shows the module before the
    function, and the passes that it ran.

    ## References
    TVM 0.16, python/tvm/ir/transform.py, `module_pass`.
    """

    code, name = "BYL038", "failing-function"
    VALID = (Sample(_TEXT, pipeline=lambda: [_unchanged]),)
    INVALID = (Sample(_TEXT, pipeline=lambda: [_without_weights]),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        if context.raised is not None:
            function, error = context.raised
            yield self.finding(
                f"{function} raises {type(error).__name__} for this module: {error}",
                "correct the function, or the module that it gets; byoc_lab.trace shows the passes "
                "that it ran",
                None,
            )
