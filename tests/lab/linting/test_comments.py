"""Comments of a Relay text are kept when the module is changed and printed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.lab.linting.comments import with_comments

WORDS = ["// one", "/* two */", "/* three\n   lines */", "// %0 = add(%x, %x);", '// "']


def chain(operators: list[str]) -> str:
    x = relay.var("x", shape=(2,))
    for name in operators:
        x = getattr(relay, name)(x)
    return relay.IRModule.from_expr(x).astext()


OPERATORS = st.lists(st.sampled_from(["exp", "tanh", "sqrt"]), max_size=6)


@given(OPERATORS, OPERATORS, st.data())
def test_no_comment_is_lost_and_the_module_is_the_same(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    lines = chain(before).splitlines()
    placed = data.draw(
        st.lists(st.tuples(st.integers(0, len(lines)), st.sampled_from(WORDS)), max_size=5)
    )
    for at, comment in sorted(placed, reverse=True):
        lines.insert(at, comment)
    text = chain(after)
    made = with_comments("\n".join(lines), text)
    assert relay.parse(made).astext() == relay.parse(text).astext()
    for word in WORDS:
        assert made.count(word) == [comment for _, comment in placed].count(word)


def test_comment_stays_with_its_line() -> None:
    before = chain(["exp", "tanh"]).replace("  tanh", "  // the last\n  tanh")
    before = before.replace("exp(%x)", "exp(%x) /* ty=Tensor[(2), float32] */", 1)
    before = before.replace(";\n", ";  // the first\n", 1)
    made = with_comments(before, chain(["sqrt", "exp", "tanh"]))
    assert "ty=" not in made
    (first,) = [line for line in made.splitlines() if "// the first" in line]
    assert "exp(" in first
    assert "  // the last\n  tanh(" in made


def test_text_without_comments_is_unchanged() -> None:
    assert with_comments(chain(["exp"]), chain(["tanh"])) == chain(["tanh"])


def test_comments_are_placed_before_the_metadata() -> None:
    """Comments after the code are placed before the metadata, in which no text is taken for a
    comment."""
    constant = relay.add(relay.var("x", shape=(2,)), relay.const([1.0, 2.0]))
    text = relay.IRModule.from_expr(constant).astext()
    assert "#[metadata]" in text
    code, metadata = text.split("#[metadata]")
    made = with_comments(f"{code}// end\n#[metadata]{metadata}", text)
    assert made.index("// end") < made.index("#[metadata]")
    assert relay.parse(made).astext() == relay.parse(text).astext()
