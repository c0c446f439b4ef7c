"""Answers to "port-to-relax"."""

from __future__ import annotations

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

NAME = "edu.conv2d_bias_relu"


def conv():
    return is_op("relax.nn.conv2d")(wildcard(), wildcard())


def fused(mod, pattern, name=NAME, codegen=True):
    fuse = relax.transform.FuseOpsByPattern([(name, pattern)], annotate_codegen=codegen)
    return fuse(mod)


def kernel():
    return is_op("relax.nn.relu")(is_op("relax.add")(conv(), wildcard()))


def answer(mod):
    return fused(mod, kernel())


# Typical mistakes


def swapped(mod):
    return fused(mod, is_op("relax.add")(is_op("relax.nn.relu")(conv()), wildcard()))


def without_codegen(mod):
    return fused(mod, kernel(), codegen=False)


def other_name(mod):
    return fused(mod, kernel(), name="edu.conv2d")


def every_conv(mod):
    return fused(mod, conv())


def the_first_block(mod):
    def first(match):
        return match.annotated_expr["conv"].attrs.padding[0] == 1

    conv2d = conv()
    root = is_op("relax.nn.relu")(is_op("relax.add")(conv2d, wildcard()))
    table = [(NAME, root, {"conv": conv2d}, first)]
    return relax.transform.FuseOpsByPattern(table, annotate_codegen=True)(mod)


def both_in_one(mod):
    return relax.transform.MergeCompositeFunctions()(fused(mod, kernel(), codegen=False))


def legalized(mod):
    inside = ["relax.nn.conv2d", "relax.add", "relax.nn.relu"]
    return relax.transform.LegalizeOps(skip_ops=inside)(answer(mod))


def without_relu(mod):
    return fused(mod, is_op("relax.add")(conv(), wildcard()))


def a_table(mod):
    return [(NAME, kernel())]


def relay_names(mod):
    return fused(mod, is_op("nn.conv2d")(wildcard(), wildcard()))


WRONG = {
    "no-region": swapped,
    "no-codegen": without_codegen,
    "name": other_name,
    "too-much": every_conv,
    "missed": the_first_block,
    "merged": both_in_one,
    "outside": legalized,
    "other-operators": without_relu,
    "kind": a_table,
    "unregistered": relay_names,
}
