"""Other right answers to "annotate-diamond"."""

from __future__ import annotations

from byoc_lab import transform
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call, Function, IRModule, Var
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def by_passes(mod):
    steps = [transform.AnnotateTarget("edu"), transform.MergeCompilerRegions()]
    return transform.Sequential([transform.InferType(), *steps, transform.InferType()])(mod)


def way_in_the_second_region(mod):
    def change(call):
        if isinstance(call.args[0], Var):
            begun = Call(call.op, [compiler_begin(call.args[0], "edu")], call.attrs)
            return compiler_end(begun, "edu")
        if call.is_op("exp"):
            return call
        if call.is_op("add"):
            way, host = call.args
            return compiler_end(Call(call.op, [way, compiler_begin(host, "edu")]), "edu")
        ended = call.args[0].is_op("annotation.compiler_end")
        args = [compiler_begin(call.args[0], "edu")] if ended else call.args
        return Call(call.op, args, call.attrs)

    return change_calls(mod, change)


def built_again(mod):
    """Rebuilds the graph from the result to the input."""
    total = mod["main"].body
    way, host = total.args
    first = host.args[0]
    begun = Call(first.op, [compiler_begin(mod["main"].params[0], "edu")])
    steps = []
    while way is not first:
        steps, way = [way.op, *steps], way.args[0]
    out = begun
    for op in steps:
        out = Call(op, [out])
    exp = Call(host.op, [compiler_end(begun, "edu")])
    ends = [compiler_begin(exp, "edu"), compiler_begin(compiler_end(out, "edu"), "edu")]
    out = compiler_end(Call(total.op, ends[::-1]), "edu")
    return IRModule.from_expr(Function(mod["main"].params, out))


RIGHT = (by_passes, way_in_the_second_region, built_again)
