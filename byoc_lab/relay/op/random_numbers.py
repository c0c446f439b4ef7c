"""Random numbers by Threefry, which are the same wherever they are computed from one key.

A key is ten uint64: four of key, two of path (the splits so far), two of counter (the numbers so
far), two with the one bit that the next split writes. Source: src/relay/op/random/kernel.cc and
topi/random/kernel.py of TVM 0.16, after Salmon et al., "Parallel random numbers: as easy as 1, 2,
3" (2011), with the constants of Skein.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.attrs import Attr, AttrsType, dtype, integer, integers
from byoc_lab.relay.expr import Call, Constant, Expr, const
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import NO_DTYPE, Types, differ, fail, tensors
from byoc_lab.relay.types import TensorType, TupleType, Type

KEY = TensorType((10,), "uint64")
NO_THREEFRY = {"relax": "apache-tvm has no Threefry any more"}
FLOPS = 100  # of one number: 20 rounds for four of them
_FULL = 2**64 - 1
_TOP = 1 << 63
_PARITY = 0x1BD11BDAA9FC1A22
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))


def words(*values: int) -> np.ndarray:
    return np.array(values, "uint64")


def threefry(key: np.ndarray, counter: np.ndarray, count: int = 1) -> np.ndarray:
    """key and counter (4,) -> (count, 4): the hashes of counter, counter + 1, ...

    As in TVM, each of the four words is counted up, and a round makes (a + b, (a + 2b) ^ rotated b)
    of (a, b): TVM's kernel writes the sum before it reads it for the second word, so its numbers
    are not those of the paper, whose second word is (a + b) ^ rotated b.
    """
    full = np.append(key, np.bitwise_xor.reduce(key) ^ np.uint64(_PARITY))
    state = counter + np.arange(count, dtype="uint64")[:, None]
    for n in range(20):
        if n % 4 == 0:
            state = state + np.roll(full, -(n // 4))[:4]
            state[:, 3] += np.uint64(n // 4)
        left, right = state[:, ::2] + state[:, 1::2], state[:, 1::2]
        by = words(*_ROTATIONS[n % 8])
        right = (left + right) ^ ((right << by) | (right >> (np.uint64(64) - by)))
        state = np.stack([left[:, 0], right[:, 1], left[:, 1], right[:, 0]], axis=1)
    return state


def _next_bit(place: np.ndarray) -> np.ndarray:
    """The bit of two words, set in the first, one further to the right."""
    high = int(place[0])
    return words(high >> 1, _TOP if high == 1 else 0)


def _is_full(key: np.ndarray) -> bool:
    """Whether there is no more room in the path. As in TVM, which asks the first word alone."""
    return not key[8]


def _rekeyed(key: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """The four words of key once there is no more room in the path."""
    return threefry(key[:4], counter)[0]


def generated(key: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The key to go on with, and `count` numbers of uint64."""
    if int(key[7]) >= _FULL - count:  # no more room in the counter
        if _is_full(key):
            # TVM hashes two words of ones and two that it never set; here all four are ones.
            fresh = _rekeyed(key, words(*[_FULL] * 4))
            key = np.concatenate([fresh, words(0, 0, 0, 0, _TOP, 0)])
        else:
            path, place = key[4:6] | key[8:], _next_bit(key[8:])
            key = np.concatenate([key[:4], path, words(0, 0), place])
    whole, rest = divmod(count, 4)
    numbers = threefry(key[:4], key[4:8], whole).ravel()
    after = key.copy()
    after[6] = 0
    if rest:
        start = key[4:8].copy()
        start[3] += np.uint64(4 * whole)
        numbers = np.append(numbers, threefry(key[:4], start)[0, :rest])
        after[7] = start[3] + np.uint64(4)
    else:
        after[7] += np.uint64(count)
    return after, numbers


def key_relation(op: str, key: Type | None) -> TensorType:
    """Raises TypeInferenceError for a type that no key has."""
    (k,) = tensors(op, "key", key)
    if k is not None and (len(k.shape) != 1 or differ(k.shape[0], 10) or k.dtype != KEY.dtype):
        fail(op, f"key must be {KEY} (random.threefry_key makes one), found {k}")
    return KEY


# Keys --------------------------------------------------------------------------------------------

GENERATE, SPLIT = "random.threefry_generate", "random.threefry_split"
OUT_SHAPE = Attr("out_shape", integers, doc="shape of the numbers")


