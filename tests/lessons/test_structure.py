"""The separate checks of answers: kind, types, regions and results."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons import structure
from byoc_lab.passes import InferType
from byoc_lab.relay import IRModule

HEAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) {\n'
PLAIN = f"{HEAD}  nn.relu(tanh(%x))\n}}"
OFFLOADED = (
    f'{HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = tanh(%0);\n'
    '  %2 = nn.relu(%1);\n  annotation.compiler_end(%2, compiler="A")\n}'
)


def _message(mistake: structure.Mistake | None) -> str:
    assert mistake is not None
    return mistake.message


def _module(text: str) -> IRModule:
    return InferType()(relay.parse(text))


def test_right_answer_gets_no_message() -> None:
    plain, answer = _module(PLAIN), _module(OFFLOADED)
    assert structure.wrong_kind(answer) is None
    assert structure.wrong_types(answer) is None
    assert structure.wrong_network(answer, plain) is None
    assert structure.lint_findings(answer) is None
    assert structure.wrong_regions(answer, [("A", ("tanh", "nn.relu"))]) is None
    assert structure.wrong_numbers(answer, plain) is None


def test_order_and_compiler_of_a_region_are_checked() -> None:
    answer = _module(OFFLOADED)
    for region in (("A", ("nn.relu", "tanh")), ("B", ("tanh", "nn.relu"))):
        message = _message(structure.wrong_regions(answer, [region]))
        assert message.endswith("found 1 region: A with tanh, nn.relu")


def test_answer_that_partitioning_refuses_gets_a_message() -> None:
    answer = _module(OFFLOADED.replace('annotation.compiler_begin(%x, compiler="A")', "abs(%x)"))
    message = _message(structure.wrong_regions(answer, []))
    assert message.startswith("PartitionGraph refuses the module: ")
    message = _message(structure.wrong_numbers(answer, _module(PLAIN)))
    assert message.startswith("the partitioned module cannot be evaluated: ")


def test_inconsistent_types_get_a_message() -> None:
    x, y = (relay.var(name, shape=shape) for name, shape in (("x", (2, 3)), ("y", (4, 5))))
    mod = IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))
    message = _message(structure.wrong_types(mod))
    assert message.startswith("the module has no consistent types: ")


def test_changed_network_is_reported_with_its_operators() -> None:
    plain = _module(PLAIN)
    message = _message(structure.wrong_network(_module(PLAIN.replace("tanh", "exp")), plain))
    assert message.endswith("it has added exp and lost tanh")
    message = _message(
        structure.wrong_network(_module(PLAIN.replace("2, 3", "3, 2")), _module(PLAIN))
    )
    assert message == "the network itself has changed, not only its annotations"


def test_wrong_results_report_difference_or_shape() -> None:
    plain = _module(PLAIN)
    message = _message(structure.wrong_numbers(_module(PLAIN.replace("tanh", "negative")), plain))
    assert "the largest difference from the right result is" in message
    message = _message(structure.wrong_numbers(_module(PLAIN.replace("nn.relu", "sum")), plain))
    assert message == "expected a result of shape (2, 3), found ()"
