"""Answers to "write-a-predicate"."""

from __future__ import annotations

from byoc_lab.backends import Refused


def answer(call):
    attrs, dtype = call.attrs, call.args[0].checked_type.dtype
    if int(attrs.groups) != 1:
        return Refused(f"groups={attrs.groups}: the library has no groups")
    if [int(d) for d in attrs.dilation] != [1, 1]:
        return Refused(f"dilation={list(attrs.dilation)}: the library has no dilation")
    if dtype != "float32":
        return Refused(f"{dtype}: the library computes float32")
    return True


# Typical mistakes


def everything(call):
    return True


def one_direction(call):
    if int(call.attrs.dilation[0]) == 1 == int(call.attrs.dilation[1]):
        return answer(call)
    return True


def any_dtype(call):
    said = answer(call)
    return said is True or "float64" in said.reason or said


def nothing(call):
    return Refused(f"groups={call.attrs.groups}, dilation={call.attrs.dilation}")


def without_reasons(call):
    return answer(call) is True


def vague(call):
    return True if answer(call) is True else Refused("not supported")


def lists_everything(call):
    attrs = call.attrs
    listed = f"groups={attrs.groups}, dilation={list(attrs.dilation)}, "
    return answer(call) is True or Refused(listed + call.args[0].checked_type.dtype)


def only_a_text(call):
    return "groups" if call.attrs.groups != 1 else True


def no_such_attribute(call):
    return call.attrs.no_groups


WRONG = {
    "accepts-groups": everything,
    "accepts-dilation": one_direction,
    "accepts-dtype": any_dtype,
    "refuses-good": nothing,
    "no-reason": without_reasons,
    "vague-reason": vague,
    "other-cause": lists_everything,
    "kind": only_a_text,
    "attribute": no_such_attribute,
}
