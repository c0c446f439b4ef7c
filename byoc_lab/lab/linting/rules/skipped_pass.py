"""Lint rule BYL016 skipped-pass: the PassContext skips a pass of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.errors import enumerated
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context, Skip
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
    """The pipeline contains a pass that the PassContext excludes: it will be skipped silently.

    ## Why is this bad?
    A Sequential skips passes whose level is above the level of the PassContext. FoldScaleAxis has
    level 3, and a PassContext has level 2 by default, so the multiply of every batch norm stays.
    ConvertLayout also has level 3: a back end that only supports NHWC then gets nothing. A pass in
    `disabled_pass` is skipped at every level, even if `required_pass` names it; because this was
    requested, it is a hint (severity info).

    ## What to do instead
    Run the pipeline under `PassContext(opt_level=3)`, or name the pass in `required_pass`. Leave a
    disabled pass out of `disabled_pass`.

    ## References
    TVM 0.16, src/relay/ir/transform.cc and the `opt_level` of each pass in src/relay/transforms.
    """

    code, name = "BYL016", "skipped-pass"
    severity = Severity.WARNING
    VALID = (Sample(_TEXT, pipeline="dnnl"), Sample(_TEXT, pipeline=_named))
    INVALID = (Sample(_TEXT, pipeline=_low_level),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        skipped: dict[Skip, dict[str, None]] = {}
        for p, skip in context.skipped.items():
            skipped.setdefault(skip, {})[p.info.name] = None
        for skip, names in skipped.items():
            listed, one = enumerated(names), len(names) == 1
            why = f"the PassContext disables {listed}"
            what_to_do, severity = f"leave {listed} out of disabled_pass", Severity.INFO
            if skip.needed is not None:
                need = "needs" if one else "need"
                why = f"{listed} {need} opt_level {skip.needed}, the context has {skip.found}"
                what_to_do = f"run the pipeline under PassContext(opt_level={skip.needed})"
                severity = self.severity
            yield self.finding(
                f"{why}: the pipeline will skip {'it' if one else 'them'}",
                what_to_do,
                None,
                severity=severity,
            )