@builds("random.threefry_key")
def threefry_key(seed: int) -> Constant:
    """The key of a seed: an int of at most 256 bits."""
    own = np.frombuffer(seed.to_bytes(32, sys.byteorder), "uint64")
    return Constant(np.concatenate([own, words(0, 0, 0, 0, _TOP, 0)]))


def generate_relation(attrs: AnyValue, key: Type | None) -> Types:
    """key (10,) gives (key, out_shape of uint64)."""
    k = key_relation(GENERATE, key)
    return k, TupleType([k, TensorType(attrs.out_shape, "uint64")])


def generate_reference(attrs: AnyValue, key: np.ndarray) -> tuple:
    after, numbers = generated(key, prod(attrs.out_shape))
    return after, numbers.reshape(attrs.out_shape)


THREEFRY_GENERATE = define_op(
    GENERATE,
    "key",
    generate_relation,
    reference=generate_reference,
    attrs=AttrsType("relay.attrs.ThreefryGenerateAttrs", (OUT_SHAPE,)),
    flops=lambda attrs, args, result: FLOPS * prod(attrs.out_shape),
    pattern=OpPattern.OPAQUE,
    lacks=NO_THREEFRY,
    doc="Random numbers of uint64, and the key to go on with.",
)


@builds(GENERATE)
def threefry_generate(key: Expr, shape: Sequence[int]) -> Call:
    """Random numbers of uint64 of that shape; a tuple of the next key and the numbers."""
    attrs = THREEFRY_GENERATE.definition.attrs.make(out_shape=shape)
    return Call(THREEFRY_GENERATE, [key], attrs)


def split_relation(attrs: AnyValue, key: Type | None) -> Types:
    """key (10,) gives (key, key)."""
    k = key_relation(SPLIT, key)
    return k, TupleType([k, k])


def split_reference(attrs: AnyValue, key: np.ndarray) -> tuple:
    if _is_full(key):
        fresh, place = _rekeyed(key, key[4:8]), words(_TOP >> 1, 0)
        zeros = words(0, 0, 0, 0)
        return (
            np.concatenate([fresh, zeros, place]),
            np.concatenate([fresh, words(_TOP, 0, 0, 0), place]),
        )
    place = _next_bit(key[8:])
    left = np.concatenate([key[:8], place])
    right = np.concatenate([key[:4], key[4:6] | key[8:], key[6:8], place])
    return left, right


define_op(
    SPLIT,
    "key",
    split_relation,
    reference=split_reference,
    flops=lambda attrs, args, result: 0,
    pattern=OpPattern.OPAQUE,
    lacks=NO_THREEFRY,
    doc="Two keys of one, whose numbers have nothing to do with each other.",
)

# Distributions -----------------------------------------------------------------------------------

OUT_DTYPE = Attr(
    "out_dtype", dtype, NO_DTYPE, "dtype of the numbers: float32 or float64", fixed=True
)
_BITS = {"float32": ("uint32", 9, 127 << 23), "float64": ("uint64", 12, 1023 << 52)}


def distribution_relation(
    op: str, names: str, attrs: AnyValue, key: Type | None, *bounds: Type | None
) -> Types:
    """key (10,) and two scalars of out_dtype give (key, out_shape of out_dtype)."""
    k = key_relation(op, key)
    if attrs.out_dtype not in _BITS:
        fail(op, f"attribute out_dtype must be float32 or float64, found {attrs.out_dtype!r}")
    scalar = TensorType((), attrs.out_dtype)
    for name, ty in zip(names.split(), bounds, strict=True):
        if ty is not None and ty != scalar:
            fail(op, f"{name} must be a scalar of {attrs.out_dtype}, found {ty}")
    return k, scalar, scalar, TupleType([k, TensorType(attrs.out_shape, attrs.out_dtype)])


