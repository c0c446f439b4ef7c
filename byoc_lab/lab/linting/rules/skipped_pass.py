"""Lint rule BYL016 skipped-pass: a pass of the pipeline is skipped for its level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.module import IRModule

_TEXT = "def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relu(%x)\n}"


def _low_level() -> Sequence[Pass]:
    return [SimplifyInference(), FoldScaleAxis()]


def _named() -> Sequence[Pass]:
    return [Sequential([SimplifyInference(), FoldConstant()])]


class SkippedPass(LintRule):
    """The pipeline contains a pass that the opt_level excludes: it will be skipped silently.

    ## Why is this bad?
    A Sequential skips the passes whose level is above that of the PassContext. FoldScaleAxis has
    level 3 and a PassContext has level 2 unless one is given, so that the multiply of every batch
    norm stays where it is. ConvertLayout has level 3 too: a back end that takes NHWC alone then
    gets nothing.

    ## What to do instead
    Run the pipeline under `PassContext(opt_level=3)`, or name the pass in `required_pass`.

    ## References
    TVM 0.16, src/relay/ir/transform.cc and the `opt_level` of each pass in src/relay/transforms.
    """

    code, name = "BYL016", "skipped-pass"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline="dnnl"), Sample(_TEXT, pipeline=_named))
    INVALID = (Sample(_TEXT, pipeline=_low_level),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        skipped: dict[int, list[str]] = {}
        for p, level in context.skipped.items():
            if level is not None:
                names = skipped.setdefault(level, [])
                names += [p.info.name] if p.info.name not in names else []
        for level, names in skipped.items():
            plural = "s" if len(names) == 1 else ""
            yield self.finding(
                f"{' and '.join(names)} need{plural} opt_level {level}, the context has "
                f"{context.opt_level}: the pipeline will skip {'it' if plural else 'them'}",
                f"run the pipeline under PassContext(opt_level={level})",
                None,
            )
