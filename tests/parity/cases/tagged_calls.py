"""The programs of the thread on `let`: calls tagged for a library, with its mistakes corrected.

The functions are stored and looked up under one name, and parentheses balance.
"""

from __future__ import annotations


def library(tvm, relay):
    """A module of `library_call_<n>`, each with n int32 scalars as arguments and 0 as result."""
    scalar = relay.scalar_type("int32")
    mod = tvm.IRModule()
    for arity in range(6):
        params = [relay.Var(f"arg_{index}", scalar) for index in range(arity)]
        mod[f"library_call_{arity}"] = relay.Function(
            params, relay.const(0, dtype="int32"), ret_type=scalar
        )
    return mod


def tagged(tvm, relay, callee, *args):
    attrs = tvm.ir.make_node("DictAttrs", match_key="my_library")
    return relay.Call(callee, list(args), attrs=attrs)


def single(tvm, relay, np):
    """One tagged call."""
    mod = library(tvm, relay)
    zeros = [relay.const(0, dtype="int32") for _ in range(4)]
    mod["main"] = relay.Function(
        [], tagged(tvm, relay, mod.get_global_var("library_call_4"), *zeros)
    )
    return mod


def lets(tvm, relay, np):
    """Two tagged calls with results bound by `let`; the second reads the first's result."""
    mod = library(tvm, relay)
    x, y, z = (relay.Var(name) for name in "xyz")
    zeros = [relay.const(0, dtype="int32") for _ in range(3)]
    first = tagged(tvm, relay, mod.get_global_var("library_call_3"), *zeros)
    second = tagged(tvm, relay, mod.get_global_var("library_call_2"), x, y)
    body = relay.Let(x, first, relay.Let(y, relay.const(0, dtype="int32"), relay.Let(z, second, z)))
    mod["main"] = relay.Function([], body)
    return mod
