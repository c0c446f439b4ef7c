"""Region numbers: first the number of the future function, then kept."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.analysis.annotations import BEGIN, begin, end, is_annotation
from byoc_lab.relay.analysis.region_numbers import module_numbers, region_numbers
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.transform import PartitionGraph

X, Y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))


def region(op: str, compiler: str, *args: Expr) -> Expr:
    begins = [begin(arg, compiler) for arg in args]
    return end(relay.Call(relay.Op.get(op), begins), compiler)


def begins(body: Expr) -> list[Expr]:
    return [node for node in post_order(body) if is_annotation(node, BEGIN)]


def test_region_has_the_number_of_its_function_and_default_comes_last() -> None:
    body = region("tanh", "chip", region("exp", "default", region("add", "chip", X, Y)))
    mod = relay.IRModule.from_expr(Function([X, Y], body))
    numbers = module_numbers(mod)
    assert [numbers[node] for node in begins(mod["main"])] == [0, 0, 3, 2]
    names = [gv.name_hint for gv in PartitionGraph()(mod)]
    assert sorted(names) == ["main", "tvmgen_default_chip_main_0", "tvmgen_default_chip_main_2"]


def test_known_numbers_stay_and_new_regions_get_the_next_numbers() -> None:
    body = region("add", "chip", region("exp", "chip", X), region("tanh", "chip", Y))
    first, user, second, also_user = begins(body)
    numbers = region_numbers(body, {user: 7, second: 3})
    assert numbers == {first: 8, user: 7, second: 3, also_user: 7}


def test_merged_region_has_the_number_of_its_first_begin() -> None:
    body = end(relay.add(begin(X, "chip"), begin(Y, "chip")), "chip")
    first, second = begins(body)
    assert region_numbers(body, {first: 5, second: 2}) == {first: 5, second: 5}


def test_malformed_annotations_have_numbers() -> None:
    body = end(relay.add(begin(X, "chip"), Y), "other")
    assert list(region_numbers(body).values()) == [0]
