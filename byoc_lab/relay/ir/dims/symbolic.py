"""Symbolic dimension sizes, such as `n` and `2*n + 1`, and arithmetic on them.

A symbolic dimension is stored as a sum of products, `2*n*m + n + 1`, so that equal dimensions
compare equal: `n + 1` and `1 + n` are the same value, without a simplifier as in TVM. Any other
function (a rounded quotient, a maximum) is one factor; two such factors are equal if their
functions and operands are. A dimension of more than MAX_LEAVES names and numbers, or with a number
of more than 64 bits, becomes `?`.

Source: dimensions as `tir.PrimExpr` in the Relay types of TVM 0.16.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any as AnyObject
from typing import ClassVar

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.ir.dims.unknown import Any, UndecidedError, Unknown

MAX_LEAVES = 60
"""The maximum number of names and numbers in a dimension. Networks need a few; each step of `n + n
// 2` doubles them."""


class SizeName:
    """The variable of a symbolic dimension. Two objects of the same name are different.

    `key` is TVM's class for it: tir.Var, or tir.SizeVar for one that cannot be negative.
    """

    __slots__ = ("key", "name")
    leaves = 1

    def __init__(self, name: str, key: str = "tir.Var"):
        self.name, self.key = name, key

    def __repr__(self) -> str:
        return self.name


class Rounded:
    """A factor that is not a product: `(n + 1) // 2`, `n % 4`, `max(n, m)`, `min(n, m)`.

    `key` is TVM's class for it, such as "tir.FloorDiv".
    """

    __slots__ = ("a", "b", "key")
    _WRITTEN: ClassVar[dict[str, str]] = {
        "tir.FloorDiv": "{a}//{b}",
        "tir.FloorMod": "{a}%{b}",
        "tir.Max": "max({a}, {b})",
        "tir.Min": "min({a}, {b})",
    }

    def __init__(self, key: str, a: Dim, b: Dim):
        self.key, self.a, self.b = key, a, b

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rounded) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    @property
    def leaves(self) -> int:
        """The number of names and literals in its text."""
        return sum(d.leaves if isinstance(d, Symbolic) else 1 for d in (self.a, self.b))

    def _parts(self) -> tuple[object, ...]:
        ordered = self.key in ("tir.FloorDiv", "tir.FloorMod")
        return self.key, (self.a, self.b) if ordered else frozenset((self.a, self.b))

    def __repr__(self) -> str:
        a, b = str(self.a), str(self.b)
        if self.key in ("tir.FloorDiv", "tir.FloorMod"):
            a, b = (f"({side})" if not side.isalnum() else side for side in (a, b))
        return self._WRITTEN[self.key].format(a=a, b=b)


Factor = SizeName | Rounded
Product = frozenset[tuple[Factor, int]]  # a product: pairs (factor, power); empty: the number 1
Terms = dict[Product, int]  # a sum: product -> coefficient


class Symbolic(Unknown):
    """A symbolic dimension, `n = symbol("n")`, or one computed from it, `2*n + 1`, `n // 2`.

    Two are equal if they are equal for all values of the names. Comparisons such as `<` raise
    UndecidedError, a TypeError.
    """

    __slots__ = ("_hash", "leaves", "terms")
    terms: Terms
    leaves: int
    """The number of names and literals in its text."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self.leaves = _leaves(terms)
        self._hash = hash(frozenset(terms.items()))

    @property
    def symbol(self) -> SizeName | None:
        """The name, if the dimension is a single name."""
        if len(self.terms) == 1:
            ((product, count),) = self.terms.items()
            if count == 1 and len(product) == 1:
                ((factor, power),) = product
                if power == 1 and isinstance(factor, SizeName):
                    return factor
        return None

    @property
    def name(self) -> str:
        return str(self)

    dtype = "int32"

    def __eq__(self, other: object) -> bool:
        if _is_foreign(other):
            other = as_dim(other)
        return isinstance(other, Symbolic) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):  # hashes of names differ between processes
        return (Symbolic, (self.terms,))

    def same_as(self, other: object) -> bool:
        return self == other

    def __add__(self, other: Dim) -> Dim:
        return _combined(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return _combined(self, other, -1)

    def __rsub__(self, other: Dim) -> Dim:
        return -1 * self + other

    def __mul__(self, other: Dim | float) -> Dim:
        factor = _exact(other)
        if isinstance(factor, Any):
            return factor
        total: Terms = {}
        for mine, count in self.terms.items():
            for theirs, times in _terms(factor).items():
                powers = dict(mine)
                for part, power in theirs:
                    powers[part] = powers.get(part, 0) + power
                product = frozenset(powers.items())
                total[product] = total.get(product, 0) + count * times
        return _of(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        """Divide the divisible part and round the rest: `(3*n + m) // 2` is `n + (n + m)//2`."""
        if isinstance(other, Any):
            return other
        if isinstance(other, Unknown):
            return 1 if self == other else _of({_factor("tir.FloorDiv", self, other): 1})
        whole = _of({p: c // other for p, c in self.terms.items()})
        rest = _of({p: c % other for p, c in self.terms.items()})
        if isinstance(rest, Symbolic):
            return _of({_factor("tir.FloorDiv", rest, other): 1}) + whole
        return rest // other + whole

    def __rfloordiv__(self, other: Dim) -> Dim:
        return 0 if other == 0 else _of({_factor("tir.FloorDiv", other, self): 1})

    def __mod__(self, other: Dim) -> Dim:
        if isinstance(other, Unknown):
            raise UndecidedError(f"the remainder of {self} by {other} is unknown")
        rest = _of({p: c % other for p, c in self.terms.items() if c % other})
        if isinstance(rest, Symbolic):
            return _of({_factor("tir.FloorMod", rest, other): 1})
        return rest % other

    def _undecided(self, other: object) -> bool:
        raise UndecidedError(f"{self} and {other} cannot be compared before the program runs")

    __lt__ = __le__ = __gt__ = __ge__ = _undecided

    def replace(self, found: Mapping[SizeName, Dim]) -> Dim:
        """The dimension with some of its names replaced by other names or numbers."""
        total: Dim = 0
        for product, count in self.terms.items():
            term: Dim = count
            for factor, power in product:
                for _ in range(power):
                    term = _replaced(factor, found) * term
            total = term + total
        return total

    def names(self) -> list[SizeName]:
        """The names in it, each once."""
        found: dict[SizeName, None] = {}
        for product in self.terms:
            for factor, _ in product:
                if isinstance(factor, SizeName):
                    found[factor] = None
                else:
                    parts = (p for p in (factor.a, factor.b) if isinstance(p, Symbolic))
                    found.update(dict.fromkeys(n for p in parts for n in p.names()))
        return list(found)

    def __repr__(self) -> str:
        text = ""
        for product, count in sorted(self.terms.items(), key=lambda term: not term[0]):
            factors = [str(f) for f, power in product for _ in range(power)]
            if abs(count) != 1 or not factors:
                factors.insert(0, str(abs(count)))
            sign = " - " if count < 0 else " + "
            text += (sign if text else sign.strip(" +")) + "*".join(sorted(factors))
        return text


Dim = int | Unknown


def symbol(name: str, key: str = "tir.Var") -> Symbolic:
    """A new symbolic dimension. Two of the same name are different.

    `key` is TVM's class for it, tir.Var or tir.SizeVar.
    """
    return named(SizeName(name, key))


def named(name: SizeName) -> Symbolic:
    """The symbolic dimension that is this name."""
    return Symbolic({frozenset([(name, 1)]): 1})


def longest(a: Dim, b: Dim) -> Dim:
    """The greater of two sizes; `?` if one of them is `?`."""
    return _extreme("tir.Max", max, a, b)


def shortest(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes; `?` if one of them is `?`."""
    return _extreme("tir.Min", min, a, b)


def _extreme(key: str, choose: Callable[[int, int], int], a: Dim, b: Dim) -> Dim:
    if isinstance(a, Any) or isinstance(b, Any):
        return Any()
    if not isinstance(a, Unknown) and not isinstance(b, Unknown):
        return choose(a, b)
    gap = a - b
    if isinstance(gap, Unknown):
        return _of({_factor(key, a, b): 1})
    return a if choose(gap, 0) == gap else b


def as_dim(d: object) -> Dim:
    """`d` as a dimension: an int (IntImm), `?`, or a symbolic dimension.

    Variables of apache-tvm and expressions over them become symbolic dimensions. Raises
    TypeInferenceError for a negative number, a number of more than 64 bits, and any other value.
    """
    if isinstance(d, (Unknown, IntImm)):
        return d
    try:
        value = operator.index(d)  # type: ignore[arg-type]
    except TypeError:
        if _is_foreign(d):
            return as_dim(from_tvm(d))
        if isinstance(d, float) and d.is_integer():
            return as_dim(int(d))
        raise TypeInferenceError(f"a dimension must be an int or Any(), found {d!r}") from None
    if value < 0:
        raise TypeInferenceError(f"a dimension must not be negative, found {value}")
    if value >= 2**63:
        raise TypeInferenceError(f"a dimension must fit 64 bits, found {value:,}")
    return IntImm("int32", value)


def _is_foreign(d: object) -> bool:
    return type(d).__module__.partition(".")[0] == "tvm"


def _of(terms: Terms) -> Dim:
    """The sum as a dimension: a plain int if it contains no name, `?` if it is too long."""
    kept = {product: count for product, count in terms.items() if count}
    if not kept.keys() - {_ONE}:
        return kept.get(_ONE, 0)
    large = any(abs(count) >= 2**63 for count in kept.values())
    return Any() if large or _leaves(kept) > MAX_LEAVES else Symbolic(kept)


def _leaves(terms: Terms) -> int:
    factors = sum(factor.leaves * power for product in terms for factor, power in product)
    return factors + sum(count != 1 or not product for product, count in terms.items())


_ONE: Product = frozenset()


def _terms(d: Dim) -> Terms:
    return d.terms if isinstance(d, Symbolic) else {_ONE: d}  # type: ignore[dict-item]


def _exact(number: Dim | float) -> Dim:
    if isinstance(number, float):
        if not number.is_integer():
            raise UndecidedError(f"a symbolic dimension times {number} may not be an integer")
        return int(number)
    return number


def _combined(a: Dim, b: Dim, sign: int) -> Dim:
    if isinstance(b, Any):
        return b
    total = dict(_terms(a))
    for product, count in _terms(b).items():
        total[product] = total.get(product, 0) + sign * count
    return _of(total)


def _factor(key: str, a: Dim, b: Dim) -> Product:
    return frozenset([(Rounded(key, a, b), 1)])


def _replaced(factor: Factor, found: Mapping[SizeName, Dim]) -> Dim:
    if isinstance(factor, SizeName):
        return found[factor] if factor in found else named(factor)
    a, b = (d.replace(found) if isinstance(d, Symbolic) else d for d in (factor.a, factor.b))
    return COMPUTED[factor.key](a, b)


# Binary functions of sizes, by TVM's expression class.
COMPUTED: dict[str, Callable[[Dim, Dim], Dim]] = {
    "tir.Add": operator.add,
    "tir.Sub": operator.sub,
    "tir.Mul": operator.mul,
    "tir.FloorDiv": operator.floordiv,
    "tir.Div": operator.floordiv,  # sizes are not negative, so that both round down
    "tir.FloorMod": operator.mod,
    "tir.Mod": operator.mod,
    "tir.Max": longest,
    "tir.Min": shortest,
}


def computed(key: str, *parts: AnyObject) -> Dim:
    """The dimension that TVM's expression of class `key` over `parts` computes.

    A cast or a rounding of a dimension has no effect; a result that is not an integer for all
    values of the names (a dimension times 2.5, rounded) is `?`. Raises ValueError for a class that
    does not compute a dimension.
    """
    if any(isinstance(p, Any) for p in parts):
        return Any()
    if key in ("tir.Cast", "tir.round") and len(parts) == 1:
        return parts[0]
    if key not in COMPUTED or len(parts) != 2:
        raise ValueError(f"{key} does not compute a dimension")
    try:
        return COMPUTED[key](*parts)
    except UndecidedError:
        return Any()


# From apache-tvm ----------------------------------------------------------------------------------

# Variables by hash (their address). Each is kept alive, so that no other object gets its address.
_MET: dict[int, tuple[AnyObject, Symbolic]] = {}


def declare(variable: AnyObject, key: str) -> AnyObject:
    """Register a variable of apache-tvm as a symbolic dimension of TVM's class `key`; returns the
    variable."""
    _MET[hash(variable)] = (variable, symbol(str(variable.name), key))
    return variable


def from_tvm(value: AnyObject) -> AnyObject:
    """An object of apache-tvm as a number or dimension. Raises TypeInferenceError for other
    objects."""
    kind = type(value).__name__
    if not type(value).__module__.startswith("tvm."):
        return value
    if kind in ("IntImm", "FloatImm"):
        return value.value
    if kind == "Var":
        if hash(value) not in _MET:
            declare(value, "tir.Var")
        return _MET[hash(value)][1]
    try:
        if kind == "Call":
            return computed(f"tir.{value.op.name.rpartition('.')[2]}", *map(from_tvm, value.args))
        parts = [value.value] if kind == "Cast" else [value.a, value.b]
        return computed(f"tir.{kind}", *map(from_tvm, parts))
    except (AttributeError, ValueError) as error:
        raise TypeInferenceError(
            "a dimension may be a number, a variable or a sum, product, quotient, maximum or "
            f"minimum of these, found {value} ({kind})"
        ) from error
