"""The assignment of operators to host and regions, before and after annotation, merging and
partitioning."""

from __future__ import annotations

from hypothesis import given, settings

from byoc_lab import relay, trace
from byoc_lab.lab.comparing import Place
from byoc_lab.lab.comparing.places import places_of
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.region_numbers import module_numbers
from byoc_lab.relay.ir.unparsed import UnparsedModule
from tests import strategies
from tests.lab.view.samples import chain
from tests.sweeps import some

HEAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 2), float32]) { '


def places(mod: IRModule) -> dict[str, str]:
    """The assignment of each operator, by its name."""
    found = places_of(mod, module_numbers(mod))
    return {call.op.name: str(place) for call, place in found.items()}


def parsed(body: str) -> IRModule:
    return relay.parse(f"{HEAD}{body} }}")


def test_operators_between_annotations_are_in_the_region() -> None:
    begin = 'annotation.compiler_begin(%x, compiler="{}")'
    end = 'annotation.compiler_end(nn.relu({}), compiler="{}")'
    mine = parsed(f"tanh({end.format(begin.format('mychip'), 'mychip')})")
    assert places(mine) == {"nn.relu": "region 0 of mychip", "tanh": "the host"}
    default = parsed(end.format(begin.format("default"), "default"))
    assert places(default) == {"nn.relu": "the host"}


def test_operators_of_a_composite_are_in_the_region_of_its_call() -> None:
    begin = 'annotation.compiler_begin(%x, compiler="A")'
    composite = 'fn (%y: Tensor[(2, 2), float32], Composite="c") { nn.relu(exp(%y)) }'
    mod = parsed(
        f'let %f = {composite}; annotation.compiler_end(({composite})({begin}), compiler="A")'
    )
    found = places_of(mod, module_numbers(mod))
    assert sorted(str(place) for place in found.values()) == [
        "region 0 of A", "region 0 of A", "the host", "the host",
    ]  # fmt: skip


def test_partitioned_function_is_named_by_its_symbol() -> None:
    result = chain(fixed=True).result
    assert {str(place) for place in places_of(result, module_numbers(result)).values()} == {
        "@tvmgen_default_dnnl_main_0 of dnnl", "@tvmgen_default_dnnl_main_6 of dnnl",
    }  # fmt: skip


def test_module_known_only_as_text_has_no_assignment() -> None:
    assert places_of(UnparsedModule("no module", "it is cut off"), {}) == {}


@settings(max_examples=some(40))
@given(mod=strategies.modules())
def test_places_and_stepper_give_equal_numbers_of_operators(mod: IRModule) -> None:
    """In every stage: the numbers of operators in regions and on the host."""
    for stage in trace(mod, "ccompiler"):
        assert stage.after is not None
        found = places_of(stage.after, stage.numbering.after)
        inside = sum(place != Place() for place in found.values())
        stats = picture_of(stage.after).stats()
        assert (inside, len(found) - inside) == (stats["offloaded"], stats["host"])
