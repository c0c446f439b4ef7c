"""`relax.explain`: the cause of each operator on the host, and verified changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import byoc_lab
from byoc_lab.backends import Refused
from byoc_lab.errors import ArgumentError, UnknownNodeError
from byoc_lab.relax import backends, explain, partition_for_dnnl
from tests.plain_cells import plain

from ..test_executable import two_regions
from ..test_partition import module, symbol, var

relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = pytest.mark.native


@pytest.mark.parametrize("cut", [False, True])
def test_each_operator_is_listed_once(cut: bool) -> None:
    mod = two_regions()
    found = explain(partition_for_dnnl(mod) if cut else mod)
    assert sorted(e.name for e in found.offloaded) == [
        "nn.conv2d", "nn.conv2d", "nn.gelu", "nn.relu",
    ]  # fmt: skip
    (left,) = found.host
    assert (left.name, left.cause) == ("cumsum", "no-pattern")
    assert left.reason == "DNNL has no counterpart of relax.cumsum"
    assert found.summary == "4 of 5 calls offloaded to dnnl, 1 on the host (1 no-pattern)"
    shown = json.loads(json.dumps(found.as_dict()))
    assert [(c["call"], c["group"]) for c in shown["calls"]] == [
        ("nn.conv2d", None), ("nn.relu", None), ("cumsum", 0), ("nn.conv2d", None),
        ("nn.gelu", None),
    ]  # fmt: skip
    assert [(g["call"], g["numbers"]) for g in shown["groups"]] == [("cumsum", [left.number])]
    assert found[left.call] is left
    row = (
        f"<td>1</td><td>cumsum ({left.number})</td><td>on the host</td>"
        f"<td>no-pattern: {left.reason}</td>"
    )
    assert row in plain(found._repr_html_())


def test_call_outside_of_a_dataflow_block_needs_a_pass() -> None:
    x = var("x", 1, 4, 9, 9)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(op.nn.relu(x))
        pooled = builder.emit(op.nn.max_pool2d(y, (3, 3), (2, 2), ceil_mode=True))
        builder.emit_func_output(pooled)
    relu, pool = explain(builder.get())
    assert relu.cause == "needs-pass" and "ConvertToDataflow" in relu.change
    assert pool.cause == "check" and "ceil_mode" in pool.reason and pool.change is None


def test_operators_on_unknown_sizes_suggest_to_give_them() -> None:
    n = symbol("n")

    def body(emit: Any, x: Any) -> Any:
        return emit(op.nn.softmax(emit(op.reshape(emit(op.nn.relu(x)), (n * 4, 6))), axis=0))

    found = explain(module([var("x", n, 4, 6)], body))
    assert [(e.name, e.cause) for e in found.host] == [
        ("reshape", "check"),
        ("nn.softmax", "check"),
    ]
    for e in found.host:
        assert e.change == ('give sizes with relax.transform.BindSymbolicVars({"n": size}) before')


def test_equal_calls_are_one_group() -> None:
    def body(emit: Any, x: Any) -> Any:
        return emit(op.erf(emit(op.erf(emit(op.nn.relu(x))))))

    found = explain(module([var("x", 2, 3)], body))
    (group,) = found.groups
    assert str(found).split("\n\n")[1:] == [str(group)]
    assert str(group).startswith(f"2 calls of erf not offloaded: {group[0].cause} (%")
    assert group.numbers == ", ".join(e.number for e in found.host)
    assert group.offloads == 0 and not group.change


def test_wrong_arguments_raise_argument_error() -> None:
    with pytest.raises(ArgumentError, match=r"relax\.explain takes a module of TVM's Relax, found"):
        explain([])


def explained(patterns: list[Any], mod: Any) -> Any:
    """The explanations of a module for a back end with these patterns."""
    backends.register("npu", patterns=patterns)
    try:
        return explain(mod, "npu")
    finally:
        backends.unregister("npu")


def too_small(context: Any) -> Refused:
    """A check that refuses every match."""
    return Refused("too small")


def product_and_relu() -> Any:
    """relu(x @ w + b), of parameters."""
    return module(
        [var("x", 4, 8), var("w", 8, 3), var("b", 3)],
        lambda emit, x, w, b: emit(op.nn.relu(emit(op.add(emit(op.matmul(x, w)), b)))),
    )


def biased(bias: Any) -> Any:
    """The pattern relu(matmul + bias)."""
    dpl = relax.dpl
    product = dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard())
    return dpl.is_op("relax.nn.relu")(dpl.is_op("relax.add")(product, bias))


def test_pattern_is_compared_with_the_module_before_other_entries_took_their_matches() -> None:
    dpl = relax.dpl
    entries = [
        ("npu.gelu", dpl.is_op("relax.nn.gelu")(dpl.is_op("relax.matmul")(*[dpl.wildcard()] * 2))),
        ("npu.biased", biased(dpl.is_const())),
        ("npu.relu", dpl.is_op("relax.nn.relu")(dpl.wildcard())),
    ]
    product = explained(entries, product_and_relu())[0]
    assert (product.name, product.cause) == ("matmul", "sub-pattern")
    assert product.reason.startswith("pattern npu.biased has matmul, but does not match here")
    assert "operand .args[0].args[1] must be a constant, found the parameter %b" in product.reason


def test_nearest_match_contains_the_explained_call() -> None:
    """Another sum is nearer to the pattern, but not the explained one."""
    mod = module(
        [var("x", 4, 8), var("w", 8, 3), var("b", 3), var("y", 4, 3)],
        lambda emit, x, w, b, y: emit(
            op.multiply(
                emit(op.nn.relu(emit(op.add(emit(op.matmul(x, w)), b)))),
                emit(op.nn.relu(emit(op.add(emit(op.sigmoid(y)), b)))),
            )
        ),
    )
    found = [
        e.reason for e in explained([("npu.biased", biased(relax.dpl.is_const()))], mod)
        if e.name == "add"
    ]  # fmt: skip
    assert "at %lv2, operand .args[0].args[1] must be a constant" in found[0]
    assert "operand .args[0].args[0] must be a call of matmul, found a call of sigmoid" in found[1]


def test_partial_match_that_does_not_contain_the_explained_call_is_not_its_nearest_match() -> None:
    mod = module(
        [var("x", 4, 8), var("w", 8, 3), var("b", 3)],
        lambda emit, x, w, b: emit(
            op.multiply(
                emit(op.nn.relu(emit(op.add(emit(op.matmul(x, w)), b)))),
                emit(op.sigmoid(emit(op.matmul(x, w)))),
            )
        ),
    )
    found = explained([("npu.biased", biased(relax.dpl.is_const()))], mod)
    inside, apart = (e for e in found if e.name == "matmul")
    assert "nearest: at %lv2" in inside.reason and inside.nearest is not None
    assert apart.reason == "pattern npu.biased has matmul, but no partial match contains this call"
    assert apart.nearest is None


def test_refusing_check_is_named_if_another_entry_took_the_root() -> None:
    dpl = relax.dpl
    entries = [
        ("npu.biased", biased(dpl.wildcard()), {}, too_small),
        ("npu.relu", dpl.is_op("relax.nn.relu")(dpl.wildcard())),
    ]
    product = explained(entries, product_and_relu())[0]
    assert product.reason == "it is part of a match of npu.biased, whose check refuses: too small"


def test_entry_that_comes_too_late_is_suggested_to_be_first() -> None:
    dpl = relax.dpl
    entries = [
        ("npu.relu", dpl.is_op("relax.nn.relu")(dpl.wildcard())),
        ("npu.biased", biased(dpl.wildcard())),
    ]
    found = explained(entries, product_and_relu())
    assert [(e.name, e.cause) for e in found.host] == [("matmul", "order"), ("add", "order")]
    assert {e.change for e in found.host} == {"move npu.biased to the front of the pattern table"}
    assert not explained(entries[::-1], product_and_relu()).host


def test_producer_of_an_operand_is_not_part_of_a_refused_match() -> None:
    dpl = relax.dpl
    entries = [
        ("npu.relu", dpl.is_op("relax.nn.relu")(dpl.wildcard()), {}, too_small),
        ("npu.sum", dpl.is_op("relax.add")(dpl.wildcard(), dpl.is_const())),
    ]
    total = explained(entries, product_and_relu())[1]
    assert (total.name, total.cause) == ("add", "sub-pattern")


def test_operand_of_a_refused_match_has_the_reason_of_the_check() -> None:
    dpl = relax.dpl
    product = dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard())
    chain = dpl.is_op("relax.nn.relu")(product)
    mod = module(
        [var("x", 4, 8), var("w", 8, 3)],
        lambda emit, x, w: emit(
            op.add(emit(op.nn.relu(emit(op.matmul(x, w)))), emit(op.matmul(x, w)))
        ),
    )
    found = explained([("npu.chain", chain, {}, too_small)], mod)
    reasons = [(e.name, e.cause, e.reason) for e in found]
    assert reasons[0] == (
        "matmul", "check",
        "it is part of a match of npu.chain, whose check refuses: too small",
    )  # fmt: skip
    assert reasons[1][1:] == (
        "check",
        "the pattern matches, and the check of npu.chain refuses: too small",
    )
    assert reasons[2][:2] == ("matmul", "sub-pattern")


def test_data_of_explanations_has_the_rows_of_relay() -> None:
    entries = [("npu.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    entries.append(("npu.biased", biased(relax.dpl.is_const())))
    found = explained(entries, product_and_relu())
    relay = byoc_lab.explain(
        byoc_lab.IRModule.from_expr(byoc_lab.relay.abs(byoc_lab.relay.var("x", shape=(2,)))), "dnnl"
    )
    assert [row.keys() for row in found.as_dict()["calls"]] == [
        row.keys() for row in relay.as_dict()["calls"] * 3
    ]
    relu, product = found.offloaded[0], found[1]
    assert (relu.status, relu.pattern, relu.back_end) == ("offloaded", "npu.relu", "npu")
    assert str(relu).endswith(f"offloaded: in @{relu.region} as part of npu.relu")
    assert str(product.nearest) == "npu.biased (3 of 4 parts match)"
    assert str(product).endswith("\n  nearest   npu.biased (3 of 4 parts match)")


def test_call_is_found_by_name_or_operator() -> None:
    mod = product_and_relu()
    found = explain(mod)
    (relu,) = byoc_lab.explain(mod, "dnnl", "nn.relu")
    assert relu.name == "nn.relu" in {e.name for e in found.of(relu.number)}
    assert [e.name for e in byoc_lab.explain(mod, "dnnl", "add")] == ["add"]
    assert found[relu.number] in list(found)
    with pytest.raises(UnknownNodeError, match=r"no call of nn\.relo; it has calls of add, matmul"):
        byoc_lab.explain(mod, "dnnl", "nn.relo")
    with pytest.raises(UnknownNodeError, match="shows no call as %none"):
        byoc_lab.explain(mod, "dnnl", "%none")
    for other in ([], mod):
        with pytest.raises(UnknownNodeError, match="is not a call of this module"):
            found[other]


def named(found: Any) -> list[tuple[str, str]]:
    return [(e.number, e.name) for e in found]


def test_offloaded_calls_have_the_names_of_the_given_module() -> None:
    """Functions of matches have other names, and equal matches share one function."""

    def body(emit: Any, x: Any, w: Any) -> Any:
        two = emit(op.split(emit(op.nn.relu(x)), 2, axis=1), "halves")
        products = [emit(op.matmul(two[n], w), f"product{n}") for n in (0, 1)]
        host = emit(op.cumsum(emit(op.concat(products, axis=0), "joined"), axis=1), "sums")
        return emit(op.nn.relu(host), "last")

    mod = module([var("x", 2, 6), var("w", 3, 3)], body)
    found = explain(mod)
    assert named(found) == [
        ("%lv", "nn.relu"), ("%halves", "split"), ("%product0", "matmul"),
        ("%product1", "matmul"), ("%joined", "concat"), ("%sums", "cumsum"), ("%last", "nn.relu"),
    ]  # fmt: skip
    assert [e.offloaded for e in found] == [True] * 5 + [False, True]
    assert str(found["%product0"]).startswith("matmul (%product0: Tensor((2, 3), ")
    for e in found:  # the calls belong to the given module
        assert found[e.call] is e
    given = [b.value for b in mod["main"].body.blocks[0].bindings if hasattr(b.value, "op")]
    assert given == [e.call for e in found]


def test_calls_made_by_an_earlier_pass_are_named_in_the_matched_module() -> None:
    """The batch norm is decomposed, and the ReLU after it stays."""

    def body(emit: Any, x: Any, g: Any) -> Any:
        norm = emit(op.nn.batch_norm(x, g, g, g, g, axis=1, training=False))
        return emit(op.nn.relu(norm[0]))

    found = explain(module([var("x", 1, 4, 9, 9), var("g", 4)], body))
    assert {e.heading.partition(":")[0] for e in found} >= {
        "subtract (%lv1 of the module that FuseOpsByPattern gets",
    }
    assert found[-1].heading.startswith("nn.relu (%lv2: ")


def test_names_in_a_partitioned_module_include_the_region() -> None:
    cut = partition_for_dnnl(product_and_relu())
    (symbol,) = {e.region for e in explain(cut)}
    assert {e.number for e in explain(cut)} == {f"%gv in @{symbol}"}


def test_composites_that_no_pass_assigns_to_a_back_end_are_on_the_host() -> None:
    """FuseOpsByPattern runs without MergeCompositeFunctions."""
    table = [("npu.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    backends.register("npu", patterns=table)
    try:
        fuses = relax.transform.FuseOpsByPattern(table)
        found = explain(product_and_relu(), "npu", [fuses])
        (relu,) = (e for e in found if e.name == "nn.relu")
        assert (relu.cause, relu.number) == ("needs-pass", "%lv2")
        assert relu.reason.startswith("its composite npu.relu is not in a function")
        assert relu.change == "run relax.transform.MergeCompositeFunctions() after FuseOpsByPattern"
    finally:
        backends.unregister("npu")
