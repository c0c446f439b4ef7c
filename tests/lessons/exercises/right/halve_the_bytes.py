"""Other right answers to "halve-the-bytes"."""

from __future__ import annotations

from byoc_lab import transform
from byoc_lab.lessons.solutions.halve_the_bytes import answer, without_annotations
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.analysis.annotations import is_annotation


def by_hand(mod):
    """Removes each begin that directly follows an end, and the end."""

    def change(call):
        if not call.is_op("annotation.compiler_begin"):
            return call
        end = call.args[0]
        ended = isinstance(end, Call) and end.is_op("annotation.compiler_end")
        joined = ended and end.attrs.compiler == call.attrs.compiler
        return end.args[0] if joined else call

    return change_calls(mod, change)


def annotated_again(mod):
    plain = without_annotations(mod)
    steps = [transform.InferType(), transform.AnnotateTarget("edu"), transform.InferType()]
    return transform.Sequential([*steps, transform.MergeCompilerRegions()])(plain)


def without_those_of_the_host(mod):
    def change(call):
        return call.args[0] if is_annotation(call) and call.attrs.compiler == "default" else call

    return answer(change_calls(mod, change))


RIGHT = (by_hand, annotated_again, without_those_of_the_host)