def standard(key: np.ndarray, shape: Sequence[int], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The next key, and numbers in [0, 1): random bits as the fraction of 1.xxx, less 1."""
    after, numbers = generated(key, prod(shape))
    unsigned, shift, exponent = _BITS[kind]
    bits = numbers.astype(unsigned) >> np.array(shift, unsigned)
    return after, ((bits | np.array(exponent, unsigned)).view(kind) - 1).reshape(shape)


def uniform_reference(attrs: AnyValue, key: np.ndarray, low: AnyValue, high: AnyValue) -> tuple:
    after, values = standard(key, attrs.out_shape, str(attrs.out_dtype))
    return after, values * (high - low) + low


def normal_reference(attrs: AnyValue, key: np.ndarray, mean: AnyValue, scale: AnyValue) -> tuple:
    """By Box and Muller, of two uniform numbers each."""
    after, (one, two) = standard(key, (2, *attrs.out_shape), str(attrs.out_dtype))
    kind = mean.dtype
    radius = np.sqrt(-2 * np.log(1 - one.astype(kind)))
    return after, (radius * np.sin(2 * np.pi * two.astype(kind))).astype(kind) * scale + mean


def _distribution(op: str, attrs: str, names: str, reference: AnyValue, doc: str) -> AnyValue:
    return define_op(
        op,
        f"key {names}",
        partial(distribution_relation, op, names),
        reference=reference,
        attrs=AttrsType(f"relay.attrs.{attrs}", (OUT_SHAPE, OUT_DTYPE)),
        flops=lambda attrs, args, result: 2 * FLOPS * prod(attrs.out_shape),
        pattern=OpPattern.OPAQUE,
        lacks=NO_THREEFRY,
        doc=doc,
    )


UNIFORM = _distribution(
    "random.uniform",
    "UniformAttrs",
    "low high",
    uniform_reference,
    "Numbers spread evenly over [low, high), and the key to go on with.",
)
NORMAL = _distribution(
    "random.normal",
    "NormalAttrs",
    "mean scale",
    normal_reference,
    "Normally distributed numbers of this mean and standard deviation, and the next key.",
)


def _drawn(op: AnyValue, key: Expr, shape: Sequence[int], kind: str, bounds: AnyValue) -> Call:
    given = [b if isinstance(b, Expr) else const(b, kind) for b in bounds]
    return Call(op, [key, *given], op.definition.attrs.make(out_shape=shape, out_dtype=kind))


@builds("random.uniform")
def uniform(
    key: Expr,
    shape: Sequence[int],
    dtype: str = "float32",
    low: AnyValue = 0.0,
    high: AnyValue = 1.0,
) -> Call:
    """Numbers in [low, high); a tuple of the next key and the numbers."""
    return _drawn(UNIFORM, key, shape, dtype, (low, high))


@builds("random.normal")
def normal(
    key: Expr,
    shape: Sequence[int],
    dtype: str = "float32",
    mean: AnyValue = 0.0,
    scale: AnyValue = 1.0,
) -> Call:
    """Normally distributed numbers; a tuple of the next key and the numbers."""
    return _drawn(NORMAL, key, shape, dtype, (mean, scale))


MULTINOMIAL = "random.multinomial"


def multinomial_relation(attrs: AnyValue, key: Type | None, probs: Type | None) -> Types:
    """key (10,) and probs (..., indices) give (key, (..., num_samples) of int32)."""
    k, (p,) = key_relation(MULTINOMIAL, key), tensors(MULTINOMIAL, "probs", probs)
    if p is None:
        return k, None, None
    if not p.shape:
        fail(MULTINOMIAL, f"probs must have a dimension at least, found {p}")
    samples = TensorType((*p.shape[:-1], attrs.num_samples), "int32")
    return k, p, TupleType([k, samples])


def multinomial_reference(attrs: AnyValue, key: np.ndarray, probs: np.ndarray) -> tuple:
    """The first index whose share of the sum, with all before it, is above a random number."""
    kind = "float64" if probs.dtype == np.float64 else "float32"
    shares = np.maximum(probs.astype(kind), 0)
    up_to = (shares / shares.sum(axis=-1, keepdims=True)).cumsum(axis=-1)
    after, values = standard(key, (*probs.shape[:-1], attrs.num_samples), "float32")
    above = up_to[..., :, None] - values[..., None, :]
    chosen = np.where(above > 0, above, 1).argmin(axis=-2)
    return after, chosen.astype("int32")


define_op(
    MULTINOMIAL,
    "key probs",
    multinomial_relation,
    reference=multinomial_reference,
    attrs=AttrsType(
        "relay.attrs.MultinomialAttrs",
        (Attr("num_samples", integer, doc="how many indices are drawn from each row"),),
    ),
    flops=lambda attrs, args, result: attrs.num_samples * (FLOPS + 2 * prod(args[1].shape)),
    pattern=OpPattern.OPAQUE,
    lacks=NO_THREEFRY,
    doc="Indices drawn with the probabilities probs, negative ones as 0, and the next key.",
)
