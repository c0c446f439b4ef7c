"""Similar answers are found by structure; answers that many students share are not reported."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.lessons.grading.alike import (
    CODE,
    LEAST_ANSWERS,
    MODULE,
    code_shapes,
    kept,
    module_shapes,
    pairs,
)
from byoc_lab.lessons.tools import module_of

ORIGINAL = '''
def answer(mod):
    """My own work."""
    found = []
    for node in post_order(mod["main"]):
        if isinstance(node, Call) and node.is_op("nn.conv2d"):
            found.append((node, node.args[0], len(node.args) + 17))
    return sorted(found, key=lambda each: each[2])[-3:]
'''
COPY = """
# written by another student
def helper(network: IRModule) -> list:
    result = []
    for n in post_order(network["main"]):
        if isinstance(n, Call) and n.is_op("nn.conv2d"):  # a convolution
            result.append((n, n.args[0], len(n.args) + 17))
    return sorted(result, key=lambda k: k[2])[-3:]
"""


def independent(number: int) -> str:
    name = f"nn.op{number}"
    return (
        f"def answer(mod):\n    return {{c: {number} * c.size + {number + 40} for c in calls(mod)"
        f" if c.is_op('{name}') and c.rank > {number}}}"
    )


def code(text: str) -> tuple[str, ...]:
    return kept(CODE, code_shapes([text]))


def test_names_comments_annotations_and_docstrings_do_not_change_the_shapes() -> None:
    assert code_shapes([ORIGINAL]) == code_shapes([COPY])
    assert code_shapes([ORIGINAL]) != code_shapes([ORIGINAL.replace("17", "18")])
    assert code_shapes(["def broken(", "%%html\n<b>text</b>", "(" * 10_000]) == set()


@pytest.mark.parametrize("magic", ["%matplotlib inline", "%%time", "files = !ls", "helper?"])
def test_magic_in_a_cell_does_not_hide_its_code(magic: str) -> None:
    whole, below = code_shapes([ORIGINAL]), code_shapes([f"{magic}\n{ORIGINAL}"])
    assert len(whole & below) > 0.9 * len(whole), "only the shape of the whole differs"


def test_copy_is_found_among_independent_answers() -> None:
    of = {f"s{n}": code(independent(n)) for n in range(20)}
    of |= {"ann": code(ORIGINAL), "bob": code(COPY)}
    (pair,) = pairs({"x": of})
    assert {pair.student, pair.other} == {"ann", "bob"}
    assert (pair.exercise, pair.kind, pair.share) == ("x", CODE, 1.0)


def test_code_that_many_students_share_is_not_reported() -> None:
    assert pairs({"x": {f"s{n}": code(ORIGINAL) for n in range(30)}}) == []


def test_few_answers_are_not_compared() -> None:
    of = {f"s{n}": code(independent(n)) for n in range(LEAST_ANSWERS - 3)}
    assert pairs({"x": of | {"ann": code(ORIGINAL), "bob": code(COPY)}}) == []


def chain(*names: str) -> relay.Expr:
    value: relay.Expr = relay.var("x", shape=(2, 3))
    for name in names:
        value = getattr(relay, name)(value)
    return value


def test_modules_are_compared_by_their_graphs() -> None:
    odd = ("exp", "tanh", "sqrt", "exp", "negative", "abs", "tanh")
    usual = module_of(chain("exp", "tanh", "exp", "tanh", "exp", "tanh", "exp"))
    of = {f"s{n}": kept(MODULE, module_shapes([usual])) for n in range(20)}
    of |= {who: kept(MODULE, module_shapes(module_of(chain(*odd)))) for who in ("ann", "bob")}
    (pair,) = pairs({"x": of})
    assert {pair.student, pair.other, pair.kind} == {"ann", "bob", MODULE}
    assert module_shapes(3) == module_shapes([None, "text"]) == set()
