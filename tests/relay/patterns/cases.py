"""The semantics of the pattern language by cases: a graph, a pattern, and the tested property.

The file imports neither TVM nor byoc_lab: a side passes its own `relay` and dataflow pattern module
`dp`. TVM 0.16's results are in `expected/`, written by `expected_files.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

T = "Tensor[(4, 4), float32]"
PARAMS = f"%x: {T}, %y: {T}, %z: {T}, %b: bool"


@dataclass(frozen=True)
class Case:
    """`pattern(dp, relay)` on the body of a function of %x, %y, %z and %b.

    attrs, check: other arguments of `partition`. partitioned: whether it is called at all.
    """

    why: str
    body: str
    pattern: Callable[[Any, Any], Any]
    attrs: dict[str, str] | None = None
    check: Callable[[Any], bool] | None = None
    params: str = PARAMS
    partitioned: bool = True

    @property
    def text(self) -> str:
        return f'#[version = "0.0.5"]\ndef @main({self.params}) {{\n{self.body}\n}}\n'


def outcome(case: Case, relay: Any, dp: Any, parse: Callable[[str], Any]) -> dict[str, Any]:
    """The calls, tuples, ... that the pattern matches, in post order, and the partitioned
    module."""
    mod = relay.transform.InferType()(parse(case.text))
    pattern = case.pattern(dp, relay)
    matched: list[str] = []
    tvm_op = type(relay.op.get("add"))  # an operator without a type

    def visit(node: Any) -> None:
        if not isinstance(node, (relay.Var, tvm_op)) and pattern.match(node):
            matched.append(_kind(node, relay))

    relay.analysis.post_order_visit(mod["main"].body, visit)
    if case.partitioned:
        options = {"check": case.check} if case.check else {}
        mod["main"] = pattern.partition(mod["main"], case.attrs, **options)
    return {"matched": matched, "module": mod}


def _kind(node: Any, relay: Any) -> str:
    if isinstance(node, relay.Call):
        return getattr(node.op, "name", None) or type(node.op).__name__
    return getattr(node, "name", None) or type(node).__name__


def conv(dp: Any) -> Any:
    return dp.is_op("nn.conv2d")(dp.wildcard(), dp.wildcard())


CONV_PARAMS = (
    "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], "
    "%v: Tensor[(4, 4, 1, 1), float32]"
)
CONVS = (
    "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n"
    "  nn.conv2d(%0, %v, padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1])"
)


def elementwise(dp: Any, arity: int) -> Any:
    """A call of any operator with TVM's element-wise pattern."""
    op = dp.wildcard().has_attr({"TOpPattern": 0})
    return op(*(dp.wildcard() for _ in range(arity)))


def fuzzy(dp: Any) -> Any:
    """A relu; all operators between it and the addition are element-wise."""
    return dp.is_op("add")(dp.wildcard(), dp.wildcard()).dominates(
        dp.is_op("nn.relu")(dp.wildcard()), elementwise(dp, 1)
    )


def ends_in_relu(dp: Any) -> Any:
    """abs(abs(... nn.relu(x))): a recursive pattern."""
    chain = dp.wildcard()
    chain.redirect_to(dp.is_op("abs")(chain) | dp.is_op("nn.relu")(dp.wildcard()))
    return chain


