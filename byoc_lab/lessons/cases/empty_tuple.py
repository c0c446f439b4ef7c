"""The case of an empty tuple that gets an end."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, lint_says
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.text.parser import parse


class EmptyTuple(DumpCase):
    """AnnotateTarget puts an end on an empty tuple, and there is no begin for it.

    AnnotateTarget annotates a tuple by its fields: begins on them and an end on the tuple. An empty
    tuple has no fields, so it got an end without a begin, which closes a region that does not
    exist. Calls without arguments were already checked; the change added a check for empty tuples.
    """

    name = "empty-tuple"
    title = "An empty tuple gets an end without a begin"
    reference = (
        'apache/tvm pull request 7288, "[BYOC][bugfix] Handle empty tuples in annotation pass", '
        "January 2021"
    )
    link = "https://github.com/apache/tvm/pull/7288"
    era = "until January 2021"
    fix = "Leave an empty tuple without annotations (all later versions do)."
    cause = "BYL001"
    recorded = """
def @main() {
  %0 = ();
  annotation.compiler_end(%0, compiler="mychip")
}
"""

    def shown(self) -> Symptom:
        mod = parse(self.recorded)
        names = [n.op_name for n in post_order(mod["main"]) if isinstance(n, Call)]
        assert names == ["annotation.compiler_end"]
        return Symptom("the module has one end and no begin", mod)

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(parse(self.recorded))

    def today(self) -> str:
        mod = IRModule.from_expr(Function([], relay.Tuple([])))
        annotated = AnnotateTarget("mychip")(mod)
        count = sum(is_annotation(n) for n in post_order(annotated["main"]))
        return f"AnnotateTarget adds {count} annotations"
