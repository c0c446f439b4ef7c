"""Texts drawn from Relay's grammar without regard to meaning: deep, repeated, and truncated
anywhere."""

from __future__ import annotations

import random as _random
from collections.abc import Callable

from byoc_lab import relay
from tests.fuzz import examine as _examine

TYPES = ["float32", "Tensor[(2, 3), float32]", "Tensor[(?, 1), int8]", "(int8, bool)", "()", "_"]
TYPES += ["fn (int8) -> int8", "ref(float32)", "Tensor[(-1), int8]", "Tensor[(), float99]", "A[B]"]
LEAVES = ["%x", "%x", "%x", "1f", "1.5f", "1.5f", "%x", "-2f"]
ODD = ["%y", "%0", "%x.0", "-2i64", "True", "()", "@main", "@f", "nn.relu"]
ODD += ["meta[relay.Constant][0]", '"é"', "infinity", "nanf", "-inff", "%", "@", "0x1"]
VALUES = ["1", "[1, 1]", '"NCHW"', "None", "[[0, 0], [1]]", "-1", '{"a"=1}', "1e400f", "int8"]
DEEPEST = 6


def make(random: _random.Random) -> bytes:
    text = _program(random)
    if random.random() < 0.2:
        text = text[: random.randrange(len(text) + 1)]
    return text.encode()


def examine(data: bytes) -> int:
    return _examine.examine(data.decode())


def _program(random: _random.Random) -> str:
    head = random.choice(['#[version = "0.0.5"]\n'] * 8 + ["", "v0.0.4\n", '#[version = "9"]\n'])
    names = random.sample(["@main", "@f", "@g"], random.randint(1, 3))
    defs = [f"def {name}({_params(random)}){_block(random, 0)}\n" for name in names]
    return head + "".join(defs)


def _params(random: _random.Random) -> str:
    names = ["%x", "%y", "%z"][: random.choice([1, 1, 2, 3])]
    types = [random.choice(TYPES[:2] * 10 + TYPES) for _ in names]
    return ", ".join(f"{name}: {ty}" for name, ty in zip(names, types, strict=True))


def _block(random: _random.Random, depth: int) -> str:
    return f" {{ {_expr(random, depth)} }}"


def _expr(random: _random.Random, depth: int) -> str:
    if depth >= DEEPEST or random.random() < 0.2:
        return random.choice(ODD if random.random() < 0.05 else LEAVES)
    return random.choice(_RULES)(random, depth + 1)


def _call(random: _random.Random, depth: int) -> str:
    op, arity = random.choice([("exp", 1), ("nn.relu", 1), ("add", 2), ("maximum", 2)])
    if random.random() < 0.1:
        op = random.choice([*relay.Op.list_op_names(), "%x", "@f", "nothing"])
        arity = random.choice([0, 1, 1, 2, 2, 5])
    args = [_expr(random, depth) for _ in range(arity)]
    if random.random() < 0.05:
        name = random.choice(["axis", "strides", "padding", "newshape", "dtype", "no"])
        args.append(f"{name}={random.choice(VALUES)}")
    return f"{op}({', '.join(args)})"


def _infix(random: _random.Random, depth: int) -> str:
    operator = random.choice(["+", "-", "*", "/"] * 5 + ["<", "==", "!="])
    return f"{_expr(random, depth)} {operator} {_expr(random, depth)}"


def _let(random: _random.Random, depth: int) -> str:
    odd = ["%0", "%1", "let %z: float32", "free_var %q; let %q"]
    name = random.choice(odd if random.random() < 0.1 else ["let %y", "let %z"])
    return f"{name} = {_expr(random, depth)}; {_expr(random, depth)}"


def _tuple(random: _random.Random, depth: int) -> str:
    return f"({_expr(random, depth)}, {_expr(random, depth)}).{random.choice('0' * 9 + '19')}"


def _if(random: _random.Random, depth: int) -> str:
    condition = random.choice(["True", "True", "True", _expr(random, depth)])
    return f"if ({condition}){_block(random, depth)} else{_block(random, depth)}"


def _function(random: _random.Random, depth: int) -> str:
    if random.random() < 0.1:
        return f"fn ({_params(random)}){_block(random, depth)}"
    return f"fn (%w: float32){_block(random, depth)}(1f)"


def _reference(random: _random.Random, depth: int) -> str:
    if random.random() < 0.1:
        return f"ref_write(ref({_expr(random, depth)}))"
    return f"ref_read(ref({_expr(random, depth)}))"


def _deep(random: _random.Random, depth: int) -> str:
    """One expression inside many equal ones, or many copies of an expression in a row."""
    inner, count = _expr(random, depth), random.choice([10, 300])
    before, after = random.choice([("(", ")"), ("exp(", ")"), ("(%x, ", ").0"), ("-", "")])
    return before * count + inner + after * count + random.choice(["", "", " + %x"]) * count


_RULES: tuple[Callable[[_random.Random, int], str], ...] = (
    _call, _call, _call, _infix, _let, _let, _tuple, _if, _function, _reference, _deep,
)  # fmt: skip