CASES: dict[str, Case] = {
    "expr_op": Case(
        "is_op matches that operator alone.",
        "  %0 = nn.relu(%x);\n  abs(%0)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard()),
    ),
    "expr_constant": Case(
        "is_expr compares structure, constants by dtype and value; the constant stays inside.",
        "  %0 = add(%x, 1f);\n  add(%0, 2f)",
        lambda dp, relay: dp.is_op("add")(dp.wildcard(), dp.is_expr(relay.const(2.0, "float32"))),
    ),
    "var_any": Case(
        "is_var matches any variable, and it becomes a parameter.",
        "  %0 = nn.relu(%x);\n  abs(%0)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_var()),
    ),
    "var_named": Case(
        "is_var with a name matches only a variable of that name.",
        "  %0 = nn.relu(%x);\n  %1 = nn.relu(%y);\n  add(%0, %1)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_var("y")),
    ),
    "constant_embedded": Case(
        "A constant matched by is_constant stays inside the function.",
        "  multiply(%x, 2f)",
        lambda dp, relay: dp.is_op("multiply")(dp.wildcard(), dp.is_constant()),
    ),
    "constant_lifted": Case(
        "A constant matched by a wildcard becomes a parameter.",
        "  multiply(%x, 2f)",
        lambda dp, relay: dp.is_op("multiply")(dp.wildcard(), dp.wildcard()),
    ),
    "constant_in_alternative": Case(
        "Whether a constant stays inside depends only on the alternative that matched.",
        "  %0 = multiply(%x, 2f);\n  multiply(%0, %y)",
        lambda dp, relay: dp.is_op("multiply")(dp.wildcard(), dp.is_constant() | dp.wildcard()),
    ),
    "same_wildcard": Case(
        "One wildcard used twice matches one value; two wildcards match any two values.",
        "  %0 = exp(%x);\n  %1 = abs(%x);\n  %2 = abs(%y);\n  %3 = add(%0, %1);\n"
        "  %4 = add(%0, %2);\n  multiply(%3, %4)",
        lambda dp, relay: (lambda v: dp.is_op("add")(dp.is_op("exp")(v), dp.is_op("abs")(v)))(
            dp.wildcard()
        ),
    ),
    "one_value_two_wildcards": Case(
        "Two wildcards that match the same value give one parameter.",
        "  add(%x, %x)",
        lambda dp, relay: dp.is_op("add")(dp.wildcard(), dp.wildcard()),
    ),
    "any_arguments": Case(
        "pattern(None) matches any arguments; they become parameters.",
        "  %0 = add(%x, %y);\n  nn.relu(%0)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_op("add")(None)),
    ),
    "function": Case(
        "A function literal is matched by its parameters and body.",
        f"  %0 = fn (%p: {T}, %q: {T}) {{\n    add(%p, %q)\n  }};\n  %0(%x, %y)",
        lambda dp, relay: dp.FunctionPattern(
            [dp.wildcard(), dp.wildcard()], dp.is_op("add")(dp.wildcard(), dp.wildcard())
        )(dp.wildcard(), dp.wildcard()),
    ),
    "function_any_parameters": Case(
        "FunctionPattern(None, body) matches any parameters.",
        f"  %0 = fn (%p: {T}, %q: {T}) {{\n    add(%p, %q)\n  }};\n  %0(%x, %y)",
        lambda dp, relay: dp.FunctionPattern(None, dp.is_op("add")(dp.wildcard(), dp.wildcard()))(
            dp.wildcard(), dp.wildcard()
        ),
    ),
    "tuple": Case(
        "is_tuple with fields matches a tuple with these fields.",
        "  %0 = nn.relu(%x);\n  %1 = (%0, %y);\n  concatenate(%1)",
        lambda dp, relay: dp.is_op("concatenate")(
            dp.is_tuple([dp.is_op("nn.relu")(dp.wildcard()), dp.wildcard()])
        ),
    ),
    "tuple_any_fields": Case(
        "is_tuple(None) matches any number of fields; they become parameters.",
        "  %0 = (%x, %y, %x);\n  concatenate(%0)",
        lambda dp, relay: dp.is_op("concatenate")(dp.is_tuple(None)),
    ),
    "projection": Case(
        "is_tuple_get_item with an index matches that projection alone.",
        "  %0 = split(%x, indices_or_sections=2);\n  %1 = %0.0;\n  %2 = %0.1;\n  add(%1, %2)",
        lambda dp, relay: dp.is_tuple_get_item(dp.wildcard(), 1),
    ),
    "projection_any": Case(
        "Without an index it matches every projection.",
        "  %0 = split(%x, indices_or_sections=2);\n  %1 = %0.0;\n  %2 = %0.1;\n  add(%1, %2)",
        lambda dp, relay: dp.is_op("add")(
            dp.is_tuple_get_item(dp.wildcard()), dp.is_tuple_get_item(dp.wildcard())
        ),
    ),
    "if": Case(
        "is_if matches condition and branches.",
        "  if (%b) {\n    nn.relu(%x)\n  } else {\n    abs(%x)\n  }",
        lambda dp, relay: dp.is_if(
            dp.is_var(), dp.is_op("nn.relu")(dp.wildcard()), dp.is_op("abs")(dp.wildcard())
        ),
    ),
    "let": Case(
        "is_let matches variable, value and body. (Moving a let makes its variable a parameter in "
        "TVM, which is malformed.)",
        "  let %v = nn.relu(%x);\n  abs(%v)",
        lambda dp, relay: dp.is_let(
            dp.is_var(), dp.is_op("nn.relu")(dp.wildcard()), dp.is_op("abs")(dp.wildcard())
        ),
        partitioned=False,
    ),
    "below_let": Case(
        "A value bound by a let is matched like any other value.",
        "  let %v = nn.relu(%x);\n  %0 = abs(%v);\n  exp(%0)",
        lambda dp, relay: dp.is_op("exp")(dp.is_op("abs")(dp.wildcard())),
    ),
    "inside_if": Case(
        "Matches inside the branches of an if are moved there.",
        "  if (%b) {\n    %0 = nn.relu(%x);\n    abs(%0)\n  } else {\n    exp(%x)\n  }",
        lambda dp, relay: dp.is_op("abs")(dp.is_op("nn.relu")(dp.wildcard())),
    ),
    "alternative": Case(
        "The left pattern, else the right one.",
        "  %0 = nn.relu(%x);\n  %1 = abs(%0);\n  exp(%1)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard()) | dp.is_op("exp")(dp.wildcard()),
    ),
    "optional": Case(
        "An optional relu: the match with the relu is found, because search begins at the end.",
        "  %0 = add(%x, %y);\n  %1 = nn.relu(%0);\n  %2 = abs(%1);\n  add(%2, %z)",
        lambda dp, relay: dp.is_op("add")(dp.wildcard(), dp.wildcard()).optional(
            lambda p: dp.is_op("nn.relu")(p)
        ),
    ),
    "operators": Case(
        "+ - * / on patterns are the four operators.",
        "  %0 = add(%x, %y);\n  %1 = multiply(%0, %z);\n  %2 = subtract(%1, %x);\n  divide(%2, %y)",
        lambda dp, relay: (
            ((dp.wildcard() + dp.wildcard()) * dp.wildcard() - dp.wildcard()) / dp.wildcard()
        ),
    ),
    "attributes_of_call": Case(
        "has_attr compares the call's attributes by name.",
        CONVS,
        lambda dp, relay: conv(dp).has_attr({"kernel_size": [3, 3], "data_layout": "NCHW"}),
        params=CONV_PARAMS,
    ),
    "attributes_missing": Case(
        "An attribute that the call does not have: no match.",
        CONVS,
        lambda dp, relay: conv(dp).has_attr({"no_such_attribute": 1}),
        params=CONV_PARAMS,
    ),
    "attributes_of_operator": Case(
        "has_attr on the callee compares attributes of the operator.",
        "  %0 = nn.relu(%x);\n  %1 = add(%0, %y);\n  abs(%1)",
        lambda dp, relay: elementwise(dp, 1),
    ),
    "attributes_of_function": Case(
        "has_attr on a function compares its attributes.",
        f'  %0 = fn (%p: {T}, Composite="a.b") {{\n    nn.relu(%p)\n  }};\n  %1 = %0(%x);\n'
        f'  %2 = fn (%q: {T}, Composite="a.c") {{\n    nn.relu(%q)\n  }};\n  %2(%1)',
        lambda dp, relay: dp.FunctionPattern([dp.wildcard()], dp.wildcard()).has_attr(
            {"Composite": "a.b"}
        )(dp.wildcard()),
    ),
    "type": Case(
        "has_type compares the whole type.",
        '  %0 = cast(%x, dtype="float16");\n  nn.relu(%0)',
        lambda dp, relay: dp.wildcard()(dp.wildcard()).has_type(
            relay.TensorType((4, 4), "float16")
        ),
    ),
    "shape": Case(
        "has_shape compares the shape.",
        "  %0 = abs(%x);\n  %1 = reshape(%0, newshape=[2, 8]);\n  nn.relu(%1)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.has_shape((2, 8))),
    ),
    "dtype": Case(
        "has_dtype compares the dtype.",
        '  %0 = cast(%x, dtype="float16");\n  %1 = nn.relu(%0);\n  %2 = nn.relu(%y);\n  (%1, %2)',
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard().has_dtype("float16")),
    ),
    "commutes": Case(
        "The arguments of add are tried in both orders.",
        "  %0 = nn.relu(%x);\n  add(%y, %0)",
        lambda dp, relay: dp.is_op("add")(dp.is_op("nn.relu")(dp.wildcard()), dp.wildcard()),
    ),
    "does_not_commute": Case(
        "The arguments of subtract are tried only in order.",
        "  %0 = nn.relu(%x);\n  subtract(%y, %0)",
        lambda dp, relay: dp.is_op("subtract")(dp.is_op("nn.relu")(dp.wildcard()), dp.wildcard()),
    ),
    "product_over_quotient": Case(
        "A pattern (a * b) / c also matches a * (b / c).",
        "  %0 = divide(%y, %z);\n  multiply(%x, %0)",
        lambda dp, relay: dp.is_op("divide")(
            dp.is_op("multiply")(dp.is_var("x"), dp.is_var("y")), dp.is_var("z")
        ),
    ),
    "quotient_in_product": Case(
        "A pattern a * (b / c) also matches (a * b) / c.",
        "  %0 = multiply(%x, %y);\n  divide(%0, %z)",
        lambda dp, relay: dp.is_op("multiply")(
            dp.is_var("x"), dp.is_op("divide")(dp.is_var("y"), dp.is_var("z"))
        ),
    ),
    "dominator": Case(
        "All operators between a relu and an addition are element-wise: a match.",
        "  %0 = nn.relu(%x);\n  %1 = abs(%0);\n  %2 = exp(%0);\n  %3 = tanh(%2);\n  add(%1, %3)",
        lambda dp, relay: fuzzy(dp),
    ),
    "dominator_path_broken": Case(
        "A softmax on one path is not element-wise: no match.",
        "  %0 = nn.relu(%x);\n  %1 = abs(%0);\n  %2 = nn.softmax(%0);\n  add(%1, %2)",
        lambda dp, relay: fuzzy(dp),
    ),
    "dominator_two_parents": Case(
        "Two relus: the paths do not start at one parent.",
        "  %0 = nn.relu(%x);\n  %1 = nn.relu(%y);\n  %2 = abs(%0);\n  %3 = exp(%1);\n  add(%2, %3)",
        lambda dp, relay: fuzzy(dp),
    ),
    "dominator_escapes": Case(
        "The parent's value is also used after the child.",
        "  %0 = nn.relu(%x);\n  %1 = abs(%0);\n  %2 = exp(%0);\n  %3 = add(%1, %2);\n"
        "  multiply(%3, %0)",
        lambda dp, relay: fuzzy(dp),
    ),
    "dominator_constant_on_path": Case(
        "A constant operand on the path prevents the match in TVM 0.16.",
        "  %0 = nn.relu(%x);\n  %1 = add(%0, 1f);\n  abs(%1)",
        lambda dp, relay: dp.dominates(
            dp.is_op("nn.relu")(dp.wildcard()),
            dp.is_op("add")(dp.wildcard(), dp.wildcard()),
            dp.is_op("abs")(dp.wildcard()),
        ),
    ),
    "dominator_convolution": Case(
        "A convolution, then element-wise operators, then an addition of both paths.",
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n"
        "  %1 = nn.relu(%0);\n  %2 = nn.leaky_relu(%0, alpha=0.1f);\n  %3 = add(%1, %2);\n"
        "  %4 = nn.relu(%3);\n  %5 = nn.leaky_relu(%3, alpha=0.1f);\n  add(%4, %5)",
        lambda dp, relay: (
            dp.wildcard().has_attr({"TOpPattern": 1})(dp.wildcard(), dp.wildcard())
        ).dominates(
            conv(dp),
            dp.wildcard().has_attr({"TOpPattern": 0})(dp.wildcard())
            | dp.wildcard().has_attr({"TOpPattern": 1})(dp.wildcard(), dp.wildcard()),
        ),
        params=CONV_PARAMS,
    ),
    "recursive": Case(
        "A pattern that is redirected to itself follows a chain to its end. (TVM cannot index such "
        "a pattern for partitioning.)",
        "  %0 = nn.relu(%x);\n  %1 = abs(%0);\n  %2 = abs(%1);\n  exp(%2)",
        lambda dp, relay: dp.is_op("exp")(ends_in_relu(dp)),
        partitioned=False,
    ),
    "used_outside": Case(
        "A match whose inner node has a user outside is not moved.",
        "  %0 = add(%x, %y);\n  %1 = nn.relu(%0);\n  %2 = abs(%0);\n  multiply(%1, %2)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_op("add")(dp.wildcard(), dp.wildcard())),
    ),
    "used_outside_and_back": Case(
        "The outside user is an operand of the match: moved, and the inner node computed twice.",
        "  %0 = add(%x, %y);\n  %1 = nn.relu(%0);\n  %2 = abs(%0);\n  multiply(%1, %2)",
        lambda dp, relay: dp.is_op("multiply")(
            dp.is_op("nn.relu")(dp.is_op("add")(dp.wildcard(), dp.wildcard())), dp.wildcard()
        ),
    ),
    "overlap": Case(
        "The match nearest the end takes its nodes; an overlapping match is refused, and its "
        "number is skipped.",
        "  %0 = nn.relu(%x);\n  %1 = nn.relu(%0);\n  %2 = nn.relu(%1);\n  %3 = nn.relu(%2);\n"
        "  nn.relu(%3)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_op("nn.relu")(dp.wildcard())),
    ),
    "numbering": Case(
        "Groups are numbered from the end, parameters in the order of the pattern.",
        "  %0 = subtract(%y, %x);\n  %1 = nn.relu(%0);\n  %2 = subtract(%1, %z);\n  nn.relu(%2)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.is_op("subtract")(dp.wildcard(), dp.wildcard())),
    ),
    "check": Case(
        "A match that the check refuses is not moved, but its nodes cannot join other matches.",
        "  %0 = nn.relu(%x);\n  %1 = nn.relu(%0);\n  %2 = abs(%1);\n  %3 = nn.relu(%2);\n"
        "  nn.relu(%3)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard()).optional(
            lambda p: dp.is_op("nn.relu")(p)
        ),
        check=lambda root: (
            getattr(root.args[0], "op", None) is not None and root.args[0].op.name == "nn.relu"
        ),
    ),
    "attributes_given": Case(
        "The function has its own attributes, then the attributes given to partition.",
        "  nn.relu(%x)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard()),
        attrs={"Composite": "lib.relu", "note": "mine"},
    ),
    "partitioned_before": Case(
        "Nodes inside functions of an earlier partition are never matched again.",
        f'  %0 = fn (%p: {T}, PartitionedFromPattern="nn.relu_") {{\n    nn.relu(%p)\n  }};\n'
        "  %1 = %0(%x);\n  nn.relu(%1)",
        lambda dp, relay: dp.is_op("nn.relu")(dp.wildcard()),
    ),
}
