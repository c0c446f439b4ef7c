"""Random modules with every feature of the text format, for tests of the parser and the printer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import byoc_lab.compat  # noqa: F401 (defines on_device)
from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.attrs import DictAttrs

SHAPE = (2, 3)
TYPE = relay.TensorType(SHAPE, "float32")
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64", "bfloat16"]

KEYWORDS = ["let", "fn", "def", "if", "else", "type", "match", "extern", "free_var", "ref"]
# Names without an effect on the text around them, and names with one.
NAMES = ["x", "x", "x1", "x_1", "_", "", "0", "1a", "input.1", "conv1.weight", "a/b", "m/k.w:0"]
NAMES += ["a::b", "a-b", "é", "数", "True", "meta", "nn.relu", "add", "int32", "Tensor"]
NAMES += [*KEYWORDS, "ref_read", "ref_write"]
ODD_NAMES = [
    "a b", 'q"', "b\\", "n\nl", "*/", "/*", "%x", "-", "a-1", "x-malformed-ir", "/", ".", ":",
]  # fmt: skip
STRINGS = [
    "", "dnnl", 'a"b', "\\", "\\n", "\n", "\t\r", "é", "\\xC3", "/* no comment", "//", "\x01",
]  # fmt: skip
STRINGS += ["meta[relay.Constant][0]", "}", "#[metadata]", "数", "\x7f", '\\"']

names = st.sampled_from(NAMES)
any_names = names | st.sampled_from(ODD_NAMES) | st.text(max_size=5)
strings = st.sampled_from(STRINGS) | st.text(
    # TVM stores strings as UTF-8 that ends at a NUL
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=8,
)
numbers = st.integers(-(2**63), 2**63 - 1)
infinities = st.sampled_from([np.inf, -np.inf])
short_floats = st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"),
    st.integers(-999_999, 999_999),
    st.integers(-9, 6),
)


@st.composite
def scalars(draw: st.DrawFn, short: bool = False) -> relay.Constant:
    """A scalar of any dtype, with any value, or with 6 digits as TVM prints them."""
    dtype = draw(st.sampled_from(["bool", *INTEGERS, *FLOATS]))
    if dtype == "bool":
        return relay.Constant(np.array(draw(st.booleans())))
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        value = draw(st.integers(int(info.min), int(info.max)))
        return relay.Constant(np.array(value, dtype))
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if short or draw(st.booleans()):
        value = draw(short_floats | infinities | st.sampled_from([np.nan, -0.0]))
        with np.errstate(over="ignore"):
            return relay.Constant(np.array(value).astype(kind))
    bits = kind.itemsize * 8
    return relay.Constant(np.array(draw(st.integers(0, 2**bits - 1)), f"uint{bits}").view(kind))


any_scalars, any_floats = scalars(), st.floats()
any_attribute_floats = st.floats(-3e38, 3e38) | infinities | st.just(np.nan)


@dataclass(frozen=True)
class Leaves:
    """Generates the leaves of modules that affect the text.

    keys: names of function attributes. captures: whether closures use outside values.
    """

    names: st.SearchStrategy[str] = any_names
    scalars: st.SearchStrategy[relay.Constant] = any_scalars
    floats: st.SearchStrategy[float] = any_floats
    attribute_floats: st.SearchStrategy[float] = any_attribute_floats
    keys: tuple[str, ...] = ("Compiler", "k_1", "_k", "relay.reshape_only", "_", "a b", "é", "")
    captures: bool = True

    def attributes(self) -> st.SearchStrategy[dict[str, Any]]:
        """Attributes of functions, including lists and dictionaries."""
        plain = st.booleans() | numbers | strings | self.attribute_floats
        lists = st.lists(plain, max_size=3).map(tuple)
        values = plain | lists | st.dictionaries(strings, plain | lists, max_size=2)
        return st.dictionaries(st.sampled_from(self.keys), values, max_size=2)


ANY = Leaves()
# TVM's parser accepts neither NaN in attributes nor function attributes whose name has a dot, is
# `_`, or has characters other than letters and digits.
READ_BY_TVM = replace(
    ANY,
    floats=st.floats(allow_nan=False),
    attribute_floats=st.floats(-3e38, 3e38) | infinities,
    keys=("Compiler", "global_symbol", "k_1", "_k"),
)
# TVM prints 6 digits, truncated names, and a captured value at a place where its other users
# cannot see it.
PRINTED_BY_TVM = replace(
    READ_BY_TVM,
    names=names,
    scalars=scalars(short=True),
    floats=short_floats | infinities,
    attribute_floats=short_floats | infinities,
    captures=False,
)


def option(mod: IRModule) -> tuple[Any, ...]:
    """Adds `type Option[A] { Some(A), None }` to the module; returns the type and its
    constructors."""
    header, a = relay.GlobalTypeVar("Option"), relay.TypeVar("A")
    some, none = relay.Constructor("Some", [a], header), relay.Constructor("None_", [], header)
    mod[header] = relay.TypeData(header, [a], [some, none])
    return header, some, none


@st.composite
def modules(draw: st.DrawFn, of: Leaves = ANY) -> IRModule:
    """A typed module of two functions and a data type."""
    mod = IRModule()
    kinds = ["unary", "binary", "scalar", "clip", "let", "nested let", "if", "tuple", "function"]
    kinds += ["reference", "match", "call", "cumsum", "begin", "constant", "device"]
    header, some, none = option(mod)
    callee = relay.GlobalVar(draw(st.sampled_from(["f", "f_1", "lib/f", "_f"])))
    p = relay.Var(draw(of.names), TYPE)
    mod[callee] = relay.Function([p], relay.abs(p), TYPE, attrs=draw(of.attributes()))
    params = [relay.Var(draw(of.names), TYPE) for _ in range(2)]
    maybe = relay.Var(draw(of.names), relay.TypeCall(header, [TYPE]))
    pool: list[relay.Expr] = list(params)
    for _ in range(draw(st.integers(1, 8))):
        kind, one, two = (
            draw(st.sampled_from(kinds)),
            *draw(st.tuples(*[st.sampled_from(pool)] * 2)),
        )
        if kind == "unary":
            made = relay.tanh(one)
        elif kind == "binary":
            made = relay.add(one, two)
        elif kind == "constant":
            shape = draw(st.sampled_from([(1,), (2, 1), SHAPE]))
            value = draw(st.floats(width=32))
            made = relay.add(one, relay.Constant(np.full(shape, value, "float32")))
        elif kind == "scalar":
            made = relay.TupleGetItem(relay.Tuple([one, draw(of.scalars)]), 0)
        elif kind == "clip":
            made = relay.clip(one, *draw(st.tuples(*[of.floats] * 2)))
        elif kind == "cumsum":
            made = relay.cumsum(one, axis=draw(st.sampled_from([0, 1])), exclusive=draw(optional))
        elif kind == "begin":
            made = relay.annotation.compiler_begin(one, draw(strings))
        elif kind == "device":
            made = relay.annotation.on_device(one, draw(st.sampled_from(["cpu", "cuda:1"])))
        elif kind in ("let", "nested let"):
            var = relay.Var(draw(of.names), TYPE)
            value, outer = one, relay.Var(draw(of.names))
            made = relay.Let(var, value, relay.multiply(var, two))
            made = relay.Let(outer, made, outer) if kind == "nested let" else made
        elif kind == "if":
            made = relay.If(relay.const(draw(st.booleans())), one, two)
        elif kind == "tuple":
            made = relay.TupleGetItem(relay.Tuple([one, two]), draw(st.integers(0, 1)))
        elif kind == "function":
            q = relay.Var(draw(of.names), TYPE)
            body = relay.add(q, draw(st.sampled_from(pool if of.captures else params)))
            made = relay.Call(relay.Function([q], body, attrs=draw(of.attributes())), [one])
        elif kind == "reference":
            cell, unit = relay.Var(draw(of.names)), relay.Var("")
            read = relay.RefRead(cell)
            made = relay.Let(
                cell, relay.RefCreate(one), relay.Let(unit, relay.RefWrite(cell, two), read)
            )
        elif kind == "match":
            held = relay.Var(draw(of.names), TYPE)
            data = maybe if draw(st.booleans()) else relay.Call(some, [one])
            clauses = [
                relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(held)]), held),
                relay.Clause(relay.PatternConstructor(none, []), two),
            ]
            made = relay.Match(data, clauses)
        else:
            attrs = draw(st.none() | of.attributes().map(DictAttrs))
            made = relay.Call(callee, [one], attrs)
        pool.append(made)
    func = relay.Function([*params, maybe], pool[-1], attrs=draw(of.attributes()))
    mod["main"] = func
    return relay.transform.InferType()(mod)


optional = st.none() | st.booleans()
