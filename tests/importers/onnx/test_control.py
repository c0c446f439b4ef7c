"""If and Loop: branches and bodies that are separate graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.errors import (
    BuildError,
    ImporterError,
    TypeInferenceError,
    UnknownShapeError,
    UnknownValueError,
    UnsupportedOperatorError,
)
from byoc_lab.importers.onnx import from_onnx, graph
from byoc_lab.relay.ir.expr import If
from byoc_lab.relay.ir.visit import post_order

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
info = helper.make_tensor_value_info


def _model(nodes: Any, inputs: Any, outputs: Any, initializers: Any = ()) -> Any:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _agrees(model: Any, **inputs: Any) -> Any:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    mod, _ = from_onnx(model)
    ours = byoc_lab.evaluate(mod, inputs).outputs
    for found, wanted in zip(ours, session.run(None, inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    return mod


def _branch(op: str, name: str) -> Any:
    """A graph without inputs that reads x from the enclosing graph."""
    node = helper.make_node(op, ["x"], [name])
    return helper.make_graph([node], name, [], [info(name, FLOAT, None)])


def _choice() -> Any:
    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=_branch("Relu", "t"), else_branch=_branch("Neg", "e")
    )
    return [node]


X = np.array([-1, 0, 2], "float32")


@pytest.mark.parametrize("condition", [True, False])
def test_if_with_run_time_condition_becomes_relay_if(condition: bool) -> None:
    model = _model(_choice(), [info("x", FLOAT, [3]), info("c", BOOL, [])], [info("y", FLOAT, [3])])
    mod = _agrees(model, x=X, c=np.array(condition))
    assert any(isinstance(n, If) for n in post_order(mod["main"]))


def test_if_with_constant_condition_imports_one_branch() -> None:
    condition = helper.make_tensor("c", BOOL, [], [False])
    model = _model(_choice(), [info("x", FLOAT, [3])], [info("y", FLOAT, [3])], [condition])
    mod = _agrees(model, x=X)
    assert "negative" in str(mod) and "relu" not in str(mod)


def _loop_body(scanned: bool) -> Any:
    """s = s + x, as long as the sum of s is below 20; outputs 2 * s in each iteration."""
    nodes = [
        helper.make_node("Add", ["s", "x"], ["s_out"]),
        helper.make_node("ReduceMax", ["s_out"], ["top"], keepdims=0),
        helper.make_node("Less", ["top", "limit"], ["go_on"]),
        helper.make_node("Add", ["s_out", "s_out"], ["twice"]),
    ]
    outputs = [info("go_on", BOOL, []), info("s_out", FLOAT, [3])]
    outputs += [info("twice", FLOAT, [3])] if scanned else []
    inputs = [info("i", INT64, []), info("go", BOOL, []), info("s", FLOAT, [3])]
    return helper.make_graph(nodes, "body", inputs, outputs)


@pytest.mark.parametrize("scanned", [False, True])
@pytest.mark.parametrize("turns", [0, 3, 100])
def test_loop_runs_while_its_condition_holds(turns: int, scanned: bool) -> None:
    outputs = ["final", "rows"] if scanned else ["final"]
    node = helper.make_node("Loop", ["n", "", "start"], outputs, body=_loop_body(scanned))
    limit = helper.make_tensor("limit", FLOAT, [], [11.0])
    model = _model(
        [node],
        [info("x", FLOAT, [3]), info("start", FLOAT, [3]), info("n", INT64, [])],
        [info(o, FLOAT, None) for o in outputs],
        [limit],
    )
    _agrees(model, x=X, start=np.ones(3, "float32"), n=np.array(turns))


def _counted(turns: int, body: Any, first: Any = None) -> Any:
    """A loop with a constant number of iterations."""
    constants = [helper.make_tensor("n", INT64, [], [turns])]
    constants.append(helper.make_tensor("limit", FLOAT, [], [11.0]))
    node = helper.make_node("Loop", ["n", "", "start"], ["final", "rows"], body=body)
    shape = [3] if first is None else first
    inputs = [info("x", FLOAT, [3]), info("start", FLOAT, shape)]
    return _model([node], inputs, [info(o, FLOAT, None) for o in ("final", "rows")], constants)


def _growing_body() -> Any:
    """s = [s, x], without an end condition; outputs x plus the iteration number."""
    nodes = [
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("Concat", ["s", "x"], ["s_out"], axis=0),
        helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
        helper.make_node("Add", ["x", "number"], ["row"]),
    ]
    inputs = [info("i", INT64, []), info("go", BOOL, []), info("s", FLOAT, None)]
    outputs = [info("go_on", BOOL, []), info("s_out", FLOAT, None), info("row", FLOAT, [3])]
    return helper.make_graph(nodes, "body", inputs, outputs)


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_loop_with_known_iterations_is_unrolled_and_built(turns: int) -> None:
    """The state grows in each iteration, so no recursive function could have its type."""
    inputs = {"x": X, "start": np.ones(2, "float32")}
    mod = _agrees(_counted(turns, _growing_body(), [2]), **inputs)
    assert mod["main"].checked_type.ret_type.fields[0] == relay.TensorType((2 + 3 * turns,))
    wanted = byoc_lab.evaluate(mod, inputs).outputs
    for found, right in zip(byoc_lab.build(mod).run(inputs), wanted, strict=True):
        np.testing.assert_array_equal(found, right)


def test_loop_with_computed_condition_and_known_iterations_is_imported() -> None:
    _agrees(_counted(4, _loop_body(True)), x=X, start=np.ones(3, "float32"))


def test_loop_that_must_be_unrolled_asks_for_its_iterations() -> None:
    model = _counted(4, _growing_body(), [2])
    del model.graph.initializer[0]
    model.graph.input.append(info("n", INT64, []))
    with pytest.raises(UnsupportedOperatorError):
        from_onnx(model)
    assert from_onnx(model, freeze={"n": 4})


def test_nested_loops_that_unroll_to_too_many_nodes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "MAX_NODES", 2_000)
    body = _growing_body()
    for _ in range(3):
        constant = helper.make_node("Constant", [], ["n"], value_int=9_000)
        inner = helper.make_node("Loop", ["n", "", "s"], ["s_out", "row"], body=body)
        nodes = [constant, inner, helper.make_node("Identity", ["go"], ["go_on"])]
        body = helper.make_graph(nodes, "body", list(body.input), list(body.output))
    with pytest.raises(UnsupportedOperatorError, match="unrolled, the model has more than"):
        from_onnx(_counted(9_000, body))


def test_loop_in_a_branch_agrees_with_onnxruntime() -> None:
    loop = helper.make_node("Loop", ["n", "", "x"], ["t"], body=_loop_body(False))
    then = helper.make_graph([loop], "then", [], [info("t", FLOAT, [3])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=_branch("Neg", "e"))
    constants = [
        helper.make_tensor("limit", FLOAT, [], [11.0]),
        helper.make_tensor("n", INT64, [], [4]),
    ]
    inputs = [info("x", FLOAT, [3]), info("c", BOOL, [])]
    model = _model([node], inputs, [info("y", FLOAT, [3])], constants)
    for condition in (True, False):
        _agrees(model, x=X, c=np.array(condition))


def test_branches_of_different_types_are_refused_with_the_node() -> None:
    wide = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["e"], to=TensorProto.DOUBLE)],
        "e", [], [info("e", TensorProto.DOUBLE, None)],
    )  # fmt: skip
    node = helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=_branch("Relu", "t"), else_branch=wide
    )
    model = _model([node], [info("x", FLOAT, [3]), info("c", BOOL, [])], [info("y", FLOAT, None)])
    with pytest.raises(UnknownValueError, match="node 'choice', operator If, opset 17: the then "):
        from_onnx(model)


def test_branches_of_different_shapes_name_the_value_to_freeze() -> None:
    pair = helper.make_node("Concat", ["x", "x"], ["e"], axis=0)
    wide = helper.make_graph([pair], "e", [], [info("e", FLOAT, None)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=_branch("Relu", "t"), else_branch=wide)
    model = _model([node], [info("x", FLOAT, [3]), info("c", BOOL, [])], [info("y", FLOAT, None)])
    words = r"returns Tensor\[\(3\), float32\], the else branch Tensor\[\(6\), .*--freeze c=True"
    with pytest.raises(UnknownValueError, match=words) as caught:
        from_onnx(model)
    assert caught.value.freeze == {"c": True}
    for taken, length in ((True, 3), (False, 6)):
        mod, _ = from_onnx(model, freeze={"c": taken})
        assert str(mod["main"].ret_type) == f"Tensor[({length}), float32]"


def test_unsupported_operator_inside_a_branch_is_named() -> None:
    branch = helper.make_graph(
        [helper.make_node("Bernoulli", ["x"], ["t"], name="dice")],
        "t",
        [],
        [info("t", FLOAT, None)],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=_branch("Neg", "e"))
    model = _model([node], [info("x", FLOAT, [3]), info("c", BOOL, [])], [info("y", FLOAT, None)])
    with pytest.raises(UnsupportedOperatorError, match="node 'dice', operator Bernoulli, opset 17"):
        from_onnx(model)


def test_branch_that_reads_a_later_value_is_refused() -> None:
    nodes = [*_choice(), helper.make_node("Relu", ["y"], ["x"])]
    model = _model(nodes, [info("c", BOOL, [])], [info("x", FLOAT, None)])
    with pytest.raises(ImporterError, match="'x', which no input"):
        from_onnx(model)


def _start(*shape: int | str) -> list[Any]:
    """The inputs of a loop: x, the initial state, and the number of iterations."""
    return [info("x", FLOAT, [3]), info("start", FLOAT, list(shape)), info("n", INT64, [])]


LIMIT = helper.make_tensor("limit", FLOAT, [], [11.0])


def _builds(model: Any, **inputs: Any) -> None:
    mod = _agrees(model, **inputs)
    wanted = byoc_lab.evaluate(mod, inputs).outputs
    for made in (mod, dnnl.partition_for_dnnl(mod)):
        for found, right in zip(byoc_lab.build(made).run(inputs), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-6)


def test_loop_with_run_time_iterations_is_built() -> None:
    node = helper.make_node("Loop", ["n", "", "start"], ["final"], body=_loop_body(False))
    model = _model([node], _start(3), [info("final", FLOAT, None)], [LIMIT])
    _builds(model, x=X, start=np.ones(3, "float32"), n=np.array(3))


@pytest.mark.parametrize("turns", [0, 2, 5])
def test_nested_loop_with_the_same_states_is_built(turns: int) -> None:
    inner = helper.make_node("Loop", ["n", "", "t"], ["t_out"], body=_loop_body(False))
    nodes = [inner, helper.make_node("Identity", ["go_t"], ["go_on_t"])]
    inputs = [info("j", INT64, []), info("go_t", BOOL, []), info("t", FLOAT, [3])]
    outputs = [info("go_on_t", BOOL, []), info("t_out", FLOAT, [3])]
    body = helper.make_graph(nodes, "outer", inputs, outputs)
    node = helper.make_node("Loop", ["n", "", "start"], ["final"], body=body)
    model = _model([node], _start(3), [info("final", FLOAT, None)], [LIMIT])
    _builds(model, x=X, start=np.ones(3, "float32"), n=np.array(turns))


def test_build_of_a_loop_that_stacks_rows_names_the_rows() -> None:
    outputs = ["final", "rows"]
    node = helper.make_node(
        "Loop", ["n", "", "start"], outputs, name="add up", body=_loop_body(True)
    )
    model = _model([node], _start(3), [info(o, FLOAT, None) for o in outputs], [LIMIT])
    inputs = {"x": X, "start": np.ones(3, "float32"), "n": np.array(3)}
    mod = _agrees(model, **inputs)
    for made in (mod, dnnl.partition_for_dnnl(mod)):
        with pytest.raises(BuildError, match=r"^add up: %twice, which a recursive function"):
            byoc_lab.build(made)


def test_build_error_names_the_onnx_node_of_an_operator_in_a_branch() -> None:
    picked = helper.make_node("Compress", ["x", "k"], ["e"], axis=0, name="pick")
    other = helper.make_graph([picked], "e", [], [info("e", FLOAT, None)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=_branch("Relu", "t"), else_branch=other)
    inputs = [info("x", FLOAT, [3]), info("c", BOOL, []), info("k", BOOL, [3])]
    model = _model([node], inputs, [info("y", FLOAT, None)])
    mod = _agrees(model, x=X, c=np.array(False), k=np.array([True, False, True]))
    for made in (mod, dnnl.partition_for_dnnl(mod)):
        with pytest.raises(BuildError, match=r"^pick: argwhere has no translation to Relax"):
            byoc_lab.build(made)


def _mean_or_squashed(condition: Any) -> Any:
    """The mean of x; or, if the computed condition c does not hold, of x reshaped to [5, 7]."""
    squash = helper.make_node("Reshape", ["x", "dims"], ["k"], name="squash")
    means = [helper.make_node("ReduceMean", [i], [o], keepdims=0) for i, o in ("xt", "ke")]
    then = helper.make_graph(means[:1], "t", [], [info("t", FLOAT, [])])
    other = helper.make_graph([squash, means[1]], "e", [], [info("e", FLOAT, [])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other, name="pick")
    numbers = [("dims", [2], [5, 7]), ("two", [], [2]), ("first", [], [0])]
    weights = [helper.make_tensor(n, INT64, shape, v) for n, shape, v in numbers]
    inputs = [info("x", FLOAT, ["n", 3])] + ([] if condition else [info("c", BOOL, [])])
    return _model([*condition, node], inputs, [info("y", FLOAT, None)], weights)


def test_run_error_names_the_branch_that_cannot_have_the_shapes() -> None:
    inputs = {"x": np.ones((2, 3), "float32"), "c": np.array(True)}
    mod = _agrees(_mean_or_squashed([]), **inputs)
    for made in (mod, dnnl.partition_for_dnnl(mod)):
        with pytest.raises(TypeInferenceError) as found:
            byoc_lab.build(made).run(inputs)
        assert str(found.value).startswith("pick: the false branch of an if cannot have the shapes")
        assert "squash: reshape: (2, 3) cannot be reshaped to [5, 7]" in str(found.value)
        assert "depends on %c, is always true, give it when importing" in str(found.value)


def test_only_the_taken_branch_needs_a_valid_shape_if_shapes_decide() -> None:
    rows = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "first"], ["d"]),
        helper.make_node("Equal", ["d", "two"], ["c"]),
    ]  # fmt: skip
    x = np.arange(6, dtype="float32").reshape(2, 3)
    mod = _agrees(_mean_or_squashed(rows), x=x)
    for made in (mod, dnnl.partition_for_dnnl(mod)):
        executable = byoc_lab.build(made)
        assert executable.run([x])[0] == 2.5
        with pytest.raises(TypeInferenceError, match=r"^squash: reshape: \(4, 3\) cannot"):
            executable.run([np.ones((4, 3), "float32")])


def test_condition_on_unknown_sizes_asks_only_for_the_sizes() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Equal", ["s", "one"], ["c"]),
        helper.make_node("Squeeze", ["c"], ["q"]),
    ]  # fmt: skip
    column = helper.make_graph(
        [helper.make_node("Unsqueeze", ["x", "axes"], ["e"])], "e", [], [info("e", FLOAT, None)]
    )
    node = helper.make_node(
        "If", ["q"], ["y"], then_branch=_branch("Relu", "t"), else_branch=column
    )
    known = [helper.make_tensor(name, INT64, [1], [1]) for name in ("one", "axes")]
    model = _model([*nodes, node], [info("x", FLOAT, ["N"])], [info("y", FLOAT, None)], known)
    with pytest.raises(UnknownShapeError) as found:
        from_onnx(model)
    assert "the sizes of 'x' are unknown: give shapes by" in str(found.value)
    assert "freeze" not in str(found.value)
    for length in (1, 3):
        from_onnx(model, shape={"x": (length,)})


@pytest.mark.parametrize(("condition", "advice"), [("", "freeze n=VALUE"), ("c", "freeze c=VALUE")])
def test_state_that_grows_is_named_in_the_error(condition: str, advice: str) -> None:
    turns = "" if condition else "n"
    node = helper.make_node("Loop", [turns, condition, "start"], ["final", "rows"],
                            name="grow", body=_growing_body())  # fmt: skip
    inputs = [*_start(2)[:2], info("c", BOOL, []) if condition else info("n", INT64, [])]
    model = _model([node], inputs, [info(o, FLOAT, None) for o in ("final", "rows")])
    with pytest.raises(UnknownValueError) as found:
        from_onnx(model)
    assert "node 'grow', operator Loop" in str(found.value) and advice in str(found.value)
    assert "state 's' is Tensor[(2), float32] before an iteration and Tensor[(5)" in str(
        found.value
    )


def test_build_of_a_loop_over_unknown_sizes_names_the_inputs() -> None:
    node = helper.make_node("Loop", ["n", "", "start"], ["final"], body=_loop_body(False))
    model = _model([node], _start("L"), [info("final", FLOAT, None)], [LIMIT])
    inputs = {"x": X, "start": np.ones(3, "float32"), "n": np.array(3)}
    mod = _agrees(model, **inputs)
    with pytest.raises(BuildError, match=r"^final: a function .* unknown: start \(Tensor"):
        byoc_lab.build(mod).run(inputs)
    known, _ = from_onnx(model, shape={"start": (3,)})
    (wanted,) = byoc_lab.evaluate(mod, inputs).outputs
    np.testing.assert_array_equal(byoc_lab.build(known).run(inputs)[0], wanted)
